# SPDX-License-Identifier: GPL-2.0-or-later
"""The session agent on X11, before the real happed."""

import contextlib
import ctypes
import os
import random
import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import Agent, window, window_of
from cost import wake_ups_in
from desktop import AS_USER, USER, X11, Desktop, program, wayland, without_layers, x11
from happed_world import Happed
from patience import PATIENCE_S, until

pytestmark = pytest.mark.slow

CHANGES = 1000
NAME = "_NET_ACTIVE_WINDOW"
ONLY_AN_AGENT = "happe-indicator shows nothing and only reports the application in front to happed"
NO_TRAY = "this desktop has no tray; GNOME has one with the extension AppIndicator"


def windows(desktop: X11, *names: str) -> dict[str, str]:
    """Put windows on the desktop. Return the X11 window of each name."""
    return {name: window_of(desktop, window(desktop, name)) for name in names}


def test_the_last_of_a_thousand_changes_is_served(happed: Happed) -> None:
    randomly = random.Random(7)
    with x11() as desktop:
        agent = Agent(desktop, happed).start()
        known = windows(desktop, "alpha", "beta", "gamma")
        agent.serves("gamma")
        for _ in range(CHANGES // 250):
            names = randomly.choices([*known], k=250)
            desktop.ask("xdotool", *(word for name in names for word in ("windowactivate", known[name])))
            agent.serves_for_good(names[-1])
        until(lambda: wake_ups_in(agent.process.pid, 2) == 0, "the agent sleeps")


def test_what_is_no_programs_window_is_nothing_in_front(happed: Happed) -> None:
    with x11() as desktop:
        agent = Agent(desktop, happed).start()
        root = int(desktop.ask("xwininfo", "-root").partition("Window id: ")[2].split()[0], 16)
        wrong = [("-f", NAME, kind, "-set", NAME, value) for kind, value in (("8s", "a text"), ("32x", "0"))]
        changes: list[int | tuple[str, ...]] = [*wrong, ("-remove", NAME), 0, 0x1FFFFFFF, root]
        for change in changes:
            window(desktop, "game")
            agent.serves("game")
            if isinstance(change, int):
                make_active(desktop, change)
            else:
                desktop.ask("xprop", "-root", *change)
            agent.serves("desktop")
        window(desktop, "game")
        agent.serves("game")


def test_the_servers_word_counts_not_the_clients(happed: Happed) -> None:
    with x11() as desktop:
        agent = Agent(desktop, happed).start()
        known = windows(desktop, "honest", "liar")
        pid = desktop.ask("xprop", "-id", known["honest"], "_NET_WM_PID").split()[-1]
        desktop.ask("xprop", "-id", known["liar"], "-f", "_NET_WM_PID", "32c", "-set", "_NET_WM_PID", pid)
        desktop.ask("xdotool", "windowactivate", known["honest"])
        agent.serves("honest")
        desktop.ask("xdotool", "windowactivate", known["liar"])
        agent.serves("liar")


def make_active(desktop: X11, number: int) -> None:
    """Set _NET_ACTIVE_WINDOW as a window manager does. xprop cannot set a property of the type WINDOW."""
    x = ctypes.CDLL("libX11.so.6")
    x.XOpenDisplay.restype = ctypes.c_void_p
    display = ctypes.c_void_p(x.XOpenDisplay(desktop.environment["DISPLAY"].encode()))
    root, name = x.XDefaultRootWindow(display), x.XInternAtom(display, b"_NET_ACTIVE_WINDOW", 0)
    x.XChangeProperty(display, root, name, 33, 32, 0, ctypes.byref(ctypes.c_ulong(number)), 1)  # XA_WINDOW, replace
    x.XCloseDisplay(display)


def test_it_follows_windows_that_go_and_another_window_manager(happed: Happed) -> None:
    """One desktop for all parts: an icon, a killed program, another window manager, and the agent's own end."""
    with x11("openbox") as desktop:
        agent = Agent(desktop, happed).start()
        pid = window(desktop, "game")
        game = window_of(desktop, pid)
        agent.serves("game")
        desktop.ask("xdotool", "windowminimize", game)
        agent.serves("desktop")
        desktop.ask("xdotool", "windowactivate", game)
        agent.serves("game")
        os.kill(pid, signal.SIGKILL)
        agent.serves("desktop")

        desktop.stop(desktop.running[0])
        desktop.manage("xfwm4")
        window(desktop, "another")
        agent.serves("another")
        agent.process.terminate()
        assert agent.process.wait(PATIENCE_S) == 0
        agent.serves("desktop")  # the bus has told happed that the agent has left


def test_it_says_that_no_window_manager_is_there(happed: Happed) -> None:
    with x11() as desktop:
        desktop.stop(desktop.running[0])
        address = happed.world.address
        desktop.environment |= dict.fromkeys(("DBUS_SYSTEM_BUS_ADDRESS", "DBUS_SESSION_BUS_ADDRESS"), address)
        said = desktop.ask(program("happe-indicator"), "--status").splitlines()
        assert said[-2:] == [
            "X11 reports which application is in front.",
            "No window manager reports the active window (_NET_ACTIVE_WINDOW).",
        ]


def test_without_layers_a_window_of_xwayland_shows_the_overlay_and_status_says_what_a_tray_lacks(
    happed: Happed,
) -> None:
    """The desktop is like GNOME without extensions: no wlr-layer-shell, no tray, but XWayland."""
    with x11() as desktop:
        compositor = without_layers(desktop)
        agent = Agent(desktop, happed).start("--where", "auto", WAYLAND_DISPLAY=compositor)
        window(desktop, "game")
        agent.serves("game")
        agent.is_idle()
        source, why = agent.log.splitlines()
        assert source == "happe-indicator: in front: X11"
        assert why.startswith("happe-indicator: this Wayland compositor has no wlr-layer-shell")
        assert why.endswith("; a window of XWayland shows it")

        buses = dict.fromkeys(("DBUS_SYSTEM_BUS_ADDRESS", "DBUS_SESSION_BUS_ADDRESS"), happed.world.address)
        desktop.environment |= {**buses, "WAYLAND_DISPLAY": compositor}
        said = desktop.ask(*AS_USER, program("happe-indicator"), "--status", "--where", "tray").splitlines()
        assert said[1].endswith(NO_TRAY)
        assert said[2:] == [
            "happe-indicator shows nothing here. It only reports to happed which application is in front.",
            "In front: game.",
            "X11 reports which application is in front.",
            "happe-indicator sees only programs that use XWayland.",
        ]


@contextlib.contextmanager
def silent_x_server() -> Iterator[str]:
    """Run an X server that accepts connections and never answers. Yield its DISPLAY."""
    with socket.socket(socket.AF_UNIX) as server:
        for number in range(90, 200):
            with contextlib.suppress(OSError):
                server.bind(f"\0/tmp/.X11-unix/X{number}")
                break
        server.listen()
        yield f":{number}"


def test_an_x_server_that_never_answers_is_abandoned_and_the_agent_goes_on(happed: Happed) -> None:
    with tempfile.TemporaryDirectory() as home, silent_x_server() as display:
        desktop = Desktop(
            {**os.environ, "HOME": home, "XDG_RUNTIME_DIR": home, "LC_ALL": "C.UTF-8", "DISPLAY": display}
        )
        os.chown(home, USER, -1)
        desktop.environment.pop("WAYLAND_DISPLAY", None)
        with contextlib.closing(desktop):
            agent = Agent(desktop, happed).start("--where", "auto")
            until(lambda: ONLY_AN_AGENT in agent.log, "it goes on as an agent")
            assert agent.log.splitlines()[0] == "happe-indicator: in front: no X server answers where DISPLAY says"
            assert agent.process.poll() is None
            agent.process.terminate()  # perhaps while the agent waits for the server again
            assert agent.process.wait(PATIENCE_S) == 0


def test_sigterm_ends_it_while_a_bus_does_not_answer(happed: Happed, tmp_path: Path) -> None:
    with x11() as desktop, socket.socket(socket.AF_UNIX) as bus:
        bus.bind(f"\0{tmp_path}")
        bus.listen()
        agent = Agent(desktop, happed).start(DBUS_SESSION_BUS_ADDRESS=f"unix:abstract={tmp_path}")
        bus.settimeout(PATIENCE_S)
        connection, _ = bus.accept()
        with connection:
            agent.process.terminate()
            assert agent.process.wait(PATIENCE_S) == 0


def test_an_x_server_without_a_tray_and_a_session_without_a_bus_do_not_end_it(happed: Happed) -> None:
    with x11() as desktop:
        nowhere = dict.fromkeys(("DBUS_SYSTEM_BUS_ADDRESS", "DBUS_SESSION_BUS_ADDRESS"), "unix:path=/nonexistent")
        agent = Agent(desktop, happed).start("--where", "tray", **nowhere)
        until(lambda: ONLY_AN_AGENT in agent.log, "it goes on as an agent")
        agent.is_idle()
        assert agent.process.poll() is None


def test_the_agent_outlives_the_overlay(happed: Happed) -> None:
    """The overlay's compositor does not come back. The X server that reports the window in front is another one."""
    with x11() as desktop, wayland() as shown:
        place = {name: shown.environment[name] for name in ("WAYLAND_DISPLAY", "XDG_RUNTIME_DIR")}
        agent = Agent(desktop, happed).start("--where", "wayland", "--focus", "x11", **place)
        window(desktop, "game")
        agent.serves("game")
        shown.stop(shown.running_sway)
        until(lambda: ONLY_AN_AGENT in agent.log, "it goes on without the overlay")
        window(desktop, "another")
        agent.serves("another")
