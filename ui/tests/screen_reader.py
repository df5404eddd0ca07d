# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the elements that a program shows to a screen reader, over AT-SPI.

usage: python3 screen_reader.py NAME           with Debian's python3-gi: prints the visible elements as JSON
       python3 screen_reader.py NAME press ELEMENT     presses the element of this name
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi  # noqa: E402 - after the version above

STATES = (Atspi.StateType.CHECKED, Atspi.StateType.FOCUSABLE, Atspi.StateType.FOCUSED, Atspi.StateType.SENSITIVE)


def elements(parent: Any) -> Iterator[Any]:  # noqa: ANN401 - the library has no types
    """Return the visible elements below an element, in order."""
    for at in range(parent.get_child_count()):
        child = parent.get_child_at_index(at)
        if child is not None and child.get_state_set().contains(Atspi.StateType.VISIBLE):
            yield child
            yield from elements(child)


def programs(name: str) -> Iterator[Any]:
    """Return the programs of this name."""
    desktop = Atspi.get_desktop(0)
    for at in range(desktop.get_child_count()):
        if (child := desktop.get_child_at_index(at)) is not None and child.get_name() == name:
            yield child


def described(element: Any) -> dict[str, Any]:  # noqa: ANN401 - the same
    """Return the properties of an element."""
    states = element.get_state_set()
    return {
        "role": element.get_role_name().removeprefix("push "),  # AT-SPI before 2.54 says "push button"
        "name": element.get_name(),
        "description": element.get_description(),
        "states": [state.value_nick for state in STATES if states.contains(state)],
    }


program, *press = sys.argv[1:]
found = [element for each in programs(program) for element in elements(each)]
if press:
    [element] = [element for element in found if element.get_name() == press[1] and element.get_n_actions() > 0]
    element.do_action(0)
else:
    print(json.dumps([described(element) for element in found]))
