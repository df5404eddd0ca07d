# SPDX-License-Identifier: GPL-2.0-or-later
"""The session agent in real GNOME Shell and KWin, before the real happed."""

import random
from pathlib import Path

import pytest

from agent import Agent, window
from happed_world import Happed
from patience import PATIENCE_S, until
from shells import Gnome, KWin, Shell, shell

pytestmark = [pytest.mark.slow, pytest.mark.long]

CHANGES = 1000


def serves_boxed_windows(agent: Agent) -> None:
    """Put windows of programs in PID namespaces on the desktop. happed serves each."""
    for platform in ("wayland", "xcb"):
        window(agent.desktop, f"boxed-{platform}", platform, boxed=True)
        agent.serves(f"boxed-{platform}")


def serves_the_last_of_a_thousand_changes(agent: Agent) -> None:
    """Activate the four windows in turn, and then ask the shell which one is in front.

    XWayland confirms the focus of its windows late. So KWin may put one of them in front after the last one that the
    test asked for.
    """
    desktop = agent.desktop
    assert isinstance(desktop, Shell)
    randomly = random.Random(7)
    for _ in range(CHANGES // 250):
        desktop.activate(*randomly.choices(["native", "ancient", "boxed-wayland", "boxed-xcb"], k=250))
        until(lambda: agent.me.get("Application") == desktop.active(), "what is in front is served")
        agent.is_idle()
        assert agent.me.get("Application") == desktop.active()


def outlives_the_shell(agent: Agent) -> None:
    """Kill the shell: the agent reports that it has no source, and continues until the shell is back."""
    desktop = agent.desktop
    assert isinstance(desktop, Shell)
    desktop.kill_shell()
    agent.serves("desktop")
    until(lambda: "no Wayland compositor answers" in agent.log, "the agent has looked for another source")
    desktop.start_shell()
    window(desktop, "later")
    agent.serves("later")


def test_the_agent_follows_gnome_shell_and_its_extension(happed: Happed) -> None:
    """One shell runs all parts, because it takes seconds to start."""
    with shell(Gnome, happed.world.address) as desktop:
        agent = Agent(desktop, happed).start()
        until(lambda: "in front: X11" in agent.log, "XWayland is asked while the extension is off")
        window(desktop, "native")
        window(desktop, "ancient", "xcb")
        desktop.activate("ancient")  # a busy shell may map the other window last
        agent.serves("ancient")

        desktop.switch_extension(on=True)
        until(lambda: "in front: GNOME" in agent.log, "the extension is believed once it is on")
        for name in ("native", "ancient"):
            desktop.activate(name)
            agent.serves(name)
        serves_boxed_windows(agent)
        serves_the_last_of_a_thousand_changes(agent)

        desktop.activate("native")
        agent.serves("native")
        desktop.switch_extension(on=False)
        agent.serves("desktop")
        desktop.switch_extension(on=True)
        agent.serves("native")

        outlives_the_shell(agent)


def test_the_agent_follows_kwin(happed: Happed) -> None:
    """One KWin runs all parts, because it takes seconds to start."""
    with shell(KWin, happed.world.address) as desktop:
        agent = Agent(desktop, happed).start()
        until(lambda: "in front: KWin" in agent.log, "KWin takes the script")
        window(desktop, "native")
        agent.serves("native")
        window(desktop, "ancient", "xcb")
        agent.serves("ancient")
        serves_boxed_windows(agent)
        serves_the_last_of_a_thousand_changes(agent)
        outlives_the_shell(agent)

        script = Path(desktop.environment["XDG_RUNTIME_DIR"]) / "happe-focus.js"
        assert script.exists()
        agent.process.terminate()
        assert agent.process.wait(PATIENCE_S) == 0
        assert not script.exists()
