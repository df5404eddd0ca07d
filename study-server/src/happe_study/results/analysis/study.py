# SPDX-License-Identifier: GPL-2.0-or-later
"""The input of a report: runs with their power, the protocol, and the conditions to compare. Also formats numbers."""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, is_dataclass
from importlib.metadata import version
from math import isfinite
from statistics import fmean
from typing import Any, NamedTuple, TypeVar

from happe_contract import conditions as names
from happe_study.base.version import VERSION
from happe_study.results.analysis.intervals import Estimate
from happe_study.results.analysis.paper_tables import rounded
from happe_study.results.analysis.reading import Export
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.tidy import Run, Runs
from happe_study.study.documents import Measure, PowerModel
from happe_study.study.protocol.reading import Protocol

Made = TypeVar("Made")
log = logging.getLogger(__name__)

FAULT = "a fault of the program; please report it, with the log of this report"
SCALE = (1, 5)  # lowest and highest rating of the paper
HUGE = 1e9  # numbers from here on get no decimals
MOST_NOTES = 10  # notes below a table
SMALLEST_SHOWN = 0.0005  # a smaller p would be 0 with three decimals


class Study(NamedTuple):
    """Everything that a report's sections use. `excluded`: the complete runs that would count without exclusions."""

    export: Export
    runs: Runs
    protocol: Protocol | None
    measures: dict[str, Measure]
    model: PowerModel
    excluded: tuple[Run, ...] = ()

    @property
    def reference(self) -> str:
        """The reference condition: the protocol's, else ondemand, else O-HAPPE, else the last condition."""
        wanted = self.protocol.analysis.reference if self.protocol and self.protocol.analysis else names.ONDEMAND
        if wanted in self.runs.conditions or not self.runs.conditions:
            return wanted
        return names.O_HAPPE if names.O_HAPPE in self.runs.conditions else self.runs.conditions[-1]

    @property
    def scale(self) -> tuple[int, int]:
        """The lowest and the highest rating of the protocol's scale, or without a protocol of the paper's."""
        return (self.protocol.rating.lowest, self.protocol.rating.highest) if self.protocol else SCALE

    @property
    def one_order(self) -> bool:
        """Whether all participants had the conditions in the same order."""
        return len(self.runs.conditions) > 1 and len(self.runs.always_in_one_place) == len(self.runs.conditions)

    @property
    def treatments(self) -> tuple[str, ...]:
        """All conditions except the reference."""
        return tuple(condition for condition in self.runs.conditions if condition != self.reference)

    @property
    def happe(self) -> tuple[str, ...]:
        """The conditions under which HAPPE governed."""
        return tuple(condition for condition in self.treatments if condition.endswith("-HAPPE"))

    @property
    def meter(self) -> tuple[str, ...]:
        """The note below a table of watts: their uncertainty, the instrument and its calibration."""
        known = [run.uncertainty_w for run in self.runs.rows if run.uncertainty_w is not None]
        if not known:
            return ()
        mean, most = fixed(fmean(known)), fixed(max(known))
        said = f"A run's expanded uncertainty (k = 2) is {mean} W in the mean, {most} W at most."
        instruments = {f"Instrument: {each.instrument}" for each in self.measures.values() if each.instrument}
        calibrations = {f"Calibration: {each.calibration}" for each in self.measures.values() if each.calibration}
        return (said, *sorted(instruments), *sorted(calibrations), *self._notes())

    def _notes(self) -> list[str]:
        """The notes on measures, the most frequent first."""
        counted = Counter(note for measure in self.measures.values() for note in measure.notes)
        found = sorted(counted.items(), key=lambda each: (-each[1], each[0]))
        said = [f"For {count} of the measured runs: {note}" for note, count in found[:MOST_NOTES]]
        rest = len(found) - MOST_NOTES
        return [*said, f"{rest} more notes are in the document of the measures."] if rest > 0 else said

    def missing(self, used: int) -> str:
        """A sentence: how many of the counting runs a figure does not use."""
        return f"{len(self.runs.rows) - used} of {len(self.runs.rows)} runs are missing or under other conditions."

    def name(self, application: str | None) -> str:
        """An application's name for people; None stands for all applications."""
        if application is None:
            return "All applications"
        return (
            self.protocol.application(application).name if self.protocol and self._knows(application) else application
        )

    def _knows(self, application: str) -> bool:
        return self.protocol is not None and application in {each.key for each in self.protocol.applications}


def attempt(refused: list[str], what: str, make: Callable[[], Made]) -> Made | None:
    """The result of `make`; None if it raises, with the reason added to `refused`.

    The reason is a Refusal's. Any other exception is a fault of the program; its traceback goes to the log.
    """
    try:
        return make()
    except Refusal as refusal:
        refused.append(f"{what}: {refusal}")
    except Exception:
        log.exception("a part of a report failed")
        refused.append(f"{what}: {FAULT}")
    return None


def fixed(value: float | None, places: int = 2) -> str:
    """A number as text, rounded half away from zero; an em dash for None."""
    if value is None:
        return "\u2014"
    return f"{value:.3g}" if abs(value) >= HUGE else str(rounded(value, places))


def percent(fraction: float | None, places: int = 2) -> str:
    """A fraction as text in percent."""
    return fixed(None if fraction is None else 100 * fraction, places)


def percent_interval(estimate: Estimate) -> str:
    """An interval in percent, the lower limit first."""
    return f"{percent(estimate.low)} to {percent(estimate.high)}"


def p_value(p: float) -> str:
    """A p-value to three decimals, never 0."""
    return "< 0.001" if p < SMALLEST_SHOWN else fixed(p, 3)


def plain(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Dataclasses as JSON: fields by name, tuples as lists, arrays left out."""
    if is_dataclass(value) and not isinstance(value, type):
        return {key: plain(each) for key, each in asdict(value).items() if not hasattr(each, "dtype")}
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items() if not hasattr(each, "dtype")}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def not_finite(value: Any, place: str = "") -> str | None:  # noqa: ANN401 - JSON
    """The place of the first NaN or infinite number in plain data; None if there is none."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return next((found for key, each in items if (found := not_finite(each, f"{place}/{key}"))), None)
    return place if isinstance(value, float) and not isfinite(value) else None


def listed(words: Sequence[str]) -> str:
    """Words separated by commas; "none" for an empty list."""
    return ", ".join(words) or "none"


def versions() -> str:
    """The versions of the program and of the libraries that compute the figures."""
    return ", ".join((f"happe-server {VERSION}", *(f"{name} {version(name)}" for name in ("numpy", "scipy"))))
