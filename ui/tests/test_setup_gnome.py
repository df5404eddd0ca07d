# SPDX-License-Identifier: GPL-2.0-or-later
"""`sudo happectl setup` and HAPPE's extension, in real GNOME Shell and with GNOME's own gsettings."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from desktop import USER, program
from patience import PATIENCE_S, until
from private_bus import PrivateBus
from shells import EXTENSION, Gnome, shell

pytestmark = [pytest.mark.slow, pytest.mark.long]

# The shell of the test keeps its settings in a file below its HOME, and not in dconf.
GSETTINGS = """#!/bin/sh
exec env GSETTINGS_BACKEND=keyfile XDG_CONFIG_HOME={home}/.config /usr/bin/gsettings "$@"
"""


def runs_extension(desktop: Gnome) -> bool:
    """Return whether GNOME Shell says that it runs the extension."""
    where = ("org.gnome.Shell", "/org/gnome/Shell", "org.gnome.Shell.Extensions")
    return "'state': <1.0>" in desktop.bus(*where, "GetExtensionInfo", EXTENSION)


def set_up(desktop: Gnome, bus: PrivateBus, *options: str) -> bool:
    """Set up a machine of files as if the shell's user called sudo. Return whether the extension is enabled then."""
    home = Path(desktop.environment["HOME"])
    root = home / "machine"
    runtime = root / "run/user" / str(USER)
    if not root.exists():
        runtime.mkdir(parents=True)
        (runtime / "bus").symlink_to(bus.folder / "bus")
        metadata = root / "usr/share/gnome-shell/extensions" / EXTENSION / "metadata.json"
        metadata.parent.mkdir(parents=True)
        metadata.touch()
        for unit in ("happed.service", "happed-keys.socket"):
            file = root / "usr/lib/systemd/system" / unit
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("[Install]\nWantedBy=multi-user.target\n")
        (home / "bin").mkdir()
        (home / "bin/gsettings").write_text(GSETTINGS.format(home=home))
        (home / "bin/gsettings").chmod(0o755)
    ran = subprocess.run(
        [program("happectl"), "setup", "--root", root, "--yes", "--json", *options],
        env={"PATH": f"{home}/bin:{os.environ['PATH']}", "DBUS_SYSTEM_BUS_ADDRESS": bus.address, "SUDO_UID": str(USER)},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return bool(json.loads(ran.stdout)["extension"])


def test_setup_enables_the_extension_in_gnome_shell_and_leaves_it_off_for_who_declined(bus: PrivateBus) -> None:
    """One shell for all parts: it takes seconds to start. In the last part the extension is new to the shell."""
    with shell(Gnome, bus.address) as desktop:
        assert not runs_extension(desktop)
        assert set_up(desktop, bus)
        until(lambda: runs_extension(desktop), "the shell runs the extension")
        assert set_up(desktop, bus)
        assert not set_up(desktop, bus, "--extension", "off")
        until(lambda: not runs_extension(desktop), "the shell has stopped the extension")

        desktop.switch_extension(on=True)
        until(lambda: runs_extension(desktop), "the person has enabled it")
        assert set_up(desktop, bus)
        desktop.switch_extension(on=False)
        assert not set_up(desktop, bus)

        installed = Path(desktop.environment["HOME"]) / ".local/share/gnome-shell/extensions" / EXTENSION
        kept = installed.rename(installed.parents[1] / "kept")
        desktop.kill_shell()
        desktop.start_shell()
        kept.rename(installed)
        assert set_up(desktop, bus, "--extension", "on")
        assert not runs_extension(desktop)
        desktop.kill_shell()
        desktop.start_shell()
        until(lambda: runs_extension(desktop), "the shell runs the extension from the next login on")
