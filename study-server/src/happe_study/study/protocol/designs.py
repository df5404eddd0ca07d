# SPDX-License-Identifier: GPL-2.0-or-later
"""Williams designs: orders of treatments that are balanced for position and for first-order carry-over.

Source: E. J. Williams, "Experimental designs balanced for the estimation of residual effects of treatments", Australian
Journal of Scientific Research A 2 (1949), 149-168.
"""

Row = tuple[int, ...]  # treatments, numbered from 0, in the order of their periods


def williams(treatments: int) -> tuple[Row, ...]:
    """The sequences of a Williams design: as many as `treatments` if that is even (or 1), else twice as many.

    Over all sequences, each treatment is equally often in each period, and directly follows each other treatment
    equally often. An odd number needs a second square, the mirror image of the first. Raises ValueError below 1.
    """
    if treatments < 1:
        raise ValueError(f"{treatments} treatments: at least 1")
    first = _zigzag(treatments)
    square = tuple(tuple((treatment + shift) % treatments for treatment in first) for shift in range(treatments))
    if treatments % 2 == 0 or treatments == 1:
        return square
    return square + tuple(row[::-1] for row in square)


def _zigzag(treatments: int) -> Row:
    """0, 1, n-1, 2, n-2, ...: modulo an even n, all its steps differ."""
    return tuple((period + 1) // 2 if period % 2 else (-(period // 2)) % treatments for period in range(treatments))
