# SPDX-License-Identifier: GPL-2.0-or-later
"""The emulated T61 as the tests inside it see and handle it (docs/vm.md)."""
