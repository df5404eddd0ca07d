# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes manual pages and completions during the build, from each program's own description (`PROGRAM --describe`).

`command` reads the description; `page` has the parts of a manual page; `troff` and `completion` write the files. It
needs only Python's standard library, because a package's build has nothing else.
"""
