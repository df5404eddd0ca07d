# SPDX-License-Identifier: GPL-2.0-or-later
"""The session agent under sway, by wlroots' protocol, with Wayland and XWayland clients, before the real happed."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, window
from desktop import Wayland, wayland
from happed_world import MY_SESSION, Happed, World
from patience import until

pytestmark = pytest.mark.slow

CHANGES = 1000


@pytest.fixture
def desktop() -> Iterator[Wayland]:
    """A sway with XWayland."""
    with wayland(xwayland="enable") as running:
        yield running


def x_display(desktop: Wayland) -> str:
    """Return the DISPLAY of sway's XWayland, which sway tells only the programs that it starts."""
    file = Path(desktop.environment["HOME"]) / "display"
    desktop.sway(f'exec "echo $DISPLAY >{file}.new && mv {file}.new {file}"')
    until(file.exists, "sway starts a program")
    return file.read_text().strip()


def containers(desktop: Wayland) -> dict[int, int]:
    """Return the number of each process's container."""
    found: dict[int, int] = {}

    def visit(node: dict[str, Any]) -> None:
        if "pid" in node:
            found[node["pid"]] = node["id"]
        for child in node["nodes"] + node["floating_nodes"]:
            visit(child)

    visit(json.loads(desktop.ask("swaymsg", "-r", "-t", "get_tree")))
    return found


def test_the_last_of_a_thousand_changes_is_served(desktop: Wayland, happed: Happed) -> None:
    display = x_display(desktop)
    agent = Agent(desktop, happed).start(DISPLAY=display)
    assert agent.me.get("Application") == "desktop"
    pids = {window(desktop, name): name for name in ("alpha", "beta")}
    pids[window(desktop, "gamma", "xcb", DISPLAY=display)] = "gamma"
    agent.serves("gamma")
    number = {pids[pid]: container for pid, container in containers(desktop).items()}
    assert len(number) == 3
    randomly = random.Random(7)
    done = 0
    while done < CHANGES:
        names = randomly.choices([*number], k=min(randomly.randint(1, 250), CHANGES - done))
        desktop.sway("; ".join(f"[con_id={number[name]}] focus" for name in names))
        done += len(names)
        agent.serves_for_good(names[-1])
    desktop.sway("workspace empty")
    agent.serves("desktop")


def test_who_comes_back_to_the_machine_finds_what_is_in_front_now(
    desktop: Wayland, happed: Happed, world: World
) -> None:
    agent = Agent(desktop, happed).start()
    first = window(desktop, "first")
    agent.serves("first")

    world.session(MY_SESSION, LockedHint=("b", True))
    agent.me.sees("State", "released")
    world.session(MY_SESSION, LockedHint=("b", False))
    agent.serves("first")

    world.activate("other")
    until(lambda: agent.me.get("User") == "", "another is served")
    window(desktop, "second")
    agent.is_idle()
    world.activate(MY_SESSION)
    agent.serves("second")
    desktop.sway(f"[con_id={containers(desktop)[first]}] focus")
    agent.serves("first")


def test_it_goes_on_when_happed_and_when_sway_starts_anew(desktop: Wayland, happed: Happed) -> None:
    agent = Agent(desktop, happed).start()
    window(desktop, "game")
    agent.serves("game")
    happed.kill()
    agent.is_idle()
    happed.start()
    agent.serves("game")

    desktop.restart_sway()
    agent.serves("desktop")
    window(desktop, "another")
    agent.serves("another")
    # While sway starts slowly, the agent reports what it lacks.
    until(lambda: agent.log.endswith("in front: wlr-foreign-toplevel\n"), "it has found the new sway")
