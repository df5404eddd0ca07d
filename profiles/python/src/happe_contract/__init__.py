# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads and checks the documents of profiles/, as every program in Python does.

`strict_json` and `toml_lines` read; `schemas` checks against profiles/schema; `faults` is how what is wrong is told.
Nothing here opens a file but its own schemas.
"""
