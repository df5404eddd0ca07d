# SPDX-License-Identifier: GPL-2.0-or-later
"""A participant's hands on the two keys: green when the game is slow, yellow now and then when it is smooth."""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING

from evdev import ecodes

from t61.stand_in import SLOW, SMOOTH, seen
from t61.waiting import spend

if TYPE_CHECKING:
    from pathlib import Path

    from t61.keyboard import Keyboard

GREEN, YELLOW = ecodes.KEY_PROG1, ecodes.KEY_PROG2
LOOK_S = 0.1
REACTION_S = (0.4, 0.8)
PATIENCE_S = 2.2  # how long a press takes to help: happed acts at the end of its second
CONTENT_S = (4.0, 6.0)  # how long the game is smooth before she wants to save power, once in a game


class Hands(threading.Thread):
    """Play whenever a game is on the screen."""

    def __init__(self, keyboard: Keyboard, screen: Path, seed: int) -> None:
        """Draw the participant's patience from the seed."""
        super().__init__(daemon=True)
        self.presses: list[int] = []
        self._keyboard = keyboard
        self._screen = screen
        self._chance = random.Random(seed)  # noqa: S311 - no secret

    def run(self) -> None:
        """Look at the screen, and press."""
        shown, since, pressed_at, saves = b"", 0.0, 0.0, True
        while True:
            spend(LOOK_S)
            now, before = time.monotonic(), shown
            shown = seen(self._screen)
            saves = saves or not shown
            if shown != before:
                since = now
                reaction, content = (self._chance.uniform(*bounds) for bounds in (REACTION_S, CONTENT_S))
            if shown == SLOW and now - since > reaction and now - pressed_at > PATIENCE_S:
                pressed_at = self._press(GREEN)
            elif shown == SMOOTH and saves and now - since > content:
                pressed_at, saves = self._press(YELLOW), False

    def _press(self, key: int) -> float:
        self._keyboard.press(key)
        self.presses.append(key)
        return time.monotonic()
