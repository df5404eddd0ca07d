# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads and checks the documents of profiles/, as every program in Python does, and computes clocks and watts.

`strict_json` and `toml_lines` read; `schemas` checks against profiles/schema; `faults` describes each mistake.

`traces`, `parts` and `calibration` are what a power trace holds. `clocks` compares two clocks, `server_time` and
`time_base` go from a sample to the server's time, `cuts` back; `rig` goes from a sample to watts (docs/uncertainty.md).

Nothing here opens a file but its own schemas and a part of a trace, or asks a clock.
"""
