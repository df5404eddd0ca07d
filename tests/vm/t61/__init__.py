# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests inside the emulated T61 use to see and handle it (docs/vm.md)."""
