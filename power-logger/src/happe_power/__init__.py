# SPDX-License-Identifier: GPL-2.0-or-later
"""HAPPE's power logger. It samples a laptop's power, keeps every sample or records what it lost, and computes energy.

`model` has what all parts speak of. `sources` read instruments; `recording` writes a trace into a folder; `upload`
brings it to the study server; `arithmetic` is pure and makes watts with their uncertainty of it; `viewing` draws it;
`cli` is `happe-power`. docs/power-logger.md explains, docs/uploads.md has the formats.
"""

__version__ = "0.2.0"
