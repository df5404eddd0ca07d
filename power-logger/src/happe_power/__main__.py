# SPDX-License-Identifier: GPL-2.0-or-later
"""python -m happe_power."""

from happe_power.cli.program import main

if __name__ == "__main__":
    main()
