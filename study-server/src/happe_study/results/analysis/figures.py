# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's figures A.1, A.4 and A.5, and others of the report: from plain data to an SVG file.

They draw the data that results.json has. They do not depend on the clock, random numbers or the host's fonts: the font
is matplotlib's own DejaVu Sans. Blue and orange differ for all common kinds of colour vision, and marks and lines
differ too.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from happe_study.results.analysis.tidy import Floats

Drawn = Mapping[str, Any]  # lists of numbers, None for a missing one, and texts


WIDTH = 7.6  # inches
INK, QUIET, GRID, BLUE, ORANGE = "#1b1f24", "#4f5963", "#d5dae0", "#0b5394", "#b0470a"
SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.edgecolor": QUIET,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "legend.frameon": False,
    "svg.hashsalt": "happe",
    "text.color": INK,
    "text.parse_math": False,  # a name may hold dollars
}
LOOKS: tuple[dict[str, Any], dict[str, Any]] = (
    {"color": ORANGE, "marker": "s", "markerfacecolor": "white"},
    {"color": BLUE, "marker": "o"},
)
MARK: dict[str, Any] = {"linestyle": "none", "markersize": 4, "elinewidth": 1, "capsize": 2}

P = ParamSpec("P")


def styled(draw: Callable[P, Figure]) -> Callable[P, bytes]:
    """Make a function draw an SVG file with SETTINGS, independent of other settings."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> bytes:
        file = io.BytesIO()
        with mpl.rc_context({**mpl.rcParamsDefault, **SETTINGS}):
            draw(*args, **kwargs).savefig(file, format="svg", metadata={"Date": None, "Creator": None})
        return file.getvalue()

    return drawn


def _figure(height: float) -> Figure:
    return Figure(figsize=(WIDTH, height), layout="constrained")


@styled
def satisfaction_by_level(people: Mapping[str, Mapping[str, Drawn]], scale: tuple[int, int]) -> Figure:
    """Figure A.1: a row for each participant, a column for each application, which is the same for all.

    `ratings` at each level, and CPU 0's mean utilisation `busy_percent`, dashed.
    """
    applications = list(next(iter(people.values())))
    figure = _figure(0.6 + 0.85 * len(people))
    panels = figure.subplots(len(people), len(applications), sharex=True, sharey=True, squeeze=False)
    for row, (person, found) in zip(panels, people.items(), strict=True):
        for panel, application in zip(row, applications, strict=True):
            _at_levels(panel, found[application])
            panel.set_ylim(scale[0] - 0.3, scale[1] + 0.3)
            panel.set_yticks([scale[0], sum(scale) // 2, scale[1]])
        row[0].set_ylabel(person, rotation=0, ha="right", va="center", family="monospace")
    for panel, application in zip(panels[0], applications, strict=True):
        panel.set_title(_short(application, LONGEST_TITLE))
    figure.supxlabel("frequency level, 1 is the lowest", fontsize=8.5)
    figure.suptitle(
        "rating (blue line, left axis) and CPU utilisation (orange, dashed; the panel is 0 to 100 %)", fontsize=8.5
    )
    return figure


def _at_levels(panel: Axes, found: Drawn) -> None:
    levels = np.arange(1, len(found["ratings"]) + 1)
    busy = panel.twinx()
    busy.set(ylim=(-5, 105), yticks=[])
    busy.grid(visible=False)
    percent = _floats(found["busy_percent"])
    busy.plot(levels, percent, color=ORANGE, linestyle="--", marker="s", markersize=2.5, linewidth=1)
    panel.plot(levels, _floats(found["ratings"]), color=BLUE, marker="o", markersize=3, linewidth=1.2)
    panel.set_xticks(levels)


LONGEST_TITLE = 20  # characters of a panel's title


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}\u2026"


@styled
def normal_plot(ordered: Floats, expected: Floats) -> Figure:
    """Residuals in order beside the normal's quantiles; on the line, they are normal."""
    figure = _figure(3.2)
    panel = figure.subplots()
    panel.plot(expected, expected, color=QUIET, linewidth=0.8)
    panel.plot(expected, ordered, color=BLUE, marker="o", markersize=2.5, linestyle="none")
    panel.set_xlabel("normal quantile")
    panel.set_ylabel("residual, standard deviations")
    return figure


@styled
def flow(boxes: Sequence[tuple[str, str]]) -> Figure:
    """CONSORT's flow: boxes below each other. A box beside them has the losses at that point ("": none)."""
    heights = [0.2 + 0.16 * max(text.count("\n") + 1, aside.count("\n") + 1) for text, aside in boxes]
    figure = _figure(sum(heights) + 0.25 * len(boxes))
    panel = figure.subplots()
    panel.axis("off")
    panel.set(xlim=(0, 10), ylim=(-sum(heights) - 0.25 * (len(boxes) - 1), 0.05))
    look: dict[str, Any] = {"boxstyle": "square,pad=0.35", "facecolor": "white", "edgecolor": QUIET, "linewidth": 0.8}
    top = 0.0
    for n, ((text, aside), height) in enumerate(zip(boxes, heights, strict=True)):
        middle = top - height / 2
        if n:
            arrow = {"arrowstyle": "->", "color": QUIET}
            panel.annotate("", (2.6, top - 0.02), (2.6, top + 0.3), arrowprops=arrow)
        if aside:
            panel.annotate("", (5.3, middle), (2.6, middle), arrowprops={"arrowstyle": "->", "color": QUIET})
            panel.text(5.35, middle, aside, va="center", ha="left", fontsize=7.5, bbox=look)
        panel.text(2.6, middle, text, va="center", ha="center", bbox=look, zorder=3)
        top -= height + 0.25
    return figure


@styled
def by_user(participants: Sequence[str], conditions: Sequence[Drawn], scale: tuple[int, int]) -> Figure:
    """Figure A.4: participants' mean power and rating under two conditions. Bars: standard deviations, on the scale."""
    figure = _figure(5.2)
    above, below = figure.subplots(2, 1, sharex=True)
    places = np.arange(1, len(participants) + 1)
    for found, look, aside in zip(conditions, LOOKS, (-0.13, 0.13), strict=True):
        rating, sd = _floats(found["rating_mean"]), np.nan_to_num(_floats(found["rating_sd"]))
        on_scale = np.minimum(sd, rating - scale[0]), np.minimum(sd, scale[1] - rating)
        for panel, mean, spread in (
            (above, _floats(found["power_mean_w"]), np.nan_to_num(_floats(found["power_sd_w"]))),
            (below, rating, np.maximum(0, on_scale)),
        ):
            panel.errorbar(places + aside, mean, spread, **MARK, **look, label=found["condition"])
    above.set_title("power, W")
    below.set_title("rating")
    below.set_ylim(scale[0] - 0.5, scale[1] + 0.9)
    below.set_yticks(range(scale[0], scale[1] + 1))
    below.set_xticks(places, participants, rotation=90, family="monospace", fontsize=6.5)
    above.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0.1)
    return figure


@styled
def frequency_over_time(courses: Sequence[Drawn]) -> Figure:
    """Figure A.5: one participant's frequency over time, a panel for each run. `seconds` are ends of sample periods."""
    figure = _figure(0.4 + 1.25 * len(courses))
    panels = figure.subplots(len(courses), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for panel, course in zip(panels, courses, strict=True):
        color = BLUE if course["condition"].endswith("-HAPPE") else ORANGE
        ghz = _floats(course["khz"]) / 1e6
        panel.plot(course["seconds"], ghz, drawstyle="steps-pre", color=color, linewidth=1.4)
        panel.set_title(f"{course['application']}, {course['condition']}: frequency, GHz")
        panel.set_ylim(0, None)
    panels[-1].set_xlabel("time, s")
    return figure


def _floats(values: Sequence[float | None]) -> Floats:
    """Numbers as an array; NaN for None."""
    return np.array(values, dtype=float)
