# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that nothing counts twice: no run, no record, and no stretch of a power trace."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from happe_study.study.checks.evidence import SECOND_US, Check, Evidence, Finding, RunFacts, counted

KEY, TITLE = "doubles", "Doubled runs"
SHARED_US = 1_000_000  # two runs may overlap by this: a laptop reports one's end while the next begins

Stretch = tuple[int, int, str]  # from, up to, run


def check(evidence: Evidence) -> Check:
    """Look at every run."""
    found = [*_places(evidence.runs), *_overlaps(evidence.runs), *_twins(evidence), *_power(evidence)]
    records = sum(run.behaviour is not None for run in evidence.runs)
    looked_at = counted(len(evidence.runs), "run") + ": places and times"
    not_told = []
    if evidence.unblinded:
        looked_at += f", {counted(records, 'record')}"
    else:
        not_told.append("The server compares records with each other after the unblinding.")
    if evidence.measures is not None:
        looked_at += f", {counted(len(evidence.measures), 'measure')} of power"
    return Check(KEY, TITLE, looked_at, tuple(found), tuple(not_told), told=bool(evidence.runs))


def _places(runs: Sequence[RunFacts]) -> Iterator[Finding]:
    places: dict[tuple[str, int], list[str]] = defaultdict(list)
    for run in runs:
        if run.complete:
            places[run.participant, run.position].append(run.code)
    for (participant, position), codes in places.items():
        if len(codes) > 1:
            what = f"are both the complete run {position} of participant {participant}"
            yield Finding(f"runs {' and '.join(codes)}", what)


def _overlaps(runs: Sequence[RunFacts]) -> Iterator[Finding]:
    by_laptop: dict[str, list[Stretch]] = defaultdict(list)
    for run in runs:
        if run.complete and run.laptop is not None and run.times is not None:
            by_laptop[run.laptop].append((*run.times, run.code))
    for laptop, stretches in by_laptop.items():
        for one, other, shared in _sharing(stretches):
            yield Finding(f"runs {one} and {other}", f"were on laptop {laptop} at the same time for {shared:.1f} s")


def _twins(evidence: Evidence) -> Iterator[Finding]:
    for codes in evidence.twins:
        yield Finding(f"runs {' and '.join(codes)}", "have the same record, sample by sample")


def _power(evidence: Evidence) -> Iterator[Finding]:
    by_trace: dict[str, list[Stretch]] = defaultdict(list)
    for measure in (evidence.measures or {}).values():
        if measure.trace and measure.from_us is not None and measure.to_us is not None:
            by_trace[measure.trace].append((measure.from_us, measure.to_us, measure.run))
    for trace, stretches in by_trace.items():
        for one, other, shared in _sharing(stretches):
            yield Finding(
                f"runs {one} and {other}", f"{shared:.1f} s of trace {trace} are counted as the power of both"
            )


def _sharing(stretches: Sequence[Stretch]) -> Iterator[tuple[str, str, float]]:
    """Neighbours in time that overlap by more than SHARED_US: their runs, and the overlap in seconds."""
    for (_, end, one), (begin, other_end, other) in pairwise(sorted(stretches)):
        shared = min(end, other_end) - begin
        if shared > SHARED_US:
            yield one, other, shared / SECOND_US
