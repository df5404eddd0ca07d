# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that watts are plausible: against the machine's power model, and rigs against each other.

A wrong shunt or divider makes every watt of a rig (laptop, meter, calibration) too high or too low by one factor. The
factor of a rig is the median over its runs of measured mean power / the model's mean power for the record's frequencies
and utilisations. Its uncertainty (k = 2) is that of a median, from the median absolute deviation. The model comes from
one laptop with one screen saver; other laptops and applications may differ from it by `TOLERANCE`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from statistics import median

from happe_study.study.checks.behaviour import Behaviour
from happe_study.study.checks.evidence import BLINDED, Check, Evidence, Finding, counted

KEY, TITLE = "power", "Watts"
TOLERANCE = 0.15  # share by which other machines of this kind and other applications may differ from the model
BETWEEN_RIGS = 0.10
FEWEST = 3
MEDIAN_TO_SIGMA = 1.4826  # standard deviation / median absolute deviation, for normal errors
MEDIAN_ERROR = 1.2533  # standard error of a median / that of a mean
COVERAGE_FACTOR = 2


@dataclass(frozen=True)
class Factor:
    """A rig's watts divided by the model's, and the expanded uncertainty of this ratio (k = 2)."""

    value: float
    expanded: float
    runs: int


def check(evidence: Evidence) -> Check:
    """Look at every measured run."""
    if not evidence.unblinded:
        return Check(KEY, TITLE, "no watt", not_told=(BLINDED,), told=False)
    if evidence.measures is None:
        return Check(KEY, TITLE, "no watt", not_told=("There is no measured power.",), told=False)
    by_rig, without = _ratios(evidence)
    factors = {rig: factor(ratios) for rig, ratios in by_rig.items() if len(ratios) >= FEWEST}
    off = dict(_off(factors))
    found = [*off.values(), *_apart({rig: each for rig, each in factors.items() if rig not in off})]
    runs = sum(each.runs for each in factors.values())
    looked_at = f"{counted(runs, 'run')} of {counted(len(factors), 'rig')} against the machine's power model"
    notes = tuple(f"{rig}: {_said(each)} of the model" for rig, each in factors.items())
    not_told = tuple(_not_told(by_rig, without))
    return Check(KEY, TITLE, looked_at, tuple(found), not_told, notes, bool(factors))


def factor(ratios: Sequence[float]) -> Factor:
    """A rig's factor from the ratios of its runs. There must be at least FEWEST."""
    middle = median(ratios)
    spread = MEDIAN_TO_SIGMA * median(abs(each - middle) for each in ratios)
    error = MEDIAN_ERROR * spread / sqrt(len(ratios))
    return Factor(middle, COVERAGE_FACTOR * error, len(ratios))


def _not_told(by_rig: Mapping[str, Sequence[float]], without: int) -> Iterator[str]:
    if without:
        yield (
            f"{counted(without, 'run')} can't be compared: they have no measured power, or the power model is of "
            "another machine."
        )
    for rig, ratios in by_rig.items():
        if len(ratios) < FEWEST:
            yield f"{rig}: {counted(len(ratios), 'run')} are too few."


def _ratios(evidence: Evidence) -> tuple[dict[str, list[float]], int]:
    """The ratios of measured to expected power by rig, and the number of runs without a ratio."""
    found: dict[str, list[float]] = defaultdict(list)
    without = 0
    for run in evidence.single:
        measure = (evidence.measures or {}).get(run.code)
        expected = _expected(run.behaviour)
        if measure is None or measure.mean_w is None or expected is None:
            without += 1
            continue
        laptop = evidence.names.get(run.laptop or "", run.laptop or "a laptop")
        meter = evidence.names.get(measure.meter, measure.meter or "a meter")
        found[f"{laptop} at {meter}, {measure.calibration}"].append(measure.mean_w / expected)
    return dict(found), without


def _expected(record: Behaviour | None) -> float | None:
    """The mean of the model's watts over a run; None without a model of the machine."""
    if record is None or not record.watts:
        return None
    begin, joules = record.started_us, 0.0
    for t_us, watts in record.watts:
        joules += watts * (t_us - begin)
        begin = t_us
    return joules / (begin - record.started_us) if begin > record.started_us else None


def _said(each: Factor) -> str:
    return f"{each.value:.3f} +- {each.expanded:.3f} times the watts"


def _off(factors: Mapping[str, Factor]) -> Iterator[tuple[str, Finding]]:
    """The rigs whose factor differs from 1 by more than tolerance and uncertainty."""
    for rig, each in factors.items():
        if each.value - each.expanded > 1 + TOLERANCE or each.value + each.expanded < 1 - TOLERANCE:
            what = f"measures {_said(each)} of the machine's power model: a wrong shunt, divider or gain"
            yield rig, Finding(f"rig {rig}", what)


def _apart(factors: Mapping[str, Factor]) -> Iterator[Finding]:
    """The rigs that differ from the median of all. If there are two, nobody knows which is wrong, so it names both."""
    if len(factors) < 2:  # noqa: PLR2004 - a comparison takes two
        return
    middle = median(each.value for each in factors.values())
    for rig, each in factors.items():
        if abs(log(each.value / middle)) > BETWEEN_RIGS + each.expanded / each.value:
            what = f"measures {_said(each)} of the model; the median of all rigs is {middle:.3f} times"
            yield Finding(f"rig {rig}", what)
