# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the configuration is."""

from pathlib import Path

CONFIG = Path("/etc/happe/server.toml")
VARIABLE = "HAPPE_SERVER_CONFIG"
