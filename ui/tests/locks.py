# SPDX-License-Identifier: GPL-2.0-or-later
"""The lock screens of real desktops, which report to the stand-in for logind that they are locked."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from agent import Agent
from happed_world import LOGIN, MOCK, MY_SESSION, World
from overlay import Box
from patience import until
from private_bus import stand_in
from shells import Shell

DISPLAY_MANAGER = "org.gnome.DisplayManager"
VERSION = f"""<node><interface name="{DISPLAY_MANAGER}.Manager">
  <property name="Version" type="s" access="read"/></interface></node>"""
SEATS = Path("/run/systemd/seats")  # its presence tells GNOME that logind runs
SESSION = f"/session/{MY_SESSION}"
IN_LOGIND = "org.freedesktop.login1"


@contextlib.contextmanager
def lockable(world: World) -> Iterator[None]:
    """Let desktops lock their screens: they ask logind for the caller's session, and GNOME needs a display manager."""
    SEATS.mkdir(parents=True, exist_ok=True)
    answer = f"ret = '{LOGIN}/session/' + args[0].replace('auto', '{MY_SESSION}')"
    world.logind("", MOCK, "AddMethod", "sssss", f"{IN_LOGIND}.Manager", "GetSession", "s", "o", answer)
    manager = {"/org/gnome/DisplayManager/Manager": {"xml": VERSION, "properties": {"Version": "43.0"}}}
    with stand_in(world.bus, DISPLAY_MANAGER, manager):
        yield


def locked(world: World) -> bool:
    """Return the lock state that the desktop has reported to logind."""
    get = ("org.freedesktop.DBus.Properties", "Get", "ss", f"{IN_LOGIND}.Session", "LockedHint")
    said: bool = world.logind(SESSION, *get)
    return said


def rests_while_locked(desktop: Shell, agent: Agent, box: Box, press: Callable[[], None]) -> None:
    """Lock the screen, press a key, and unlock it as `loginctl unlock-session` does.

    While it is locked, happed serves nobody, the press teaches nothing, and this box has no overlay.
    """
    world, me = agent.happed.world, agent.me
    application = me.get("Application")
    before = me("ListEvents", "ssxu", "", application, 0, 100)
    desktop.lock()
    me.sees("State", "released")
    assert locked(world)
    press()
    assert (me.get("User"), me.get("Application")) == ("", "")
    until(lambda: not has_bright_writing(desktop, box), "the lock screen hides the overlay")

    world.logind(SESSION, f"{IN_LOGIND}.Session", "Unlock", "")
    agent.serves(application)
    assert not locked(world)

    def seen() -> bool:
        desktop.wake()  # GNOME 48 unlocks, and stays dark until it notices a person
        return has_bright_writing(desktop, box)

    until(seen, "the overlay is there again")
    assert me("ListEvents", "ssxu", "", application, 0, 100) == before


def has_bright_writing(desktop: Shell, box: Box) -> bool:
    """Return whether the box has a pixel as bright as the overlay's text. No lock screen has such a pixel there."""
    return max(desktop.seen().crop(box).convert("L").tobytes()) > 128
