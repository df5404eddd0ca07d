# SPDX-License-Identifier: GPL-2.0-or-later
"""`python -m happe_study` is happe-server."""

from happe_study.cli import main

if __name__ == "__main__":
    main()
