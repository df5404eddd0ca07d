# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of a run that a page shows, in seconds from the run's start, and the links to other parts. Pure."""

import math
from dataclasses import dataclass

from happe_study.base.problems import FieldError, unprocessable

LEAST = 1e-4  # seconds: ten samples at 100 kS/s
CLOSER = 4
DIGITS = 6
BESIDE = 10.0  # seconds on each side of a moment


@dataclass(frozen=True)
class Window:
    """The part from `begin` to `end` of a run of `length` seconds."""

    begin: float
    end: float
    length: float

    @property
    def is_whole(self) -> bool:
        """Whether the window is the whole run."""
        return self.begin <= 0 and self.end >= self.length

    @property
    def width(self) -> float:
        """The length in seconds."""
        return self.end - self.begin

    def zoomed(self, times: float) -> "Window":
        """The window `times` as long around the same middle, kept within the run."""
        width = min(max(self.width * times, LEAST), self.length)
        return _within(self.begin + (self.width - width) / 2, width, self.length)

    def moved(self, share: float) -> "Window":
        """The window moved later by a share of its length, kept within the run."""
        return _within(self.begin + share * self.width, self.width, self.length)

    def query(self) -> dict[str, str]:
        """The window as address parameters; empty for the whole run."""
        return {} if self.is_whole else {"from": written(self.begin), "to": written(self.end)}

    def ways(self) -> list[tuple[str, dict[str, str] | None]]:
        """The links to other windows: the text, and the parameters; None where a link would lead nowhere."""
        closer, further = self.zoomed(1 / CLOSER), self.zoomed(CLOSER)
        earlier, later = self.moved(-0.5), self.moved(0.5)
        return [
            ("Zoom in", closer.query() if closer.width < self.width else None),
            ("Zoom out", further.query() if not self.is_whole else None),
            ("Earlier", earlier.query() if earlier.begin < self.begin else None),
            ("Later", later.query() if later.end > self.end else None),
            ("Whole run", {} if not self.is_whole else None),
        ]


def written(seconds: float) -> str:
    """Seconds as text for an address or a field."""
    return f"{seconds:.{DIGITS}f}".rstrip("0").rstrip(".") or "0"


def around(moment: float, length: float) -> dict[str, str]:
    """The address parameters of the window around a moment, in a run of `length` seconds."""
    return Window(max(moment - BESIDE, 0.0), min(moment + BESIDE, length), length).query()


def window(begin: str, end: str, length: float) -> Window:
    """The window from the texts of two parameters; "" stands for the run's start or end. Raises Problem 422."""
    first, last = _number("from", begin, 0.0, length), _number("to", end, length, length)
    if last - first < LEAST * (1 - 1e-6):
        detail = f"Must be at least {written(LEAST)} seconds after the start, at most {written(length)}."
        raise unprocessable("This is not a part of the run.", FieldError("/to", detail))
    return Window(first, last, length)


def _number(field: str, text: str, otherwise: float, length: float) -> float:
    if not text:
        return otherwise
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= length + 10**-DIGITS:
        detail = f"Must be a number of seconds from 0 to {written(length)}."
        raise unprocessable("This is not a part of the run.", FieldError(f"/{field}", detail))
    return min(value, length)


def _within(begin: float, width: float, length: float) -> Window:
    begin = min(max(begin, 0.0), length - width)
    return Window(begin, min(begin + width, length), length)
