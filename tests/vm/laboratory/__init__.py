# SPDX-License-Identifier: GPL-2.0-or-later
"""The emulated laboratory: the emulated T61 is the laptop; this machine is study server and measuring station."""
