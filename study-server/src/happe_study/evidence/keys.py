# SPDX-License-Identifier: GPL-2.0-or-later
"""How each of the two keys looks: one colour and one shape, on every page. Pure."""

from __future__ import annotations

from typing import NamedTuple


class Look(NamedTuple):
    """A class of static/charts.css, and a shape of happe_study.base.charts."""

    colour: str
    shape: str


KEYS = {"performance": Look("look-6", "up"), "power": Look("look-1", "down")}
