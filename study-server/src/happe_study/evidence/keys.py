# SPDX-License-Identifier: GPL-2.0-or-later
"""The look of the two keys on every page: name, colour and shape. Pure."""

from __future__ import annotations

from typing import NamedTuple


class Look(NamedTuple):
    """A name for people, a class of static/charts.css, and a shape of happe_study.base.charts."""

    name: str
    colour: str
    shape: str


KEYS = {"performance": Look("faster", "look-6", "up"), "power": Look("save power", "look-1", "down")}


def key_name(key: str) -> str:
    """What pages call a key of the records."""
    return KEYS[key].name
