# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that every run has its power: traces are complete, have no gap in a run, and cover every run."""

from collections.abc import Iterator

from happe_study.study.checks.evidence import SECOND_US, Check, Evidence, Finding, RunFacts, TraceFacts, counted

KEY, TITLE = "parts", "Power traces"
MOST_NUMBERS = 10
LEAST_GAP_US = 10_000
MOST_BARE_US = 200_000  # at either end of a run


def check(evidence: Evidence) -> Check:
    """Look at every trace, and at the time of every run."""
    known = evidence.traces
    found = [finding for trace in known for finding in _trace(trace, late=evidence.unblinded)]
    runs = [run for run in evidence.runs if run.complete and run.times is not None and run.laptop is not None]
    compared = [faults for run in runs if (faults := _run(run, evidence)) is not None]
    found += [fault for faults in compared for fault in faults]
    how = "every byte of their parts" if evidence.deep else "whether their parts are there and how long they are"
    looked_at = f"{counted(len(known), 'trace')}: {how}; what they have of {counted(len(compared), 'complete run')}"
    not_told = tuple(_not_told(evidence, len(runs) - len(compared)))
    return Check(KEY, TITLE, looked_at, tuple(found), not_told, told=bool(compared if runs else known))


def _not_told(evidence: Evidence, without: int) -> Iterator[str]:
    if not evidence.traces:
        yield "There is no power trace."
    elif without:
        yield f"Their part of {counted(without, 'complete run')} is unknown, because a trace has no known time."
    if not evidence.unblinded:
        yield "The server checks gaps inside traces after the unblinding, because a gap can show that power was high."
    for trace in evidence.traces:
        if trace.span is None:
            why = "its meter has no clock estimate, or somebody set its clock"
            yield f"Trace {trace.trace} can't be placed in the server's time: {why}."
        if not trace.sealed and not evidence.unblinded:
            yield f"Trace {trace.trace} is not sealed yet: its meter has not confirmed that all parts have arrived."


def _trace(trace: TraceFacts, *, late: bool) -> Iterator[Finding]:
    where = f"trace {trace.trace}"
    if trace.missing:
        yield Finding(where, f"{_numbers(trace.missing)} missing")
    if trace.damaged:
        yield Finding(where, f"{_numbers(trace.damaged)} not what the meter sent: length or SHA-256 differs")
    if late and not trace.sealed:
        yield Finding(where, "was never sealed: its meter has not confirmed that all parts have arrived")


def _numbers(numbers: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, numbers[:MOST_NUMBERS])) + (", ..." if len(numbers) > MOST_NUMBERS else "")
    return f"part {shown} is" if len(numbers) == 1 else f"parts {shown} are"


def _run(run: RunFacts, evidence: Evidence) -> list[Finding] | None:
    """The findings about a run's stretches that no trace of its laptop has; None if unknown."""
    assert run.times is not None  # noqa: S101 - chosen so
    begin, end = run.times
    mine = [each for each in evidence.traces if each.laptop == run.laptop]
    if evidence.traces and not mine:
        return [Finding(f"run {run.code}", f"laptop {run.laptop} has no power trace")]
    placed = [(_bare(each, begin, end), each) for each in mine if each.span is not None]
    bare, best = min(placed, key=lambda each: each[0], default=(end - begin, None))
    if best is None or (bare > MOST_BARE_US and len(placed) < len(mine)):
        return None  # the run may be in a trace whose time is unknown
    return list(_lost(run, best, bare, (begin, end)))


def _lost(run: RunFacts, best: TraceFacts, bare: int, times: tuple[int, int]) -> Iterator[Finding]:
    """The stretches of a run that even its best trace lacks: `bare` microseconds outside the trace, and its gaps."""
    begin, end = times
    if bare >= end - begin:
        yield Finding(f"run {run.code}", "no meter recorded its laptop's power during it")
    elif bare > MOST_BARE_US:
        yield Finding(f"run {run.code}", f"{bare / SECOND_US:.1f} s of it lie outside trace {best.trace}")
    for gap in best.gaps:
        lost = min(gap.end_us, end) - max(gap.begin_us, begin)
        if lost > LEAST_GAP_US:
            what = f"{lost / SECOND_US:.2f} s of it are a gap ({gap.reason}) in trace {best.trace}"
            yield Finding(f"run {run.code}", what)


def _bare(trace: TraceFacts, begin: int, end: int) -> int:
    """How many microseconds from `begin` to `end` lie outside a trace."""
    assert trace.span is not None  # noqa: S101 - the caller looked
    return (end - begin) - max(0, min(trace.span[1], end) - max(trace.span[0], begin))
