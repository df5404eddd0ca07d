# SPDX-License-Identifier: GPL-2.0-or-later
"""The common parts of HAPPE's programs in Python; each program passes its name.

`commands` is click in our look; `errors` has exit statuses; `disk` writes files that survive a power cut; `program`
runs a program.
"""
