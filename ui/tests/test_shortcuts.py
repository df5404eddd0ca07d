# SPDX-License-Identifier: GPL-2.0-or-later
"""The two keys as shortcuts of the desktop: the agent with a stand-in for the portal."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent import Agent, window
from cost import wake_ups_in
from desktop import AS_USER, X11, program, x11
from patience import until
from private_bus import stand_in
from test_owner_keys import FASTER, opens_dialog, says
from test_owner_window import Window, opens_from_the_tray, tray_read_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from happed_world import Happed
    from private_bus import StandIn

PORTAL = "org.freedesktop.portal.Desktop"
PATH = "/org/freedesktop/portal/desktop"
SHORTCUTS = "org.freedesktop.portal.GlobalShortcuts"
XML = f"""<node>
  <interface name="org.freedesktop.host.portal.Registry">
    <method name="Register"><arg type="s" direction="in"/><arg type="a{{sv}}" direction="in"/></method></interface>
  <interface name="{SHORTCUTS}">
    <method name="CreateSession"><arg type="a{{sv}}" direction="in"/><arg type="o" direction="out"/></method>
    <method name="BindShortcuts"><arg type="o" direction="in"/><arg type="a(sa{{sv}})" direction="in"/>
      <arg type="s" direction="in"/><arg type="a{{sv}}" direction="in"/><arg type="o" direction="out"/></method>
    <method name="ListShortcuts"><arg type="o" direction="in"/><arg type="a{{sv}}" direction="in"/>
      <arg type="o" direction="out"/></method>
    <property name="version" type="u" access="read"/>
    <signal name="Activated"><arg type="o"/><arg type="s"/><arg type="t"/><arg type="a{{sv}}"/></signal>
  </interface></node>"""
# GNOME 48 describes one shortcut so, and Plasma the other.
GIVEN = (
    "[('performance', {'trigger_description': <'Press <Super>F12'>}),"
    " ('power', {'trigger_description': <'Super+F11'>})]"
)
CREATED: dict[str, Any] = {"respond": [0, {}]}
NONE: dict[str, Any] = {"respond": [0, {"shortcuts": ["text", "@a(sa{sv}) []"]}]}
BOUND: dict[str, Any] = {"respond": [0, {"shortcuts": ["text", GIVEN]}]}
DECLINED: dict[str, Any] = {"respond": [1, {}]}
# GNOME 48's portal answers so when the user declines, and when the portal fails.
FAILED: dict[str, Any] = {"respond": [2, {}]}


@pytest.fixture
def agent(happed: Happed) -> Iterator[Agent]:
    """Run an agent with a game in front. The user does not want shortcuts yet."""
    with x11() as desktop:
        agent = Agent(desktop, happed).start()
        window(desktop, "torcs")
        agent.serves_for_good("torcs")
        yield agent


def indicator(agent: Agent, *options: str) -> str:
    """Run happe-indicator in the session, and return its output."""
    address = agent.happed.world.address
    buses = (f"DBUS_SYSTEM_BUS_ADDRESS={address}", f"DBUS_SESSION_BUS_ADDRESS={address}")
    return agent.desktop.ask("env", *buses, *AS_USER, program("happe-indicator"), *options)


def shortcuts(agent: Agent) -> Any:  # noqa: ANN401 - of JSON
    """Return the shortcuts that the desktop has given; none if the user does not want them."""
    return json.loads(indicator(agent, "--status", "--json"))["shortcuts"]


@contextlib.contextmanager
def portal(agent: Agent, bound: dict[str, Any], kept: dict[str, Any] = NONE) -> Iterator[StandIn]:
    """Run a portal that gives shortcuts or refuses, and that has stored some or none."""
    answers = {"CreateSession": CREATED, "ListShortcuts": kept, "BindShortcuts": bound}
    script = {"xml": XML, "properties": {"version": 1}, "answers": answers}
    with stand_in(agent.happed.world.bus, PORTAL, {PATH: script}) as running:
        yield running


def asked(portal: StandIn, method: str) -> list[Any]:
    """Wait until a program calls this method of the portal, and return the arguments."""
    arguments: list[Any] = portal.until("call", method)["arguments"]
    return arguments


def press(portal: StandIn, session: str, shortcut: str) -> None:
    """Press the shortcut."""
    portal.tell("signal", PATH, SHORTCUTS, "Activated", "(osta{sv})", [session, shortcut, 0, {}])


def close(portal: StandIn, session: str) -> None:
    """End the session."""
    portal.tell("signal", session, "org.freedesktop.portal.Session", "Closed", "(a{sv})", [{}])


def lessons(agent: Agent) -> list[str]:
    """Return the keys that taught something about the game, in order."""
    return [event[2] for event in agent.me("ListEvents", "ssxu", "", "torcs", 0, 100)]


def test_shortcuts_that_the_user_wants_teach_as_keys_do(agent: Agent) -> None:
    with portal(agent, BOUND) as desktop:
        assert shortcuts(agent) is None
        indicator(agent, "--shortcuts", "on")
        assert asked(desktop, "Register") == ["org.happe.Window", {}]
        session, wanted, _parent, _options = asked(desktop, "BindShortcuts")
        assert wanted == [
            ["performance", {"description": "Faster", "preferred_trigger": "LOGO+F12"}],
            ["power", {"description": "Save power", "preferred_trigger": "LOGO+F11"}],
        ]
        until(lambda: shortcuts(agent) == {"performance": "Super+F12", "power": "Super+F11"}, "they are given")

        agent.me.listen()
        press(desktop, f"{session}_of_another", "power")
        press(desktop, session, "another")
        press(desktop, session, "performance")
        assert agent.me.heard("KeyCounted") == ["performance"]
        press(desktop, session, "power")
        assert agent.me.heard("KeyCounted") == ["power"]
        assert lessons(agent) == ["performance", "power"]

        indicator(agent, "--shortcuts", "off")
        connection = ":" + session.split("/")[-2].replace("_", ".")
        until(lambda: not agent.happed.world.there(connection), "with the connection the portal's session has ended")
    assert agent.process.poll() is None


def test_shortcuts_that_the_portal_has_kept_are_not_bound_again(agent: Agent) -> None:
    indicator(agent, "--shortcuts", "on")
    with portal(agent, DECLINED, kept=BOUND) as desktop:
        until(lambda: shortcuts(agent) == {"performance": "Super+F12", "power": "Super+F11"}, "they are given")
        agent.is_idle()
        assert "BindShortcuts" not in dict(desktop.calls())


def test_a_portal_that_comes_later_or_again_is_used(agent: Agent) -> None:
    indicator(agent, "--shortcuts", "on")
    agent.me.listen()
    for key in ("performance", "power"):
        with portal(agent, BOUND) as desktop:
            press(desktop, asked(desktop, "BindShortcuts")[0], key)
            assert agent.me.heard("KeyCounted") == [key]


def test_a_session_that_the_desktop_ends_is_followed_by_another(agent: Agent) -> None:
    """But the session of a desktop that ends it before it gives shortcuts is the last one."""
    indicator(agent, "--shortcuts", "on")
    agent.me.listen()
    ended = "the desktop has ended the session"
    with portal(agent, BOUND) as desktop:
        session = asked(desktop, "BindShortcuts")[0]
        until(lambda: (shortcuts(agent) or {}).get("power") == "Super+F11", "they are given")
        agent.is_idle()
        close(desktop, session)
        press(desktop, asked(desktop, "BindShortcuts")[0], "power")
        assert agent.me.heard("KeyCounted") == ["power"]
    with portal(agent, {"silent": True}) as desktop:
        close(desktop, asked(desktop, "BindShortcuts")[0])
        until(lambda: agent.log.count(ended) == 2, "the agent says so")
        until(lambda: wake_ups_in(agent.process.pid, 2) == 0, "the agent sleeps")
        assert "BindShortcuts" not in dict(desktop.calls())


def test_they_can_be_wanted_again_after_somebody_deleted_the_settings(agent: Agent) -> None:
    indicator(agent, "--shortcuts", "on")
    with portal(agent, BOUND) as desktop:
        asked(desktop, "BindShortcuts")
        until(lambda: (shortcuts(agent) or {}).get("power") == "Super+F11", "they are given")
        shutil.rmtree(Path(agent.desktop.environment["HOME"]) / ".config/happe")
        agent.is_idle()
        indicator(agent, "--shortcuts", "on")
        asked(desktop, "BindShortcuts")


@pytest.mark.parametrize("declined", [DECLINED, FAILED])
def test_who_declines_is_not_asked_again(agent: Agent, declined: dict[str, Any]) -> None:
    indicator(agent, "--shortcuts", "on")
    with portal(agent, declined):
        until(lambda: shortcuts(agent) is None, "they are no longer wanted")
    with portal(agent, BOUND) as desktop:
        agent.is_idle()
        assert desktop.calls() == []


def test_a_portal_that_fails_later_is_asked_again(agent: Agent) -> None:
    indicator(agent, "--shortcuts", "on")
    with portal(agent, BOUND):
        until(lambda: (shortcuts(agent) or {}).get("power") == "Super+F11", "they are given")
    with portal(agent, FAILED):
        until(lambda: "gives no shortcuts" in agent.log, "the agent says that there are none")
    with portal(agent, BOUND) as desktop:
        asked(desktop, "BindShortcuts")


def test_a_portal_without_shortcuts_is_no_trouble(agent: Agent) -> None:
    indicator(agent, "--shortcuts", "on")
    other = {"xml": "<node><interface name='org.freedesktop.portal.Settings'/></node>"}
    with stand_in(agent.happed.world.bus, PORTAL, {PATH: other}):
        until(lambda: "shortcuts: " in agent.log, "the agent says why there are none")
    with portal(agent, BOUND) as desktop:
        asked(desktop, "BindShortcuts")


def test_the_window_offers_them_where_the_desktop_has_them(agent: Agent) -> None:
    assert isinstance(agent.desktop, X11)
    owner = Window(agent.desktop, agent.happed, agent.me)
    box = "Two shortcuts of the desktop do the same"
    with owner.read_out() as reader:
        opens_dialog(owner, reader)
        assert box not in reader.names("check box")
        owner.process.terminate()
    with portal(agent, BOUND), owner.read_out() as reader:
        opens_dialog(owner, reader)
        until(lambda: box in reader.names("check box"), "they are offered")
        reader.press(box)
        says(reader, "Shortcuts: Super+F12 for faster, Super+F11 to save power.")
        reader.press(box)
        until(lambda: shortcuts(agent) is None, "they are no longer wanted")


def test_the_trays_window_offers_them_when_the_portal_comes_later(agent: Agent) -> None:
    assert isinstance(agent.desktop, X11)
    owner = Window(agent.desktop, agent.happed, agent.me)
    box = "Two shortcuts of the desktop do the same"
    with tray_read_out(owner) as reader:
        opens_from_the_tray(owner)
        opens_dialog(owner, reader)
        assert box not in reader.names("check box")
        owner.key("Escape")
        until(lambda: FASTER not in reader.names("button"), "the dialog is closed")
        owner.key("Escape")
        until(lambda: not owner.focused(), "the window is closed")
        with portal(agent, BOUND):
            opens_from_the_tray(owner)
            opens_dialog(owner, reader)
            until(lambda: box in reader.names("check box"), "they are offered")
