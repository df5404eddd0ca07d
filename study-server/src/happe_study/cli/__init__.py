# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-server: the command line."""
