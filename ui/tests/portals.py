# SPDX-License-Identifier: GPL-2.0-or-later
"""Real desktops with the portal for shortcuts: its front program, and the desktop's own programs behind it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from desktop import AS_USER
from shells import DESKTOP_ENTRY, Gnome, KWin, KWin6, Labwc, Shell, kwin

if TYPE_CHECKING:
    import subprocess

PORTAL = "org.freedesktop.portal.Desktop"


class WithPortal(Shell):
    """A desktop whose bus starts no programs: the test starts them."""

    behind: ClassVar[tuple[str, ...]]  # bus names of the desktop's programs behind the front program
    portals_platform: ClassVar[str] = "offscreen"  # Qt's name of it

    def install(self) -> None:
        """Add our desktop entry. Later portals know our program by it."""
        super().install()
        self.add_desktop_entry()

    def start_portal(self) -> list[subprocess.Popen[str]]:
        """Start the portal's programs as a bus would, the front program last."""
        return [self.start_service(name, self.portals_platform) for name in (*self.behind, PORTAL)]


class WithPlasmasPortal(WithPortal, KWin):
    """Plasma 5, with a stand-in for the program that opens addresses for the portal: it only notes them."""

    command = tuple(word for word in KWin.command if word != "--no-global-shortcuts")
    behind = ("org.freedesktop.impl.portal.desktop.kde",)
    component: ClassVar[str] = "happe"  # Plasma's name for the owner of the shortcuts

    def install(self) -> None:
        """Add the program that opens addresses."""
        super().install()
        home = Path(self.environment["HOME"])
        (home / "xdg-open").write_text(f'#!/bin/sh\necho "$1" >>{home}/opened\n')
        (home / "xdg-open").chmod(0o755)
        self.environment["PATH"] = f"{home}:{os.environ['PATH']}"

    def opened(self) -> list[str]:
        """Return the addresses that the portal has opened."""
        noted = Path(self.environment["HOME"]) / "opened"
        return noted.read_text().split() if noted.exists() else []

    def set_shortcut(self, key: str, combination: int) -> None:
        """Change a shortcut as System Settings does. Combinations are Qt's."""
        change = (f"['{self.component}', '{key}', '', '']", f"[{combination}]")
        self.bus("org.kde.kglobalaccel", "/kglobalaccel", "org.kde.KGlobalAccel", "setForeignShortcut", *change)

    def has_shortcuts(self) -> bool:
        """Return whether a press of a shortcut would reach a program."""
        path = f"/component/{self.component.replace('.', '_')}"
        return "true" in self.bus("org.kde.kglobalaccel", path, "org.kde.kglobalaccel.Component", "isActive")


class WithPlasma6sPortal(WithPlasmasPortal, KWin6):
    """Plasma 6."""

    component = "org.happe.Window"
    portals_platform = "wayland"  # without a screen it opens no address


def plasma() -> type[WithPlasmasPortal]:
    """Return this system's Plasma."""
    return WithPlasma6sPortal if kwin() is KWin6 else WithPlasmasPortal


class GnomeWithPortal(WithPortal, Gnome):
    """GNOME 48 or newer, which shows the dialog of its settings."""

    asks = "org.gnome.Settings.GlobalShortcutsProvider"
    behind = (asks, "org.freedesktop.impl.portal.desktop.gnome")

    def set_shortcuts(self, **keys: str) -> None:
        """Change the shortcuts as GNOME's settings do."""
        each = (f"('{key}', {{'description': <'{key}'>, 'shortcuts': <['{keys[key]}']>}})" for key in keys)
        shortcuts = f"[{', '.join(each)}]"
        name = DESKTOP_ENTRY.removesuffix(".desktop")
        settings = "org.gnome.settings-daemon.global-shortcuts"
        path = f"/{settings.replace('.', '/')}/{name}/"
        self.ask(*AS_USER, "gsettings", "set", f"{settings}.application:{path}", "shortcuts", shortcuts)
        where = ("/org/gnome/globalshortcuts", "org.gnome.GlobalShortcutsRebind", "RebindShortcuts")
        self.bus(self.behind[-1], *where, name, shortcuts)

    def asked(self) -> bool:
        """Return whether its dialog is open."""
        windows = "global.get_window_actors().map(actor => actor.meta_window.get_wm_class())"
        return "true" in self.evaluate(f"{windows}.includes('{self.asks}')")

    def has_shortcut(self, accelerator: str) -> bool:
        """Return whether a program has this shortcut, so that no other program could get it."""
        grab = f"global.display.grab_accelerator('{accelerator}', 0)"
        return "true" in self.evaluate(f"const got = {grab}; global.display.ungrab_accelerator(got); got === 0")


class LabwcWithPortal(WithPortal, Labwc):
    """labwc with a portal for files, but none for shortcuts."""

    behind = ()

    def install(self) -> None:
        """Choose that portal, because this system has several."""
        super().install()
        folder = Path(self.environment["HOME"]) / ".config/xdg-desktop-portal"
        folder.mkdir(parents=True)
        (folder / "portals.conf").write_text("[preferred]\ndefault=gtk\n")
