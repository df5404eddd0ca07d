# SPDX-License-Identifier: GPL-2.0-or-later
"""The program `happe-power` in this process."""

from pathlib import Path
from typing import Any

from happe_power.cli.program import main
from happe_power.toml_files import written
from in_process import Ran, run

# A calibration record of a bench with the shunt and divider of the simulated rig.
RECORD = """name = "bench"
date = 2026-01-01
expires = 2099-01-01
[shunt_ohm]
value = 0.1
standard_uncertainty = 0.0001
source = "four wires"
[divider]
value = 4.0
standard_uncertainty = 0.004
source = "multimeter"
[wiring]
shunt = "return"
supply_measured = "after"
"""


def happe_power(*arguments: object) -> Ran:
    """Run `happe-power`."""
    return run(main, *arguments)


def source_file(folder: Path, **table: Any) -> Path:  # noqa: ANN401 - as in TOML
    """Write the table of a source into a new file, by default of kind `sim`."""
    file = folder / f"source-{len(list(folder.glob('source-*')))}.toml"
    file.write_text(written({"kind": "sim"} | table) + "\n")
    return file
