# SPDX-License-Identifier: GPL-2.0-or-later
"""Real GNOME Shell and KWin without a screen, for one test."""

import contextlib
import itertools
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from PIL import Image, ImageGrab

from desktop import AS_USER, SIZE, USER, Desktop, changed, keep, program
from happed_world import MY_SESSION
from patience import until
from private_bus import there
from program import ROOT

LARGE = (1600, 1000)  # GNOME refuses 200 % if that leaves fewer than 800 by 480
EXTENSION = "happe@happe.org"
SAID = "KWin says: "
# JavaScript for GNOME Shell. In GNOME 51 only the stage knows its backend.
SEAT = (
    "const {Clutter, GLib} = imports.gi;"
    "const seat = (Clutter.get_default_backend?.() ?? global.stage.context.get_backend()).get_default_seat();"
)
SHELL_43 = Path("/usr/lib/gnome-shell/libgnome-shell.so")
IBUS_MANAGER = "/org/gnome/shell/misc/ibusManager.js"
DESKTOP_ENTRY = "org.happe.Window.desktop"
SCRIPTING = ("org.kde.KWin", "/Scripting", "org.kde.kwin.Scripting")
# Plasma 5 and 6 have different names for what scripts see.
KWIN_WORDS = (
    "const windows = workspace.windowList ? workspace.windowList() : workspace.clientList();"
    "const front = 'activeWindow' in workspace ? 'activeWindow' : 'activeClient';"
    "const screen = number => workspace.screens ? workspace.screens[number] : number;"
)
LEFT_ALT = 56  # the kernel's number
X_SOCKETS = Path("/tmp/.X11-unix")  # noqa: S108 - where X servers listen

AnyShell = TypeVar("AnyShell", bound="Shell")


class Shell(Desktop):
    """A compositor with XWayland. The agent trusts its name on the bus."""

    platform = "wayland"
    command: ClassVar[tuple[str, ...]]
    desktop: ClassVar[str]
    options: tuple[str, ...] = ()  # further words of its command
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
        """Write its files into HOME before its start."""
        raise NotImplementedError

    def add_desktop_entry(self) -> None:
        """Put our desktop entry into HOME, for the program of this build."""
        folder = Path(self.environment["HOME"]) / ".local/share/applications"
        folder.mkdir(parents=True, exist_ok=True)
        entry = (ROOT / "packaging" / DESKTOP_ENTRY).read_text()
        # GLib refuses the entry of a missing program.
        (folder / DESKTOP_ENTRY).write_text(entry.replace("Exec=", f"Exec={ROOT}/build/bin/"))

    def activate(self, *names: str) -> None:
        """Bring the windows of these programs to the front, one after another."""
        raise NotImplementedError

    def active(self) -> str:
        """Return the program of the window in front, by the compositor."""
        raise NotImplementedError

    def lock(self) -> None:
        """Lock its screen (locks.lockable)."""
        raise NotImplementedError

    def wake(self) -> None:
        """Do what a person does before a dark screen. Only GNOME darkens its screen."""

    def kill_shell(self) -> None:
        """Kill the compositor."""
        self.stop(self.compositor)

    def bus(self, name: str, path: str, interface: str, method: str, *arguments: str) -> str:
        """Call a method on the session bus, with arguments in gdbus's form. Return the answer."""
        call = ("gdbus", "call", "--session", "-d", name, "-o", path, "-m", f"{interface}.{method}")
        return self.ask(*AS_USER, *call, *arguments)


class Gnome(Shell):
    """GNOME Shell on Wayland, with HAPPE's extension installed and switched off."""

    desktop = "GNOME"
    places: ClassVar[Iterator[int]] = itertools.cycle(range(LARGE[0]))  # the pointer's, when it moves
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

        Returns whether it has left the overview.
        """
        self.evaluate("Main.messageTray.bannerBlocked = true; Main.overview.hide()")
        return "false" in self.evaluate("Main.overview.visible")

    def seen(self) -> Image.Image:
        """Return a picture of its screens."""
        file = Path(self.environment["HOME"]) / "seen.png"
        screenshot = "org.gnome.Shell.Screenshot"
        self.bus(screenshot, "/org/gnome/Shell/Screenshot", screenshot, "Screenshot", "false", "false", str(file))
        return Image.open(file).convert("RGB")

    def scale(self, factor: float) -> None:
        """Set the scale of its monitors: pixels in 1/96 inch, from left to right."""
        config = "org.gnome.Mutter.DisplayConfig"
        where = (config, "/org/gnome/Mutter/DisplayConfig", config)
        state = self.bus(*where, "GetCurrentState")
        serial = re.match(r"\(uint32 (\d+)", state)
        # A monitor's names, then its modes. A virtual monitor has one mode.
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

    def point(self, x: int, y: int, then: str = "") -> None:
        """Move the shell's own pointer there, and then run more JavaScript."""
        self.evaluate(
            SEAT + "global.pointer ??= seat.create_virtual_device(Clutter.InputDeviceType.POINTER_DEVICE);"
            "const now = () => GLib.get_monotonic_time();"
            f"global.pointer.notify_absolute_motion(now(), {x}, {y});" + then
        )

    def click(self, x: int, y: int) -> None:
        """Click there."""
        self.point(
            x,
            y,
            "for (const state of [Clutter.ButtonState.PRESSED, Clutter.ButtonState.RELEASED])"
            " global.pointer.notify_button(now(), Clutter.BUTTON_PRIMARY, state);",
        )

    def press(self, *codes: int) -> None:
        """Press keys by the kernel's numbers, all at once, on the shell's own keyboard."""
        self.evaluate(
            SEAT + "global.keyboard ??= seat.create_virtual_device(Clutter.InputDeviceType.KEYBOARD_DEVICE);"
            f"const keys = {list(codes)};"
            "const act = (key, state) => global.keyboard.notify_key(GLib.get_monotonic_time(), key, state);"
            "keys.forEach(key => act(key, Clutter.KeyState.PRESSED));"
            "keys.reverse().forEach(key => act(key, Clutter.KeyState.RELEASED));"
        )

    def evaluate(self, script: str) -> str:
        """Run JavaScript in GNOME Shell, and return its value."""
        answer = self.bus("org.gnome.Shell", "/org/gnome/Shell", "org.gnome.Shell", "Eval", script)
        assert answer.startswith("(true"), answer
        return answer.removeprefix("(true, ")

    def install(self) -> None:
        """Put the extension where GNOME Shell finds it at its start."""
        self.environment["XDG_SESSION_ID"] = MY_SESSION
        home = Path(self.environment["HOME"])
        folder = home / ".local/share/gnome-shell/extensions" / EXTENSION
        shutil.copytree(ROOT / "build/share/gnome-shell/extensions" / EXTENSION, folder)
        self.add_desktop_entry()
        if SHELL_43.exists():
            self.start_no_input_methods(home / "ibusManager.js")

    def start_no_input_methods(self, overlay: Path) -> None:
        """Keep GNOME 43 from starting ibus-daemon, because this often hangs the shell at its start.

        The shell forks, and the child runs JavaScript before exec. The child then waits for a lock that another thread
        of the parent held.
        """
        script = self.ask("gresource", "extract", str(SHELL_43), IBUS_MANAGER)
        changed_script = script.replace("        this._queueSpawn();\n", "")
        assert changed_script != script
        overlay.write_text(changed_script)
        self.environment["G_RESOURCE_OVERLAYS"] = f"{IBUS_MANAGER}={overlay}"

    def switch_extension(self, *, on: bool) -> None:
        """Switch the extension on or off."""
        method = "EnableExtension" if on else "DisableExtension"
        answer = self.bus("org.gnome.Shell", "/org/gnome/Shell", "org.gnome.Shell.Extensions", method, EXTENSION)
        assert "true" in answer

    def lock(self) -> None:
        """Lock its screen, and move the pointer until the screen is no longer dark."""
        saver = "org.gnome.ScreenSaver"
        self.bus("org.gnome.Shell", "/org/gnome/ScreenSaver", saver, "Lock")

        def awake() -> bool:
            self.wake()
            return max(self.seen().convert("L").tobytes()) > 128

        until(awake, "the lock screen is seen")

    def wake(self) -> None:
        """Move the pointer."""
        self.point(next(self.places), 0)

    def activate(self, *names: str) -> None:
        """Bring the windows of these programs to the front, one after another."""
        self.evaluate(
            "const windows = global.get_window_actors().map(actor => actor.meta_window);"
            f"for (const name of {list(names)})"
            " windows.find(window => window.get_wm_class() === name).activate(global.get_current_time())"
        )

    def active(self) -> str:
        """Return the program of the window in front, by the compositor."""
        return self.evaluate("global.display.focus_window?.get_wm_class()").strip("')\"\n")


class GnomeWithFractions(Gnome):
    """GNOME Shell with two black monitors, which may have fractional scales."""

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
    """KWin on Wayland. Its screens are windows of an X server: KWin 6's virtual ones show nothing without a GPU."""

    desktop = "KDE"
    command: ClassVar[tuple[str, ...]] = (
        "kwin_wayland", "--xwayland", "--socket", "happe-0", "--no-global-shortcuts",
        "--width", str(SIZE[0]), "--height", str(SIZE[1]),
    )  # fmt: skip
    screens: ClassVar[tuple[str, str]] = ("X11-0", "X11-1")
    server = ""
    scale = 1.0
    count = 1

    def install(self) -> None:
        """Start the X server, and leave the pointer where no screen will be.

        Copies KWin without its file capabilities, because it does not run with them here.
        """
        shutil.copy("/usr/bin/kwin_wayland", self.environment["HOME"])
        settings = Path(self.environment["HOME"]) / ".config/kscreenlockerrc"
        settings.parent.mkdir()
        settings.write_text("[Daemon]\nAutolock=false\n")
        room = f"{4 * SIZE[0]}x{2 * SIZE[1] + 1}x24"
        server = self.start("Xvfb", "-displayfd", "1", "-screen", "0", room, "-nolisten", "tcp", "-noreset", "-ac")
        self.server = f":{there(server.stdout).readline().strip()}"
        self.options = ("--x11-display", self.server)
        self.xdotool("mousemove", "0", str(2 * SIZE[1]))

    def xdotool(self, *words: str) -> str:
        """Run xdotool on the X server, and return its output."""
        return self.ask("env", f"DISPLAY={self.server}", "xdotool", *words)

    def await_shell(self, log: Path) -> None:
        """Wait until it has started, and put its screens beside each other."""
        # Before it takes scripts, it may lock for a moment a display that a server without a lock has.
        until(self.takes_scripts, f"KWin takes scripts: {log}")
        self.environment["DISPLAY"] = until(self.display, f"KWin has an X display: {log}")
        for number, window in enumerate(until(self.windows, "KWin has its windows")):
            self.xdotool("windowmove", window, str(number * 2 * SIZE[0]), "0")

    def windows(self) -> list[str]:
        """Return the ids of its windows in the order of their creation, if all exist."""
        tree = self.ask("xwininfo", "-display", self.server, "-root", "-children")
        found = re.findall(r'(0x[0-9a-f]+) "KDE Wayland', tree)
        return sorted(found, key=lambda number: int(number, 16)) if len(found) == self.count else []

    def lock(self) -> None:
        """Lock its screen."""
        saver = "org.freedesktop.ScreenSaver"
        self.bus(saver, "/ScreenSaver", saver, "Lock")

    def restart_at(self, scale: float, screens: int = 1) -> None:
        """Kill it, and start it again with this number of screens at this scale."""
        self.kill_shell()
        self.scale, self.count = scale, screens
        self.options = ("--x11-display", self.server, "--scale", str(scale), "--output-count", str(screens))
        self.start_shell()
        if shutil.which("kscreen-doctor"):  # KWin 6 takes only the size of its windows from the option
            backend = ("env", "KSCREEN_BACKEND=kwayland", "KSCREEN_BACKEND_INPROCESS=1")
            for number, name in enumerate(self.screens[:screens]):
                settings = (f"output.{name}.scale.{scale}", f"output.{name}.position.{number * SIZE[0]},0")
                self.ask(*AS_USER, *backend, "kscreen-doctor", *settings)

    def run(self, script: str, last: str = "") -> str:
        """Run JavaScript in KWin until it has logged `last`. Return its log."""
        home = Path(self.environment["HOME"])
        file, log = home / "script.js", home / "compositor.log"
        file.write_text(KWIN_WORDS + script)
        before = log.stat().st_size
        self.bus(*SCRIPTING, "loadScript", str(file), "test")
        self.bus(*SCRIPTING, "start")
        until(lambda: last in log.read_bytes()[before:].decode(), f"KWin has run the script: {log.read_text()}")
        self.bus(*SCRIPTING, "unloadScript", "test")
        return log.read_bytes()[before:].decode()

    def activate(self, *names: str) -> None:
        """Bring the windows of these programs to the front, one after another, each in a turn of KWin's own loop."""
        self.run(
            f"const names = {list(names)};"
            "const turn = new QTimer();"
            "turn.timeout.connect(() => {"
            " const name = names.shift();"
            " workspace[front] = windows.find(window => String(window.resourceClass) === name);"
            " if (names.length === 0) { turn.stop(); console.log('all activated'); }"
            "});"
            "turn.start(0);",
            "all activated",
        )

    def active(self) -> str:
        """Return the program of the window in front, by the compositor."""
        return str(self.said("workspace[front] ? workspace[front].resourceClass : ''"))

    def said(self, value: str) -> Any:  # noqa: ANN401 - whatever it is
        """Return the value of an expression in KWin's JavaScript."""
        logged = self.run(f"console.log('{SAID}' + JSON.stringify({value}))", SAID)
        return json.loads(logged.partition(SAID)[2].splitlines()[0])

    def click(self, x: int, y: int) -> None:
        """Click there, in units of its layout."""
        screen, left = divmod(x, SIZE[0])
        place = (screen * 2 * SIZE[0] + round(self.scale * left), round(self.scale * y))
        self.xdotool("mousemove", *map(str, place), "click", "1")

    def seen(self, screen: str = "") -> Image.Image:
        """Return a picture of its screen of this name, or of the first one."""
        left = self.screens.index(screen or self.screens[0]) * 2 * SIZE[0]
        width, height = (round(self.scale * side) for side in SIZE)
        return ImageGrab.grab(xdisplay=self.server).convert("RGB").crop((left, 0, left + width, height))

    def takes_scripts(self) -> bool:
        """Return whether its interface for scripts is on the bus."""
        with contextlib.suppress(subprocess.CalledProcessError):
            return "false" in self.bus(*SCRIPTING, "isScriptLoaded", "test")
        return False

    def display(self) -> str | None:
        """Return the name of its XWayland, if KWin has taken one. KWin 6 starts XWayland when a program needs it."""
        for lock in X_SOCKETS.parent.glob(".X*-lock"):
            with contextlib.suppress(FileNotFoundError):  # the lock of another test's X server, which has ended
                if lock.read_text().strip() == str(self.compositor.pid):
                    return f":{lock.name[2:-5]}"
        return None


def opens_the_owners_window(desktop: Shell, picture: str) -> None:
    """Open the owner's window above the present windows, and save a picture of the screen (desktop.keep)."""
    before = desktop.seen()
    owner = desktop.start(*AS_USER, program("happe-indicator"), "--window", QT_QPA_PLATFORM=desktop.platform)

    def there() -> Image.Image | None:
        seen = desktop.seen()
        box = changed(before, seen)
        large = box is not None and box[2] - box[0] > 400 and box[3] - box[1] > 400
        return seen if large and changed(seen, desktop.seen()) is None else None

    keep(until(there, "the owner's window is seen"), picture)
    desktop.stop(owner)


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
            "KWIN_COMPOSE": "Q",  # without OpenGL
            "QT_LOGGING_RULES": "js.debug=true",
            "LC_ALL": "C.UTF-8",
            "WAYLAND_DISPLAY": "happe-0",
            "DBUS_SYSTEM_BUS_ADDRESS": bus,
            "DBUS_SESSION_BUS_ADDRESS": bus,
        }
    )
    try:
        (home / "run").mkdir(mode=0o700)
        X_SOCKETS.mkdir(exist_ok=True)  # another test may make it at the same time
        with contextlib.suppress(PermissionError):  # a display manager's X server has made it, writable for everybody
            X_SOCKETS.chmod(0o1777)
        running.install()
        subprocess.run(["chown", "-R", str(USER), home], check=True)
        running.start_shell()
        yield running
    finally:
        running.close()
        shutil.rmtree(home)
