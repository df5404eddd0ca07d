# SPDX-License-Identifier: GPL-2.0-or-later
"""The two keys as shortcuts of real desktops. Plasma's and GNOME's portals give them; labwc has no such portal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent import Agent, window
from patience import until
from portals import GnomeWithPortal, LabwcWithPortal, plasma
from shells import LEFT_ALT, LEFT_META, Shell, shell
from test_shortcuts import indicator, shortcuts

if TYPE_CHECKING:
    from subprocess import Popen

    from happed_world import Happed
    from portals import WithPortal

pytestmark = pytest.mark.slow

F11, F12, KEY_A, KEY_C = 87, 88, 30, 46
META_F9 = 0x11000038  # in Qt's words


def playing(desktop: WithPortal, happed: Happed) -> Agent:
    """Put a game in front."""
    agent = Agent(desktop, happed).start()
    window(desktop, "torcs")
    agent.serves_for_good("torcs")
    agent.me.listen()
    return agent


def lessons(agent: Agent) -> list[str]:
    """Return the keys that taught something about the game, in order."""
    return [event[2] for event in agent.me("ListEvents", "ssxu", "", "torcs", 0, 100)]


def teaches(agent: Agent, function: int, key: str) -> None:
    """Press the function key with Meta, and wait until the game's profile has learned."""
    assert isinstance(agent.desktop, Shell)
    before = lessons(agent)
    agent.desktop.press(LEFT_META, function)
    assert agent.me.heard("KeyCounted") == [key]
    until(lambda: len(lessons(agent)) > len(before), "the game's profile learns")
    assert lessons(agent)[len(before) :] == [key]


def comes_again(desktop: WithPortal, portal: list[Popen[str]], agent: Agent, given: str) -> None:
    """Restart the portal, and wait until the agent reports the same shortcuts."""
    before = agent.log.count(given)
    for process in portal:
        desktop.stop(process)
    desktop.start_portal()
    until(lambda: agent.log.count(given) > before, "the same shortcuts are given again")


def test_plasma_gives_shortcuts_and_keeps_them(happed: Happed) -> None:
    with shell(plasma(), happed.world.address) as desktop:
        agent = playing(desktop, happed)
        indicator(agent, "--shortcuts", "on")
        portal = desktop.start_portal()
        until(lambda: shortcuts(agent) == {"performance": "Meta+F12", "power": "Meta+F11"}, "Plasma gives them")
        teaches(agent, F12, "performance")

        desktop.set_shortcut("performance", META_F9)
        until(lambda: shortcuts(agent) == {"performance": "Meta+F9", "power": "Meta+F11"}, "Plasma tells of the change")

        comes_again(desktop, portal, agent, "shortcuts: Meta+F9")
        teaches(agent, F11, "power")
        assert len(desktop.opened()) <= 1  # Plasma 6 opens System Settings for new shortcuts
        assert desktop.has_shortcuts()
        indicator(agent, "--shortcuts", "off")
        until(lambda: not desktop.has_shortcuts(), "Plasma has taken them back")


def says(desktop: GnomeWithPortal, letter: int) -> None:
    """Wait for GNOME's dialog, and press the letter of one of its buttons until that has worked."""
    until(desktop.asked, "GNOME asks")

    def gone() -> bool:
        desktop.press(LEFT_ALT, letter)
        return not desktop.asked()

    until(gone, "the dialog is gone")


def test_gnome_48_asks_once_and_keeps_the_shortcuts(happed: Happed) -> None:
    with shell(GnomeWithPortal, happed.world.address) as desktop:
        desktop.switch_extension(on=True)
        agent = playing(desktop, happed)
        portal = desktop.start_portal()
        indicator(agent, "--shortcuts", "on")
        says(desktop, KEY_C)
        until(lambda: shortcuts(agent) is None, "they are no longer wanted")

        indicator(agent, "--shortcuts", "on")
        says(desktop, KEY_A)
        until(lambda: shortcuts(agent) == {"performance": "Super+F12", "power": "Super+F11"}, "GNOME gives them")
        agent.serves("torcs")
        teaches(agent, F12, "performance")

        desktop.set_shortcuts(performance="<Super>F9", power="<Super>F11")
        until(lambda: shortcuts(agent) == {"performance": "Super+F9", "power": "Super+F11"}, "GNOME tells of it")
        comes_again(desktop, portal, agent, "shortcuts: Super+F9")  # GNOME does not ask
        teaches(agent, F11, "power")
        assert desktop.has_shortcut("<Super>F11")
        indicator(agent, "--shortcuts", "off")
        until(lambda: not desktop.has_shortcut("<Super>F11"), "GNOME has taken them back")


def test_labwc_without_shortcuts_says_so(happed: Happed) -> None:
    with shell(LabwcWithPortal, happed.world.address) as desktop:
        agent = playing(desktop, happed)
        desktop.start_portal()
        indicator(agent, "--shortcuts", "on")
        until(lambda: "shortcuts: " in agent.log, "the agent says why there are none")
