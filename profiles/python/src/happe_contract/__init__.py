# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads and checks the documents of profiles/ for all programs in Python, and computes clocks and watts.

`strict_json` and `toml_lines` read; `schemas` checks against profiles/schema; `faults` describes each mistake.

`traces`, `parts` and `calibration` describe a power trace. `clocks` compares two clocks. `server_time` and `time_base`
convert a sample's index to the server's time, `cuts` back; `rig` converts samples to watts (docs/uncertainty.md).
The package opens no files but its own schemas and the parts of a trace, and reads no clock.
"""
