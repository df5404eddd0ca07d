# SPDX-License-Identifier: GPL-2.0-or-later
"""The session agent with stand-ins for the compositors that Debian 12 lacks, and the real happed."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, window, window_of
from desktop import USER, Desktop, x11
from happed_world import ME, QUICK, Happed, somebody
from patience import until
from private_bus import StandIn, stand_in

pytestmark = pytest.mark.slow

FOCUS = ("org.happe.Focus1", "/org/happe/Focus1", "org.happe.Focus1", "Focus")
FOCUS_X11 = (*FOCUS[:-1], "FocusX11")
FOCUS_ACTIVE_X11 = (*FOCUS[:-1], "FocusActiveX11")
KWIN_XML = """<node><interface name="org.kde.kwin.Scripting">
  <method name="loadScript"><arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="i" direction="out"/>
  </method>
  <method name="unloadScript"><arg type="s" direction="in"/><arg type="b" direction="out"/></method>
  <method name="start"/></interface></node>"""
KWIN = {"/Scripting": {"xml": KWIN_XML, "answers": {"loadScript": [3], "unloadScript": [False]}}}


@pytest.fixture
def desktop() -> Iterator[Desktop]:
    """A session that is only environment variables."""
    home = tempfile.mkdtemp(prefix="happe-session-")
    os.chown(home, USER, -1)
    kept = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    running = Desktop({**kept, "HOME": home, "XDG_RUNTIME_DIR": home, "WAYLAND_DISPLAY": "none", "LC_ALL": "C.UTF-8"})
    yield running
    running.close()
    shutil.rmtree(home)


@pytest.fixture
def game() -> Iterator[int]:
    """A process of the user's."""
    with somebody(ME, "/bin/bash", "-c", "exec -a game sleep 600") as pidfd:
        yield int(Path(f"/proc/self/fdinfo/{pidfd}").read_text().partition("Pid:")[2].split()[0])


def kwin(happed: Happed) -> Any:  # noqa: ANN401 - a context
    """Run a stand-in for KWin on the bus."""
    return stand_in(happed.world.bus, "org.kde.KWin", KWIN)


def activate(compositor: StandIn, number: str, name: str = "", method: tuple[str, ...] = FOCUS) -> None:
    """Activate a window, as the script reports it."""
    compositor.tell("call", *method, [number, name])


@pytest.mark.parametrize("pid", ["", "-1", "many", "1.5", "99999999999", "4194304999"])
def test_what_is_no_pid_is_refused(desktop: Desktop, happed: Happed, pid: str) -> None:
    with kwin(happed) as compositor:
        agent = Agent(desktop, happed).start()
        compositor.until("call", "start")
        activate(compositor, pid)
        compositor.until("error")
        assert agent.me.get("Application") == "desktop"


def test_kwins_x11_windows_are_whose_the_x_server_says(happed: Happed) -> None:
    """A program in a PID namespace, such as Flatpak's, believes that it is process 1."""
    with kwin(happed) as compositor, x11() as desktop:
        agent = Agent(desktop, happed).start("--focus", "kwin")
        compositor.until("call", "start")
        window(desktop, "boxed", boxed=True)
        number = window_of(desktop, 1)
        activate(compositor, number, "boxed", FOCUS_X11)
        agent.serves("boxed")
        for nobodys in (str(0x1FFFFFFF), "0"):
            activate(compositor, nobodys, "boxed", FOCUS_X11)
            agent.serves("desktop")
            activate(compositor, number, "boxed", FOCUS_X11)
            agent.serves("boxed")
        activate(compositor, "0x7", "boxed", FOCUS_X11)
        compositor.until("error")


def test_the_x_server_says_which_of_its_windows_is_active_where_kwin_has_no_number(happed: Happed) -> None:
    """The X server may know it later than KWin, and name another window until then."""
    with kwin(happed) as compositor, x11() as desktop:
        agent = Agent(desktop, happed).start("--focus", "kwin")
        compositor.until("call", "start")
        window(desktop, "boxed", boxed=True)
        compositor.tell("call", *FOCUS_ACTIVE_X11, ["Boxed"])  # KWin 5 writes it small
        agent.serves("boxed")
        compositor.tell("call", *FOCUS_ACTIVE_X11, ["later"])
        agent.serves("desktop")
        window(desktop, "later")
        agent.serves("later")
        activate(compositor, "0")
        agent.serves("desktop")


def test_nobody_but_the_compositor_says_what_is_in_front(desktop: Desktop, happed: Happed, game: int) -> None:
    with kwin(happed) as compositor, stand_in(happed.world.bus, "org.evil.KWin", KWIN) as other:
        agent = Agent(desktop, happed).start()
        compositor.until("call", "start")
        activate(other, str(game))
        other.until("error")
        assert agent.me.get("Application") == "desktop"


MONITOR = ("/org/gnome/Mutter/IdleMonitor/Core", "org.gnome.Mutter.IdleMonitor")
MONITOR_XML = f"""<node><interface name="{MONITOR[1]}">
  <method name="AddIdleWatch"><arg type="t" direction="in"/><arg type="u" direction="out"/></method>
  <method name="AddUserActiveWatch"><arg type="u" direction="out"/></method>
  <signal name="WatchFired"><arg type="u"/></signal></interface></node>"""


def test_the_agent_reports_that_nobody_uses_the_machine_and_that_somebody_does(
    stopped: Happed, desktop: Desktop
) -> None:
    stopped.configure(QUICK + '[algorithm]\nmode = "extended"\n')
    idle, active = 7, 8
    answers = {"AddIdleWatch": [idle], "AddUserActiveWatch": [active]}
    monitor = {MONITOR[0]: {"xml": MONITOR_XML, "answers": answers}}
    with stand_in(stopped.world.bus, MONITOR[1], monitor) as mutter:
        me = Agent(desktop, stopped.start()).start().me

        def becomes(state: str) -> None:
            until(lambda: me.get("Descent")[0] == state, f"it is {state}")

        becomes("waiting")
        assert mutter.until("call", "AddIdleWatch")["arguments"] == [60_000]
        mutter.tell("signal", *MONITOR, "WatchFired", "(u)", [idle])
        becomes("unattended")
        mutter.until("call", "AddUserActiveWatch")
        mutter.tell("signal", *MONITOR, "WatchFired", "(u)", [active])
        becomes("waiting")
