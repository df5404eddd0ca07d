# SPDX-License-Identifier: GPL-2.0-or-later
"""`make demo`: a whole study with simulated people, through everything that a real one goes through."""
