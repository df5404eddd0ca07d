# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures the contrast of the overlay's text in a picture of the screen (WCAG 2.2)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PIL import Image

Pixel = tuple[int, int, int]
CORNER = 10  # pixels of the plate's round corners
RIM = 3  # pixels of the plate's rim, which has no text


def linear(channel: int) -> float:
    """Return the linear light of an sRGB channel, 0 to 1."""
    share = channel / 255
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


def luminance(pixel: Pixel) -> float:
    """Return the relative luminance of a colour."""
    red, green, blue = (linear(channel) for channel in pixel)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: float, other: float) -> float:
    """Return the contrast of two luminances, 1 to 21."""
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def pixels(picture: Image.Image, box: tuple[int, int, int, int]) -> list[Pixel]:
    """Return the colours in a rectangle."""
    data = picture.crop(box).tobytes()
    return list(zip(data[::3], data[1::3], data[2::3], strict=True))


def plate(picture: Image.Image, box: tuple[int, int, int, int]) -> list[Pixel]:
    """Return the colours of the plate's upper and lower rim, which have no text."""
    left, top, right, bottom = box
    upper = (left + CORNER, top + 1, right - CORNER, top + RIM)
    lower = (left + CORNER, bottom - RIM, right - CORNER, bottom - 1)
    return pixels(picture, upper) + pixels(picture, lower)


def writing(picture: Image.Image, box: tuple[int, int, int, int]) -> Pixel:
    """Return the colour of the text: the most frequent one that is not the plate's."""
    left, top, right, bottom = box
    rim = [luminance(colour) for colour in plate(picture, box)]
    inside = Counter(pixels(picture, (left + CORNER, top + RIM, right - CORNER, bottom - RIM)))
    others = {colour: n for colour, n in inside.items() if not min(rim) - 0.02 <= luminance(colour) <= max(rim) + 0.02}
    return max(others, key=lambda colour: others[colour])


def least(colour: Pixel, behind: Iterable[Pixel]) -> float:
    """Return the least contrast of a colour to the colours behind it."""
    return min(contrast(luminance(colour), luminance(other)) for other in behind)
