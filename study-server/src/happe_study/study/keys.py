# SPDX-License-Identifier: GPL-2.0-or-later
"""The look of the two keys on every page. Pure."""

from typing import NamedTuple


class Look(NamedTuple):
    """A name for people, a colour --look-N of static/happe.css, and signs of a press that counted and of another."""

    name: str
    colour: int
    sign: str
    hollow: str


KEYS = {
    "performance": Look("faster", 6, "\N{BLACK UP-POINTING TRIANGLE}", "\N{WHITE UP-POINTING TRIANGLE}"),
    "power": Look("save power", 1, "\N{BLACK DOWN-POINTING TRIANGLE}", "\N{WHITE DOWN-POINTING TRIANGLE}"),
}


def key_name(key: str) -> str:
    """What pages call a key of the records."""
    return KEYS[key].name
