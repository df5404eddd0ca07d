# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes pictures of HAPPE beside GNOME's power panel and Plasma's battery applet, light and dark, for docs/look.md.

It tests nothing, so pytest finds it only by its name: HAPPE_PICTURES=1 tools/desktops.sh trixie -k looks
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from desktop import AS_USER, changed, keep, program
from happed_stand_in import GOVERNING, INTERFACE, NAME, OBJECT, UAFP_KHZ
from laptop_stand_ins import UPOWER
from patience import spend, until
from private_bus import stand_in
from program import ROOT
from shells import Gnome, KWin6, shell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from private_bus import PrivateBus
    from shells import Shell

CHARGE, SECONDS_LEFT = "56.0", "6720"
MOCK = "org.freedesktop.DBus.Mock"
MOCKS = {"upower": {"OnBattery": True}, "upower_power_profiles_daemon": {}, "power_profiles_daemon": {}}
PORTALS = ("org.freedesktop.impl.portal.desktop.gnome", "org.freedesktop.portal.Desktop")
POWERDEVIL = next(Path("/usr/lib").glob("*/libexec/org_kde_powerdevil"), Path("org_kde_powerdevil"))
SCHEMES = Path("/usr/share/color-schemes")
GAME = "[Desktop Entry]\nType=Application\nName=TORCS\nIcon=applications-games\nExec=torcs\n"
# The presses that taught the game: key, level, kHz before and after.
PRESSES = (
    ("performance", 3, 800_000, 1_200_000),
    ("performance", 7, 1_200_000, 2_200_000),
    ("power", 6, 2_200_000, 1_200_000),
)


def lessons() -> list[list[Any]]:
    """Return the presses in the form of ListEvents, four minutes apart."""
    now = int(time.time()) * 1_000_000
    begin = now - 240_000_000 * len(PRESSES)
    return [
        [number, begin + 240_000_000 * number, key, 0, level, before, after, after, 970_000, 0]
        for number, (key, level, before, after) in enumerate(PRESSES)
    ]


@pytest.fixture
def laptop(bus: PrivateBus) -> Iterator[PrivateBus]:
    """A laptop on battery with three power modes, and a happed that governs a game."""
    answers = {"ListEvents": [lessons()], "ListProfiles": [[["torcs", UAFP_KHZ]]]}
    happed = {"xml": INTERFACE, "properties": GOVERNING, "answers": answers}
    with stand_in(bus, NAME, {OBJECT: happed}), contextlib.ExitStack() as mocks:
        for template, parameters in MOCKS.items():
            command = ["/usr/bin/python3", "-m", "dbusmock", "--system", "--template", template]
            mock = subprocess.Popen([*command, "--parameters", json.dumps(parameters)], env=bus.environment())
            mocks.callback(mock.wait)
            mocks.callback(mock.kill)
        yield bus


def unplug(desktop: Shell) -> None:
    """Give UPower a battery that discharges."""
    up = (UPOWER, "/org/freedesktop/UPower", MOCK)
    desktop.await_name(UPOWER)
    desktop.bus(*up, "AddDischargingBattery", "BAT0", "ThinkPad", CHARGE, SECONDS_LEFT)
    icon = "battery-level-60-symbolic"
    figures = (CHARGE, "28.0", "50.0", "15.0", SECONDS_LEFT, "0")
    desktop.bus(*up, "SetupDisplayDevice", "2", "2", *figures, "true", icon, "1")


class GnomeOfAnOwner(Gnome):
    """GNOME with a game among its applications, and HAPPE's icon."""

    other = "org.gnome.Settings"
    command = (*Gnome.command[:-1], "1600x760")

    def install(self) -> None:
        """Put them into HOME."""
        super().install()
        install_applications(Path(self.environment["HOME"]))

    def set(self, schema: str, key: str, value: str) -> None:
        """Change a setting."""
        self.ask(*AS_USER, "gsettings", "set", f"org.gnome.desktop.{schema}", key, value)

    def becomes(self, style: str) -> None:
        """Switch to the dark or the light style."""
        self.set("interface", "color-scheme", f"prefer-{style}")

    def names(self) -> str:
        """Return the names of the windows."""
        seen = "global.get_window_actors().filter(actor => actor.mapped)"
        return self.evaluate(f"{seen}.map(actor => actor.meta_window.get_wm_class()).join()")

    def arrange(self) -> None:
        """Put the panel beside HAPPE's window, which has the focus."""
        self.evaluate(
            "const find = name => global.get_window_actors().map(actor => actor.meta_window)"
            ".find(window => window.get_wm_class() === name);"
            "find('org.gnome.Settings').move_resize_frame(true, 16, 48, 500, 560);"
            "find('org.happe.Window').move_frame(true, 532, 48);"
            "find('org.happe.Window').activate(global.get_current_time())"
        )


class PlasmaOfAnOwner(KWin6):
    """Plasma with a game among its applications, HAPPE's icon, and Plasma's styles."""

    other = "org.kde.plasmawindowed"

    def install(self) -> None:
        """Put them into HOME."""
        super().install()
        self.environment |= {"KDE_FULL_SESSION": "true", "KDE_SESSION_VERSION": "6"}
        home = Path(self.environment["HOME"])
        install_applications(home)
        (home / ".config").mkdir(exist_ok=True)
        self.becomes("light")

    def becomes(self, style: str) -> None:
        """Set the dark or the light style for the next start."""
        file = Path(self.environment["HOME"]) / ".config/kdeglobals"
        shutil.copy(SCHEMES / f"Breeze{style.title()}.colors", file)

    def names(self) -> str:
        """Return the names of the windows."""
        return str(self.said("windows.map(window => String(window.resourceClass)).join()"))

    def arrange(self) -> None:
        """Put the applet beside HAPPE's window, which has the focus."""
        self.run(
            "for (const [name, place] of [['org.kde.plasmawindowed', {x: 8, y: 8, width: 360, height: 300}],"
            " ['org.happe.Window', {x: 376, y: 8, width: 896}]]) {"
            " const window = windows.find(window => String(window.resourceClass) === name);"
            " const {width, height} = window.frameGeometry;"
            " window.frameGeometry = Object.assign({width, height}, place);"
            " workspace[front] = window;"
            "} console.log('arranged')",
            "arranged",
        )


def install_applications(home: Path) -> None:
    """Put a game and HAPPE's window where desktops look for applications."""
    applications, icons = (home / f".local/share/{name}" for name in ("applications", "icons/hicolor/scalable/apps"))
    applications.mkdir(parents=True, exist_ok=True)
    icons.mkdir(parents=True)
    (applications / "torcs.desktop").write_text(GAME)
    shutil.copy(ROOT / "packaging/desktop/org.happe.Window.desktop", applications)
    shutil.copy(ROOT / "packaging/icons/org.happe.Window.svg", icons)


def opened(desktop: GnomeOfAnOwner | PlasmaOfAnOwner, *other: str) -> None:
    """Open another program's window, HAPPE's window and the overlay, beside each other."""
    happe = program("happe-indicator")
    for command in (other, (happe, "--window"), (happe,)):
        desktop.start(*AS_USER, *command, QT_QPA_PLATFORM="wayland")
    until(lambda: all(name in desktop.names() for name in ("org.happe.Window", desktop.other)), "both are open")
    still(desktop)
    desktop.arrange()


def still(desktop: Shell) -> Image.Image:
    """Return the screen's picture once it stays the same."""

    def same() -> Image.Image | None:
        seen = desktop.seen()
        spend(3)  # a program may begin to draw itself late
        return seen if changed(seen, desktop.seen()) is None else None

    picture: Image.Image = until(same, "nothing moves")
    return picture


def below_each_other(pictures: list[Image.Image], name: str) -> None:
    """Save two pictures as one, the second below the first."""
    width, height = pictures[0].size
    both = Image.new("RGB", (width, 2 * height))
    for number, picture in enumerate(pictures):
        both.paste(picture, (0, number * height))
    keep(both, name)


def test_gnomes_looks(laptop: PrivateBus) -> None:
    """Take GNOME's pictures."""
    pictures = []
    with shell(GnomeOfAnOwner, laptop.address) as desktop:
        unplug(desktop)
        for portal in PORTALS:
            desktop.start_service(portal)
        desktop.set("background", "picture-options", "none")
        desktop.set("background", "primary-color", "#5b7083")
        desktop.switch_extension(on=True)
        opened(desktop, "gnome-control-center", "power")
        for style in ("light", "dark"):
            desktop.becomes(style)
            pictures.append(still(desktop))
    below_each_other(pictures, "compare-gnome")


def test_plasmas_looks(laptop: PrivateBus) -> None:
    """Take Plasma's pictures."""
    pictures = []
    with shell(PlasmaOfAnOwner, laptop.address) as desktop:
        unplug(desktop)
        for style in ("light", "dark"):
            desktop.becomes(style)
            desktop.restart_at(1)
            desktop.start(*AS_USER, str(POWERDEVIL), QT_QPA_PLATFORM="wayland")
            desktop.await_name("org.kde.Solid.PowerManagement")
            opened(desktop, "plasmawindowed", "org.kde.plasma.battery")
            pictures.append(still(desktop))
    below_each_other(pictures, "compare-kde")
