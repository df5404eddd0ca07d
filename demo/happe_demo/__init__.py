# SPDX-License-Identifier: GPL-2.0-or-later
"""`make demo`: a whole study with simulated people, through every step of a real study."""
