# SPDX-License-Identifier: GPL-2.0-or-later
"""From a matplotlib figure to an SVG that stands in a page or alone, has a title and a description, and can be dark.

matplotlib draws with the light colours of COLOURS, which every program that reads SVG understands. Where the reader
prefers dark, `dark_rules` replaces them: a page holds the rules once, a file brings its own. Nothing in the result
depends on the clock, on hash seeds or on the network.
"""

from __future__ import annotations

import io
import re
import warnings
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMESPACE = "http://www.w3.org/2000/svg"
XLINK = "{http://www.w3.org/1999/xlink}href"

# Name: (on a light card, on a dark one). Blue and orange differ for all common kinds of colour vision; every colour but
# the grid's has a contrast of at least 4.5 to 1 with its card.
COLOURS = {
    "ink": ("#1b1f24", "#e8edf2"),
    "muted": ("#4f5963", "#a9b4bf"),
    "grid": ("#d5dae0", "#3a434d"),
    "card": ("#fffffe", "#171c22"),
    "blue": ("#0b5394", "#7cb8ff"),
    "orange": ("#b0470a", "#f5a25d"),
}
LIGHT = {name: light for name, (light, _) in COLOURS.items()}

FONT_FAMILY = re.compile(r"font-family: [^;]*(; )?")

SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "happe",
    "svg.fonttype": "none",
    "path.simplify": False,  # every sample is there
    "text.parse_math": False,  # a name may hold dollars
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.edgecolor": LIGHT["muted"],
    "axes.labelcolor": LIGHT["ink"],
    "axes.titlecolor": LIGHT["ink"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LIGHT["grid"],
    "grid.linewidth": 0.7,
    "xtick.color": LIGHT["muted"],
    "ytick.color": LIGHT["muted"],
    "xtick.labelcolor": LIGHT["ink"],
    "ytick.labelcolor": LIGHT["ink"],
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "text.color": LIGHT["ink"],
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


@dataclass(frozen=True)
class Drawing:
    """A figure and what screen readers say of it. `key` is its file's name and begins its ids."""

    key: str  # [a-z0-9-]+
    title: str
    description: str
    figure: Figure
    heading: str = ""  # stands above it in the page, where several stand side by side


def variables(index: int) -> str:
    """Return CSS declarations of the colours, light (0) or dark (1)."""
    return " ".join(f"--{name}: {pair[index]};" for name, pair in COLOURS.items())


def dark_rules() -> str:
    """Return CSS that replaces the light colours.

    The selectors name no ancestor, for a mark that is used by reference has none that they could match.
    """
    rules = [
        f'[style*="{paint}: {light}"] {{ {paint}: {dark} !important; }}'
        for light, dark in COLOURS.values()
        for paint in ("fill", "stroke")
    ]
    return " ".join(rules)


def inline_svg(drawing: Drawing) -> str:
    """Return an SVG element for a page that holds `dark_rules`."""
    return _text(_element(drawing))


def svg_file(drawing: Drawing) -> str:
    """Return an SVG document that brings its own colours, font and card."""
    root = _element(drawing)
    style = ET.Element(f"{{{NAMESPACE}}}style")
    light, dark = COLOURS["card"]
    style.text = (
        f":root {{ color-scheme: light dark; background: {light}; font-family: sans-serif; }} "
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ background: {dark}; }} {dark_rules()} }}"
    )
    root.insert(2, style)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + _text(root) + "\n"


def _text(root: ET.Element) -> str:
    ET.register_namespace("", NAMESPACE)
    return ET.tostring(root, encoding="unicode")


def _element(drawing: Drawing) -> ET.Element:
    raw = io.StringIO()
    with mpl.rc_context(SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # text stays text, in the reader's fonts
        drawing.figure.savefig(raw, format="svg", metadata={"Date": None})
    root = ET.fromstring(raw.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in {f"{{{NAMESPACE}}}metadata", f"{{{NAMESPACE}}}style"}:
                parent.remove(child)
    for element in root.iter():
        _simplify(element)
    _rename_ids(root, drawing.key)
    _name(root, drawing)
    return root


def _name(root: ET.Element, drawing: Drawing) -> None:
    """Give the element its role, title and description; its size is the viewBox's, to be scaled."""
    del root.attrib["version"]
    root.attrib["class"] = "chart"
    root.attrib["role"] = "img"
    root.attrib["aria-labelledby"] = f"{drawing.key}-title {drawing.key}-desc"
    root.attrib["stroke-linejoin"] = "round"  # what matplotlib's style element said, which would leak into the page
    root.attrib["stroke-linecap"] = "butt"
    for index, (tag, text) in enumerate((("title", drawing.title), ("desc", drawing.description))):
        element = ET.Element(f"{{{NAMESPACE}}}{tag}", {"id": f"{drawing.key}-{tag}"})
        element.text = text
        root.insert(index, element)


def _simplify(element: ET.Element) -> None:
    """Leave the font to the surroundings, round to hundredths of a point, and drop the indentation."""
    if not (element.text or "").strip():
        element.text = None
    element.tail = None
    for name in set(element.attrib) & {"d", "x", "y", "width", "height", "transform"}:
        element.attrib[name] = re.sub(
            r"-?[0-9]+\.[0-9]{3,}", lambda found: f"{float(found[0]):.2f}", element.attrib[name]
        )
    if "style" in element.attrib:
        element.attrib["style"] = FONT_FAMILY.sub("", element.attrib["style"])


def _rename_ids(root: ET.Element, key: str) -> None:
    """Begin each id with the drawing's key, so that many can stand in one page, and drop those that nobody needs."""
    old = {element.attrib["id"] for element in root.iter() if "id" in element.attrib}
    used: set[str] = set()
    for element in root.iter():
        if XLINK in element.attrib:
            element.attrib["href"] = element.attrib.pop(XLINK)
        for name, value in element.attrib.items():
            found = re.fullmatch(r"#(.+)", value) if name == "href" else re.fullmatch(r"url\(#(.+)\)", value)
            if found and found[1] in old:
                used.add(found[1])
                element.attrib[name] = value.replace(found[1], f"{key}-{found[1]}")
    for element in root.iter():
        name = element.attrib.get("id", "")
        if name in used or name.startswith("data-"):
            element.attrib["id"] = f"{key}-{name}"
        else:
            element.attrib.pop("id", None)
