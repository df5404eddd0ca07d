# SPDX-License-Identifier: GPL-2.0-or-later
"""Desktops for one test: X servers with window managers and compositors, and sway; and pictures of their screens."""

import contextlib
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from PIL import Image, ImageChops, ImageGrab

from patience import PATIENCE_S, spend, until
from private_bus import there
from program import ROOT

SIZE = (1280, 800)
MARGIN = 16
# Sway refuses root. So when root runs the tests, sway runs as nobody.
AS_USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
USER = 65534 if os.geteuid() == 0 else os.geteuid()


def program(name: str) -> str:
    """Return the path of our program: beside the one in HAPPE_INDICATOR, or where `make build` puts it."""
    folder = Path(os.environ.get("HAPPE_INDICATOR", ROOT / "build/bin/happe-indicator")).absolute().parent
    path = folder / name
    assert path.is_file(), f"{path} is missing: `make test` builds it, and HAPPE_INDICATOR may name one elsewhere"
    return str(path)


class Output:
    """A program's lines, as they come."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """Read what it prints."""
        self.process = process
        self.lines: list[str] = []
        self._new: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(ValueError):  # the file is closed, because the desktop has ended the program
            for line in there(self.process.stdout):
                self._new.put(line.strip())
        self._new.put(None)

    def until(self, begin: str, seconds: float = PATIENCE_S) -> str:
        """Wait for the next line that begins with `begin`, and return it. Raises queue.Empty."""
        while True:
            line = self._new.get(timeout=seconds)
            assert line is not None, f"{self.process.args!r} has ended before it said {begin!r}, and said {self.lines}"
            self.lines.append(line)
            if line.startswith(begin):
                return line

    def so_far(self) -> list[str]:
        """All lines until now."""
        with contextlib.suppress(queue.Empty):
            while (line := self._new.get_nowait()) is not None:
                self.lines.append(line)
        return self.lines


@dataclass
class Desktop:
    """A running desktop."""

    platform: ClassVar[str]  # Qt's name for it
    environment: dict[str, str]
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, *command: str, **environment: str) -> subprocess.Popen[str]:
        """Start a program on the desktop. It ends with the desktop."""
        process = subprocess.Popen(
            command,
            env={**self.environment, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.running.append(process)
        return process

    def ask(self, *command: str) -> str:
        """Run a program to its end, and return its output."""
        ran = subprocess.run(
            command,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE_S,
        )
        return ran.stdout

    def seen(self) -> Image.Image:
        """Return a picture of its screens."""
        raise NotImplementedError

    def click(self, x: int, y: int) -> None:
        """Click there."""
        raise NotImplementedError

    def window(self, backdrop: str, *user: str) -> Output:
        """Put a full-screen window of this user in front of all others, and wait until it is visible."""
        told = Output(self.start(*user, program("happe-ui-window"), backdrop, QT_QPA_PLATFORM=self.platform))
        told.until("shown")
        until(lambda: fills(self.seen(), backdrop), f"{backdrop} fills the screen")
        return told

    def stop(self, process: subprocess.Popen[str]) -> None:
        """End a program."""
        process.kill()
        process.wait(PATIENCE_S)
        for pipe in (process.stdin, process.stdout):
            there(pipe).close()
        self.running.remove(process)

    def close(self) -> None:
        """End everything on it."""
        for process in reversed(tuple(self.running)):
            self.stop(process)


class X11(Desktop):
    """An X server."""

    platform = "xcb"

    def seen(self) -> Image.Image:
        """Return a picture of its screens."""
        return ImageGrab.grab(xdisplay=self.environment["DISPLAY"]).convert("RGB")

    def click(self, x: int, y: int) -> None:
        """Click there."""
        self.ask("xdotool", "mousemove", str(x), str(y), "click", "1")

    def root_property(self, name: str) -> str:
        """Return a property of the root window, as xprop prints it."""
        return self.ask("xprop", "-root", name)

    def set_resources(self, text: str) -> None:
        """Set the desktop's resources."""
        self.ask("xprop", "-root", "-f", "RESOURCE_MANAGER", "8s", "-set", "RESOURCE_MANAGER", text + "\n")

    def manage(self, manager: str) -> None:
        """Start a window manager."""
        options = ["--compositor=off"] if manager == "xfwm4" else []
        self.start(manager, *options)
        # openbox sets its name before its list of windows, and loses a window that comes between.
        last = "_NET_CLIENT_LIST" if manager == "openbox" else "_NET_SUPPORTING_WM_CHECK"
        until(lambda: "window id" in self.root_property(last), f"{manager} manages")

    def composite(self) -> int:
        """Start a compositor. Return its process, which ends with the server at the latest."""
        file = Path(self.environment["HOME"]) / "picom.pid"
        self.ask("picom", "--backend", "xrender", "--config", "/dev/null", "-b", "--write-pid-path", str(file))
        return int(file.read_text())


def without_layers(desktop: Desktop) -> str:
    """Start a compositor without wlr-layer-shell, like GNOME's, beside a desktop. Return its WAYLAND_DISPLAY."""
    desktop.start(*AS_USER, "weston", "--backend=headless-backend.so", "--socket=weston")
    until((Path(desktop.environment["XDG_RUNTIME_DIR"]) / "weston").exists, "Weston runs")
    return "weston"


def fills(seen: Image.Image, backdrop: str) -> bool:
    """Return whether only the backdrop is visible on a cross through the middle, without the corners."""
    width, height = seen.size
    cross = ((width // 2 - 50, 0, width // 2 + 50, height), (0, height // 2 - 50, width, height // 2 + 50))
    wanted = {"black": {(0, 0)}, "white": {(255, 255)}, "noise": {(0, 255)}}[backdrop]
    return all(set(seen.crop(bar).getextrema()) == wanted for bar in cross)


@contextlib.contextmanager
def x11(manager: str = "openbox", *, composited: bool = False, size: tuple[int, int] = SIZE) -> Iterator[X11]:
    """Run an X server with a window manager."""
    read, write = os.pipe()
    screen = f"{size[0]}x{size[1]}x24"
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", screen, "-nolisten", "tcp", "-noreset", "-ac"]
    with (
        # # picom may write there in the background until it notices the server's end.
        tempfile.TemporaryDirectory(prefix="happe-x11-", ignore_cleanup_errors=True) as home,
        subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL) as server,
    ):
        os.close(write)
        os.chown(home, USER, -1)
        with os.fdopen(read) as pipe:
            number = pipe.readline().strip()
        environment = {
            **os.environ,
            "DISPLAY": f":{number}",
            "HOME": home,
            "XDG_RUNTIME_DIR": home,
            "LC_ALL": "C.UTF-8",
        }
        environment.pop("WAYLAND_DISPLAY", None)
        desktop = X11(environment)
        try:
            desktop.manage(manager)
            if composited:
                desktop.composite()
            yield desktop
        finally:
            desktop.close()
            server.terminate()
            server.wait(PATIENCE_S)


class Wayland(Desktop):
    """A headless sway."""

    platform = "wayland"
    running_sway: subprocess.Popen[str]

    def sway(self, command: str) -> str:
        """Send sway a command."""
        return self.ask("swaymsg", "-r", command)

    def outputs(self) -> list[dict[str, Any]]:
        """Return sway's outputs."""
        found: list[dict[str, Any]] = json.loads(self.ask("swaymsg", "-r", "-t", "get_outputs"))
        return found

    def seen(self, output: str = "") -> Image.Image:
        """Return a picture of its screens, or of one of them."""
        file = Path(self.environment["HOME"]) / "seen.ppm"
        self.ask("grim", "-t", "ppm", *(["-o", output] if output else []), str(file))
        return Image.open(file).convert("RGB")

    def click(self, x: int, y: int) -> None:
        """Click there, with a temporary pointer."""
        area = [output["rect"] for output in self.outputs() if output["active"]]
        width = max(rect["x"] + rect["width"] for rect in area)
        height = max(rect["y"] + rect["height"] for rect in area)
        pointer = self.start(program("happe-ui-pointer"), *map(str, (x, y, width, height)))
        spend(0.2)  # clients ask for a new pointer, and no sign tells the test when they have it
        there(pointer.stdin).write("\n")
        there(pointer.stdin).flush()
        spend(0.1)
        there(pointer.stdin).close()
        pointer.wait(PATIENCE_S)

    def start_sway(self) -> None:
        """Start sway."""
        self.environment.pop("SWAYSOCK", None)
        configuration = Path(self.environment["HOME"]) / "config"
        self.running_sway = sway = self.start(*AS_USER, "sway", "-c", str(configuration))
        folder = Path(self.environment["XDG_RUNTIME_DIR"])
        socket = until(lambda: next(folder.glob(f"sway-ipc.*.{sway.pid}.sock"), None), "sway runs")
        self.environment["SWAYSOCK"] = str(socket)

    def restart_sway(self) -> None:
        """Kill sway, which leaves its sockets, and start it again under the same name."""
        self.stop(self.running_sway)
        self.start_sway()
        until(self.is_ready, "sway shows its background")

    def is_ready(self) -> bool:
        """Return whether sway shows its background, above an overlay.

        It answers swaymsg before clients find it and its output.
        """
        above = (0, 0, SIZE[0], SIZE[1] // 2)
        try:
            return changed(self.empty().crop(above), self.seen().crop(above)) is None
        except subprocess.CalledProcessError:
            return False

    def empty(self) -> Image.Image:
        """Return the picture of an empty output."""
        return Image.new("RGB", SIZE, GREY)


GREY = "#404040"
SWAY = f"""output HEADLESS-1 resolution {SIZE[0]}x{SIZE[1]} position 0 0
output * background {GREY} solid_color
default_border none
"""


@contextlib.contextmanager
def wayland(xwayland: str = "disable") -> Iterator[Wayland]:
    """Run a headless sway."""
    home = Path(tempfile.mkdtemp(prefix="happe-sway-"))
    os.chown(home, USER, -1)
    (home / "config").write_text(f"{SWAY}xwayland {xwayland}\n")
    environment = {
        **os.environ,
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(home),
        "WAYLAND_DISPLAY": "wayland-1",
        "WLR_BACKENDS": "headless",
        "WLR_RENDERER": "pixman",
        "WLR_LIBINPUT_NO_DEVICES": "1",
        "LC_ALL": "C.UTF-8",
    }
    environment.pop("DISPLAY", None)
    desktop = Wayland(environment)
    try:
        desktop.start_sway()
        until(desktop.is_ready, "sway shows its background")
        yield desktop
    finally:
        desktop.close()
        shutil.rmtree(home)


@contextlib.contextmanager
def nested(outer: Wayland) -> Iterator[Wayland]:
    """Run another sway in two windows of this one. Its output WL-1 or WL-2 goes when its window closes."""
    desktop = Wayland({**outer.environment, "WLR_BACKENDS": "wayland", "WLR_WL_OUTPUTS": "2"})
    (Path(outer.environment["HOME"]) / "config").write_text(f"{SWAY}xwayland disable\n")
    try:
        desktop.start_sway()
        desktop.environment["WAYLAND_DISPLAY"] = "wayland-2"
        yield desktop
    finally:
        desktop.close()


def keep(seen: Image.Image, name: str) -> None:
    """Save a picture of the screen if somebody renews the documents' pictures (tools/pictures.sh)."""
    if os.environ.get("HAPPE_PICTURES"):
        folder = ROOT / "build/pictures/ui"
        folder.mkdir(parents=True, exist_ok=True)
        seen.save(folder / f"{name}.png")


def changed(before: Image.Image, after: Image.Image) -> tuple[int, int, int, int] | None:
    """Return the rectangle in which two pictures differ; None if they are the same."""
    box: tuple[int, int, int, int] | None = ImageChops.difference(before, after).getbbox()
    return box
