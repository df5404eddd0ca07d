# SPDX-License-Identifier: GPL-2.0-or-later
"""Manual pages and completions, made when HAPPE is built from what each program tells of itself (`PROGRAM --describe`).

`command` reads that; `page` says what a manual page holds; `troff` and `completion` write it. It needs nothing but
Python's standard library, as a package's build has nothing else.
"""
