# SPDX-License-Identifier: GPL-2.0-or-later
"""HAPPE's power logger. It samples a laptop's power, keeps every sample or records what it lost, and computes energy.

`sources` read instruments; `recording` writes a trace into a folder; `upload` sends it to the study server;
`marker`, `known_load` and `compare` are pure; `plot` and `tables` show a trace to people and programs;
`cli` is `happe-power`.
docs/power-logger.md explains them; docs/uploads.md defines the formats.
"""

__version__ = "0.2.0"
