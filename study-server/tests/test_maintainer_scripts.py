# SPDX-License-Identifier: GPL-2.0-or-later
"""What a purge of the server's Debian package deletes. The package's test installs it."""

import os
import subprocess
from pathlib import Path

from operated import SOURCES

DEBIAN = SOURCES.parents[1] / "packaging/debian"


def ran(script: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a maintainer script of the package on the files of a folder."""
    text = (DEBIAN / f"happe-study-server.{script}").read_text()
    places = {
        "/etc/happe": folder,
        "/etc/systemd": folder / "systemd",
        "/var/lib/happe-server": folder / "data",
    }
    for installed, here in places.items():
        text = text.replace(installed, str(here))
    return subprocess.run(
        ["sh", "-c", text, script, *arguments], check=False, capture_output=True, text=True, env={"PATH": os.defpath}
    )


def test_purge_takes_the_servers_files_and_no_other(tmp_path: Path) -> None:
    for name in ("server.toml", "database-url", "s3-credentials", "happe.toml"):
        (tmp_path / name).touch()
    (tmp_path / "data").mkdir()
    for action, left in (("remove", 5), ("purge", 1)):
        assert ran("postrm", tmp_path, action).returncode == 0
        assert len(list(tmp_path.iterdir())) == left
    assert (tmp_path / "happe.toml").exists()
