# SPDX-License-Identifier: GPL-2.0-or-later
"""Real GNOME Shell and KWin without a screen, for one test."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from PIL import Image

from desktop import AS_USER, SIZE, USER, Desktop, Told
from patience import until
from private_bus import there
from program import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGE = (1600, 1000)  # GNOME refuses 200 % where that leaves fewer than 800 by 480
EXTENSION = "happe@happe.org"
SAID = "KWin says: "
X_SOCKETS = Path("/tmp/.X11-unix")  # noqa: S108 - where X servers listen

AnyShell = TypeVar("AnyShell", bound="Shell")


class Shell(Desktop):
    """A compositor with XWayland, whose name on the bus is the one that the agent believes."""

    platform = "wayland"
    command: ClassVar[tuple[str, ...]]
    desktop: ClassVar[str]
    options: tuple[str, ...] = ()  # more words of its command
    compositor: subprocess.Popen[str]

    def start_shell(self) -> None:
        """Start the compositor, and wait until programs can use it and XWayland."""
        log = Path(self.environment["HOME"]) / "compositor.log"
        log.write_text("")
        os.chown(log, USER, -1)
        command = (*self.command, *self.options)
        path = {"PATH": f"{log.parent}:{os.environ['PATH']}"}
        self.compositor = self.start(*AS_USER, "sh", "-c", f'exec "$@" >{log} 2>&1', "sh", *command, **path)
        self.await_shell(log)

    def await_shell(self, log: Path) -> None:
        """Wait until it has started, and add its XWayland to the environment."""
        raise NotImplementedError

    def install(self) -> None:
        """Put into HOME what it needs before its start."""
        raise NotImplementedError

    def activate(self, *names: str) -> None:
        """Bring the windows of these programs to the front, one after another."""
        raise NotImplementedError

    def active(self) -> str:
        """Return whose window it says is in front."""
        raise NotImplementedError

    def kill_shell(self) -> None:
        """Kill the compositor."""
        self.stop(self.compositor)

    def bus(self, name: str, path: str, interface: str, method: str, *arguments: str) -> str:
        """Call a method on the session's bus, with arguments as gdbus reads them; its answer."""
        call = ("gdbus", "call", "--session", "-d", name, "-o", path, "-m", f"{interface}.{method}")
        return self.ask(*AS_USER, *call, *arguments)


class Gnome(Shell):
    """GNOME Shell on Wayland, with HAPPE's extension installed and switched off."""

    desktop = "GNOME"
    command: ClassVar[tuple[str, ...]] = (
        "gnome-shell", "--wayland", "--headless", "--unsafe-mode", "--wayland-display", "happe-0",
        "--virtual-monitor", f"{LARGE[0]}x{LARGE[1]}",
    )  # fmt: skip

    def await_shell(self, log: Path) -> None:
        """Wait until it has started, and leave the overview."""
        until(lambda: "GNOME Shell started" in log.read_text(), "GNOME Shell has started")
        number = re.search(r"public X11 display (:\d+)", log.read_text())
        assert number
        cookies = Path(self.environment["XDG_RUNTIME_DIR"]).glob(".mutter-Xwaylandauth.*")
        newest = max(cookies, key=lambda file: file.stat().st_mtime)
        self.environment |= {"DISPLAY": number[1], "XAUTHORITY": str(newest)}
        until(self.leaves_overview, "the overview is left")

    def leaves_overview(self) -> bool:
        """Leave the overview, in which no window has the focus, and let no notification cover the screen.

        Returns whether it is left.
        """
        self.evaluate("Main.messageTray.bannerBlocked = true; Main.overview.hide()")
        return "false" in self.evaluate("Main.overview.visible")

    def seen(self) -> Image.Image:
        """Return what is on its screens."""
        file = Path(self.environment["HOME"]) / "seen.png"
        screenshot = "org.gnome.Shell.Screenshot"
        self.bus(screenshot, "/org/gnome/Shell/Screenshot", screenshot, "Screenshot", "false", "false", str(file))
        return Image.open(file).convert("RGB")

    def scale(self, factor: float) -> None:
        """Let its monitors, from left to right, have this many pixels for each of 96 in an inch."""
        config = "org.gnome.Mutter.DisplayConfig"
        where = (config, "/org/gnome/Mutter/DisplayConfig", config)
        state = self.bus(*where, "GetCurrentState")
        serial = re.match(r"\(uint32 (\d+)", state)
        # A monitor's names, then its modes, of which a virtual one has one.
        found = re.findall(r"\(\('([^']+)', '[^']*', '[^']*', '[^']*'\), \[\('([^']+)', (\d+)", state)
        assert serial, state
        assert found, state
        left, monitors = 0, []
        for connector, mode, width in found:
            primary = str(left == 0).lower()
            monitors.append(
                f"({left}, 0, {factor:.1f}, uint32 0, {primary}, [('{connector}', '{mode}', @a{{sv}} {{}})])"
            )
            left += int(int(width) / factor)
        self.bus(*where, "ApplyMonitorsConfig", serial[1], "1", f"[{', '.join(monitors)}]", "@a{sv} {}")

    def click(self, x: int, y: int) -> None:
        """Click there, with a pointer of the shell's own."""
        self.evaluate(
            "const {Clutter, GLib} = imports.gi;"
            "const seat = Clutter.get_default_backend().get_default_seat();"
            "global.pointer ??= seat.create_virtual_device(Clutter.InputDeviceType.POINTER_DEVICE);"
            "const now = () => GLib.get_monotonic_time();"
            f"global.pointer.notify_absolute_motion(now(), {x}, {y});"
            "for (const state of [Clutter.ButtonState.PRESSED, Clutter.ButtonState.RELEASED])"
            " global.pointer.notify_button(now(), Clutter.BUTTON_PRIMARY, state);"
        )

    def press_with_alt(self, letter: str) -> None:
        """Press Alt and a letter, on a keyboard of the shell's own."""
        self.evaluate(
            "const {Clutter, GLib} = imports.gi;"
            "const seat = Clutter.get_default_backend().get_default_seat();"
            "global.keyboard ??= seat.create_virtual_device(Clutter.InputDeviceType.KEYBOARD_DEVICE);"
            f"const keys = [Clutter.KEY_Alt_L, Clutter.KEY_{letter}];"
            "const act = (key, state) => global.keyboard.notify_keyval(GLib.get_monotonic_time(), key, state);"
            "keys.forEach(key => act(key, Clutter.KeyState.PRESSED));"
            "keys.reverse().forEach(key => act(key, Clutter.KeyState.RELEASED));"
        )

    def evaluate(self, script: str) -> str:
        """Run JavaScript in GNOME Shell; its value."""
        answer = self.bus("org.gnome.Shell", "/org/gnome/Shell", "org.gnome.Shell", "Eval", script)
        assert answer.startswith("(true"), answer
        return answer.removeprefix("(true, ")

    def install(self) -> None:
        """Put the extension where GNOME Shell finds it at its start."""
        folder = Path(self.environment["HOME"]) / ".local/share/gnome-shell/extensions" / EXTENSION
        shutil.copytree(ROOT / "build/share/gnome-shell/extensions" / EXTENSION, folder)

    def switch_extension(self, *, on: bool) -> None:
        """Switch the extension on or off."""
        method = "EnableExtension" if on else "DisableExtension"
        answer = self.bus("org.gnome.Shell", "/org/gnome/Shell", "org.gnome.Shell.Extensions", method, EXTENSION)
        assert "true" in answer

    def lock(self, *, on: bool) -> None:
        """Begin or end what the shell does while its screen is locked, without the dialog, which wants logind."""
        self.evaluate(f"Main.sessionMode.{'push' if on else 'pop'}Mode('unlock-dialog')")

    def activate(self, *names: str) -> None:
        """Bring the windows of these programs to the front, one after another."""
        self.evaluate(
            "const windows = global.get_window_actors().map(actor => actor.meta_window);"
            f"for (const name of {list(names)})"
            " windows.find(window => window.get_wm_class() === name).activate(global.get_current_time())"
        )

    def active(self) -> str:
        """Return whose window it says is in front."""
        return self.evaluate("global.display.focus_window?.get_wm_class()").strip("')\"\n")


class GnomeWithFractions(Gnome):
    """With two black monitors, which may have scales that are no whole numbers."""

    command = (*Gnome.command[:-1], "1920x1200", "--virtual-monitor", "1920x1200")

    def install(self) -> None:
        """Write its settings, too."""
        super().install()
        settings = Path(self.environment["HOME"]) / ".config/glib-2.0/settings/keyfile"
        settings.parent.mkdir(parents=True)
        settings.write_text(
            "[org/gnome/mutter]\nexperimental-features=['scale-monitor-framebuffer']\n"
            "[org/gnome/desktop/background]\npicture-options='none'\nprimary-color='#000000'\n"
        )


class KWin(Shell):
    """KWin on Wayland."""

    desktop = "KDE"
    command = (
        "kwin_wayland", "--virtual", "--xwayland", "--socket", "happe-0", "--no-lockscreen",
        "--no-global-shortcuts", "--width", str(SIZE[0]), "--height", str(SIZE[1]),
    )  # fmt: skip
    pointer: Told | None = None

    def install(self) -> None:
        """Copy the program without its file capabilities, with which it does not run here."""
        shutil.copy("/usr/bin/kwin_wayland", self.environment["HOME"])
        if not X_SOCKETS.exists():  # KWin does not make it, as a display manager's X server does
            X_SOCKETS.mkdir()
            X_SOCKETS.chmod(0o1777)

    def await_shell(self, log: Path) -> None:
        """Wait until it has started."""
        self.environment["DISPLAY"] = until(self.display, f"KWin has started XWayland: {log}")

    def restart_shell(self, *options: str) -> None:
        """Kill it, and start it again with these options."""
        self.kill_shell()
        self.pointer = None  # it has ended, too
        self.options = options
        self.start_shell()

    def run(self, script: str, last: str = "") -> str:
        """Run JavaScript in KWin until it has logged the last it has to say; what is logged meanwhile."""
        home = Path(self.environment["HOME"])
        file, log = home / "script.js", home / "compositor.log"
        file.write_text(script)
        before = log.stat().st_size
        kwin = "org.kde.KWin"
        scripting = (kwin, "/Scripting", "org.kde.kwin.Scripting")
        number = self.bus(*scripting, "loadScript", str(file), "test").strip("(,)\n")
        self.bus(kwin, f"/{number}", "org.kde.kwin.Script", "run")
        until(lambda: last in log.read_bytes()[before:].decode(), f"KWin has run the script: {log.read_text()}")
        self.bus(*scripting, "unloadScript", "test")
        return log.read_bytes()[before:].decode()

    def activate(self, *names: str) -> None:
        """Bring the windows of these programs to the front, one after another, each in a turn of KWin's own loop."""
        self.run(
            f"const names = {list(names)};"
            "const windows = workspace.clientList();"
            "const turn = new QTimer();"
            "turn.timeout.connect(() => {"
            " const name = names.shift();"
            " workspace.activeClient = windows.find(window => String(window.resourceClass) === name);"
            " if (names.length === 0) { turn.stop(); console.log('all activated'); }"
            "});"
            "turn.start(0);",
            "all activated",
        )

    def active(self) -> str:
        """Return whose window it says is in front."""
        return str(self.said("workspace.activeClient ? workspace.activeClient.resourceClass : ''"))

    def said(self, value: str) -> Any:  # noqa: ANN401 - whatever it is
        """Return the value of an expression in KWin's JavaScript."""
        logged = self.run(f"console.log('{SAID}' + JSON.stringify({value}))")
        return json.loads(logged.partition(SAID)[2].splitlines()[0])

    def click(self, x: int, y: int) -> None:
        """Click there."""
        # It stays: a program that has just heard of a pointer may miss its first click.
        if not self.pointer:
            self.pointer = Told(self.start(*AS_USER, "/usr/bin/python3", str(ROOT / "ui/tests/kwin_pointer.py")))
        to_pointer = there(self.pointer.process.stdin)
        to_pointer.write(f"{x} {y}\n")
        to_pointer.flush()
        self.pointer.until("clicked")

    def seen(self, *screen: str) -> Image.Image:
        """Return what is on its active screen, or the one of this name."""
        file = Path(self.environment["HOME"]) / "seen"
        said = self.ask(*AS_USER, "/usr/bin/python3", str(ROOT / "ui/tests/kwin_shot.py"), str(file), *screen)
        width, height, line = map(int, said.split())
        return Image.frombuffer("RGBA", (width, height), file.read_bytes(), "raw", "BGRA", line, 1).convert("RGB")

    def display(self) -> str | None:
        """Return the name of its XWayland, if that runs."""
        children = ("pgrep", "-a", "-P", str(self.compositor.pid), "Xwayland")
        running = subprocess.run(children, capture_output=True, text=True, check=False).stdout
        found = re.search(r"Xwayland (:\d+)", running)
        return found and found[1]


@contextlib.contextmanager
def shell(kind: type[AnyShell], bus: str) -> Iterator[AnyShell]:
    """Run a shell on this bus, which is both the system's and the session's."""
    home = Path(tempfile.mkdtemp(prefix="happe-shell-"))
    kept = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "XAUTHORITY", "SWAYSOCK")}
    running = kind(
        {
            **kept,
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(home / "run"),
            "XDG_CURRENT_DESKTOP": kind.desktop,
            "XDG_SESSION_TYPE": "wayland",
            "GSETTINGS_BACKEND": "keyfile",
            "LIBGL_ALWAYS_SOFTWARE": "1",
            "KWIN_SCREENSHOT_NO_PERMISSION_CHECKS": "1",
            "KWIN_WAYLAND_NO_PERMISSION_CHECKS": "1",
            "QT_LOGGING_RULES": "js.debug=true",
            "LC_ALL": "C.UTF-8",
            "WAYLAND_DISPLAY": "happe-0",
            "DBUS_SYSTEM_BUS_ADDRESS": bus,
            "DBUS_SESSION_BUS_ADDRESS": bus,
        }
    )
    try:
        (home / "run").mkdir(mode=0o700)
        running.install()
        subprocess.run(["chown", "-R", str(USER), home], check=True)
        running.start_shell()
        yield running
    finally:
        running.close()
        shutil.rmtree(home)
