# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures: functions from data to a matplotlib figure. Widths are in inches: 3.6 is a phone's.

Artists that stand for data have an id beginning with `data-`, which the SVG keeps. Frequencies stand on the steps of
their ladder, evenly spaced, so that 2.2 and 2.3 GHz can be told apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from svg import LIGHT, SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

    from traces import Trace

NARROW = 3.6
WIDE = 7.8
INK, MUTED, CARD = LIGHT["ink"], LIGHT["muted"], LIGHT["card"]
BLUE, ORANGE = LIGHT["blue"], LIGHT["orange"]
LONGEST_LABEL = 20
KHZ_PER_GHZ = 1e6
LEVELS = 10  # of a UAFP
KEYS = {"performance": ("^", BLUE), "power": ("v", ORANGE)}

# How lines and their marks look, in a panel and in its legend.
Look = dict[str, Any]
RATING: Look = {"color": BLUE, "marker": "o", "markersize": 4, "linewidth": 1.4}
BUSY: Look = {
    "color": ORANGE,
    "marker": "s",
    "markersize": 3,
    "markerfacecolor": CARD,
    "linewidth": 1,
    "linestyle": "--",
}
TRAINED: Look = {**BUSY, "markersize": 5.5, "markerfacecolor": "none", "linewidth": 1.1}
FINAL: Look = {**RATING, "markersize": 2.8}
CPU0: Look = {"color": BLUE, "linewidth": 1.3}
CPU1: Look = {"color": ORANGE, "linewidth": 1.3, "linestyle": "--"}
MEAN: Look = {"linestyle": "none", "markersize": 4.5, "elinewidth": 1, "capsize": 1.8}
MEANS: tuple[Look, Look] = (
    {**MEAN, "color": ORANGE, "marker": "s", "markerfacecolor": CARD},
    {**MEAN, "color": BLUE, "marker": "o"},
)
COUNTED: Look = {"linestyle": "none", "markersize": 6.5}
REPEATED: Look = {"linestyle": "none", "markersize": 4, "markerfacecolor": CARD, "markeredgewidth": 0.8}

P = ParamSpec("P")


@dataclass(frozen=True)
class Satisfaction:
    """What one user said of one application at each frequency, lowest first, and how busy CPU 0 was."""

    user: int
    category: str
    ratings: tuple[int, ...]  # 1 to 5
    utilisation_percent: tuple[float, ...]


@dataclass(frozen=True)
class UserMeans:
    """A quantity of one condition: per user the mean over the applications and its sample standard deviation."""

    condition: str
    means: tuple[float, ...]
    sds: tuple[float, ...]


@dataclass(frozen=True)
class Profile:
    """A user's ten UAFP values in kHz for an application, after training and at the end."""

    application: str
    training_khz: tuple[int, ...]
    final_khz: tuple[int, ...]


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Let a function draw in the report's style, whatever the process's settings are."""

    @wraps(draw)
    def inner(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with mpl.rc_context(SETTINGS):
            return draw(*args, **kwargs)

    return inner


def short(name: str) -> str:
    """Return a name that fits a figure."""
    return name if len(name) <= LONGEST_LABEL else name[: LONGEST_LABEL - 1] + "…"


def ghz(khz: float) -> str:
    """Return a frequency as people write it, e.g. 2.3."""
    text = f"{khz / KHZ_PER_GHZ:.3f}".rstrip("0")
    return text + "0" if text.endswith(".") else text


@styled
def satisfaction(users: Sequence[Satisfaction]) -> Figure:
    """Draw a panel for each user: rating on the left axis, utilisation on the right, over the frequency levels."""
    rows = (len(users) + 1) // 2
    figure = _figure(NARROW, 0.95 + 0.98 * rows)
    axes = figure.subplots(rows, 2, squeeze=False, sharex=True)
    for index, panel in enumerate(axes.flat):
        if index >= len(users):
            panel.set_visible(False)
            continue
        first, second = index % 2 == 0, index % 2 == 1 or index == len(users) - 1
        _satisfaction_panel(panel, users[index], left_labels=first, right_labels=second)
        panel.tick_params(labelbottom=index + 2 >= len(users))
    figure.supxlabel("frequency level, 1 is the lowest", fontsize=8.5)
    handles = [Line2D([], [], **RATING, label="rating (left)"), Line2D([], [], **BUSY, label="CPU 0 busy (right)")]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure


def _satisfaction_panel(panel: Axes, user: Satisfaction, *, left_labels: bool, right_labels: bool) -> None:
    levels = np.arange(1, len(user.ratings) + 1)
    panel.set_title(f"{user.user}: {user.category}", fontsize=8.5, pad=4)
    panel.set(xlim=(0.6, len(levels) + 0.4), ylim=(0.7, 5.3), xticks=levels, yticks=[1, 3, 5])
    panel.tick_params(labelleft=left_labels, length=2)
    busy = panel.twinx()
    busy.set_xticks(levels)
    busy.grid(visible=True, axis="both")
    busy.set(ylim=(-7.5, 107.5), yticks=[0, 50, 100])
    busy.set_yticklabels(["0", "50", "100 %"])
    panel.grid(visible=False)  # the other axes' grid lies below both lines, and on the same values
    busy.tick_params(labelright=right_labels, right=right_labels, length=2)
    busy.plot(levels, user.utilisation_percent, **BUSY, gid=f"data-utilisation-{user.user}")
    panel.plot(levels, user.ratings, **RATING, gid=f"data-rating-{user.user}")
    panel.set_zorder(busy.get_zorder() + 1)


@styled
def training_run(trace: Trace, width: float) -> Figure:
    """Draw both CPUs' utilisation over the frequency and the key presses of one run."""
    figure = _figure(width, 4.3)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1, 1.15])
    times = np.asarray(trace.t_s)
    percent = np.asarray(trace.util_percent)
    above.set(ylim=(-3, 106), yticks=[0, 25, 50, 75, 100])
    above.set_title("CPU utilisation, %")
    above.plot(times, percent[:, 0], **CPU0, label="CPU 0", gid="data-cpu0")
    above.plot(times, percent[:, 1], **CPU1, label="CPU 1", gid="data-cpu1")
    above.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderpad=0, borderaxespad=0.2)
    below.set_title("frequency, GHz")
    _frequency(below, trace, "data-frequency")
    _presses(below, trace)
    below.set_xlabel("time, s")
    columns = 3 if width > NARROW else 1
    figure.legend(handles=_press_legend(), loc="outside lower center", ncols=columns, handletextpad=0.3)
    return figure


@styled
def frequency_over_time(conditions: Sequence[tuple[str, Trace]]) -> Figure:
    """Draw the frequency over time, a panel for each condition, with the key presses where there are any."""
    figure = _figure(NARROW, 0.5 + 1.55 * len(conditions))
    panels = figure.subplots(len(conditions), 1, sharex=True, squeeze=False)[:, 0]
    for panel, (condition, trace) in zip(panels, conditions, strict=True):
        panel.set_title(f"{condition}: frequency, GHz")
        _frequency(panel, trace, f"data-frequency-{condition}", color=BLUE if "HAPPE" in condition else ORANGE)
        if trace.presses:
            _presses(panel, trace)
    panels[-1].set_xlabel("time, s")
    return figure


def _frequency(panel: Axes, trace: Trace, gid: str, color: str = INK) -> None:
    """Draw steps; a sample's frequency is drawn over the period that ends with it."""
    times = np.concatenate([[0.0], trace.t_s])
    steps = np.interp(trace.khz, trace.ladder_khz, np.arange(len(trace.ladder_khz)))
    panel.plot(times, np.concatenate([steps[:1], steps]), drawstyle="steps-pre", color=color, linewidth=1.5, gid=gid)
    panel.set(ylim=(-0.35, len(trace.ladder_khz) - 0.65), xlim=(0, max(trace.t_s)))
    _ghz_axis(panel, trace.ladder_khz)
    panel.xaxis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 3, 6, 10], integer=True))


def _ghz_axis(panel: Axes, ladder_khz: Sequence[int]) -> None:
    panel.set_yticks(np.arange(len(ladder_khz)), [ghz(khz) for khz in ladder_khz])


def _presses(panel: Axes, trace: Trace) -> None:
    """Mark each press above the ladder: filled and with a line down if the governor counts it, else small and below."""
    bottom, _ = panel.get_ylim()
    steps = len(trace.ladder_khz)
    edge, lane, repeats = steps - 0.45, steps + 0.55, steps
    panel.set_ylim(bottom, lane + 0.55)
    panel.axhline(edge, color=MUTED, linewidth=0.6)
    panel.set_yticks([*range(steps), lane], [*map(ghz, trace.ladder_khz), "keys"])
    for key, (marker, color) in KEYS.items():
        pressed = [press for press in trace.presses if press.key == key]
        for counts, height, look, name in ((True, lane, COUNTED, "presses"), (False, repeats, REPEATED, "repeats")):
            times = [press.t_s for press in pressed if press.counts == counts]
            if not times:
                continue
            marks = {"color": color, **look, "marker": marker, "clip_on": False, "gid": f"data-{name}-{key}"}
            panel.plot(times, [height] * len(times), **marks)
            if counts:
                panel.vlines(times, bottom, edge, color=color, linewidth=0.8, linestyle=":", zorder=1)


def _press_legend() -> list[Line2D]:
    marks = [
        Line2D([], [], **COUNTED, marker=marker, color=color, label=f"{key} key")
        for key, (marker, color) in KEYS.items()
    ]
    return [*marks, Line2D([], [], **REPEATED, marker="^", color=MUTED, label="repeat within 1 s, not counted")]


@styled
def per_user(title: str, limits: tuple[float, float] | None, conditions: Sequence[UserMeans]) -> Figure:
    """Draw a row for each user: for each of two conditions the mean, with a bar of one standard deviation each way."""
    count = len(conditions[0].means)
    figure = _figure(NARROW, 1.0 + 0.215 * count)
    panel = figure.subplots()
    rows = np.arange(1, count + 1)
    for condition, look, offset in zip(conditions, MEANS, (-0.19, 0.19), strict=True):
        drawn = panel.errorbar(condition.means, rows + offset, xerr=condition.sds, **look, label=condition.condition)
        drawn.lines[0].set_gid(f"data-means-{condition.condition}")
        drawn.lines[2][0].set_gid(f"data-bars-{condition.condition}")
    panel.set(ylim=(count + 0.7, 0.3), yticks=rows, xlabel=title, ylabel="user")
    panel.grid(visible=False, axis="y")
    for row in rows[:-1]:
        panel.axhline(row + 0.5, color=LIGHT["grid"], linewidth=0.5, zorder=0)
    panel.tick_params(axis="y", length=0)
    if limits is not None:
        panel.set_xlim(*limits)
    figure.legend(loc="outside upper center", ncols=2, handletextpad=0.3)
    return figure


@styled
def profiles(ladder_khz: Sequence[int], shown: Sequence[Profile]) -> Figure:
    """Draw a panel for each application: ten steps after training and at the end."""
    rows = (len(shown) + 1) // 2
    figure = _figure(NARROW, 0.95 + 1.35 * rows)
    panels = figure.subplots(rows, 2, squeeze=False, sharex=True, sharey=True)
    for index, panel in enumerate(panels.flat):
        if index >= len(shown):
            panel.set_visible(False)
            continue
        _profile_panel(panel, ladder_khz, shown[index], index)
        panel.tick_params(labelbottom=index + 2 >= len(shown), labelleft=index % 2 == 0)
    figure.supxlabel("utilisation level: tenths of full speed", fontsize=8.5)
    figure.supylabel("frequency, GHz", fontsize=8.5)
    handles = [Line2D([], [], **TRAINED, label="after T-HAPPE"), Line2D([], [], **FINAL, label="after B-HAPPE")]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure


def _profile_panel(panel: Axes, ladder_khz: Sequence[int], profile: Profile, index: int) -> None:
    levels = np.arange(LEVELS)
    ordinal = np.arange(len(ladder_khz))
    panel.set_title(short(profile.application))
    panel.set(xlim=(-0.6, LEVELS - 0.4), ylim=(-0.5, len(ladder_khz) - 0.5), xticks=levels)
    _ghz_axis(panel, ladder_khz)
    panel.tick_params(length=2)
    for values, look, name in ((profile.training_khz, TRAINED, "training"), (profile.final_khz, FINAL, "final")):
        steps = np.interp(values, ladder_khz, ordinal)
        panel.plot(levels, steps, **look, drawstyle="steps-mid", gid=f"data-{name}-{index}")


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasSVG(figure)
    return figure
