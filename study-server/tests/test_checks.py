# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of facts at their limits. test_reports.py has the checks of a whole study."""

from dataclasses import replace

import pytest
from sqlalchemy import select

import given_traces
import records
from happe_contract.traces import ClockEstimate
from happe_study.model.studies import Study
from happe_study.study.checks import clock, conditions, parts
from happe_study.study.checks.behaviour import behaviour
from happe_study.study.checks.evidence import Check, Evidence, RunFacts, TraceFacts, Verdict
from happe_study.study.checks.gathering import Sources
from happe_study.study.checks.services import check_study
from happe_study.study.documents import T61, Measure
from happe_study.study.traces.stores import storage_of
from world import World, fixed_secrets

SECOND = 1_000_000
LAPTOP, METER = ("L", f"monotonic:{records.BOOT}"), ("M", "monotonic:meter")
BEGIN = 1_800_000_000 * SECOND
SECONDS = 60
LATE = "run RUN1: its watts come 2.0 s after the load in its record: the laptop's or the meter's clock is wrong"


def played() -> RunFacts:
    """A complete run of a minute. Its record begins two seconds after the server received the start."""
    record = behaviour(records.make(seconds=SECONDS, seed=3), T61)
    times = {"started_us": BEGIN - 2 * SECOND, "ended_us": BEGIN + SECONDS * SECOND + SECOND}
    return RunFacts("RUN1", "P", 1, "torcs", "complete", LAPTOP[0], **times, condition="T-HAPPE", behaviour=record)


def estimated(run: RunFacts, uncertainty_us: int = 1000) -> ClockEstimate:
    """The estimate of the laptop's clock at the run's beginning."""
    assert run.behaviour is not None
    began = run.behaviour.started_us
    return ClockEstimate(began, BEGIN - began, uncertainty_us)


def evidence(run: RunFacts, *clocks: ClockEstimate, traces: tuple[TraceFacts, ...] = (), **more: object) -> Evidence:
    made = Evidence(unblinded=True, runs=[run], traces=traces, clocks={LAPTOP: clocks or (estimated(run),)})
    return replace(made, **more)  # type: ignore[arg-type] # its fields


def trace(name: str, span: tuple[int, int] | None) -> TraceFacts:
    return TraceFacts(name, METER[0], LAPTOP[0], METER[1], sealed=True, span=span)


def found(check: Check) -> list[str]:
    return [f"{each.where}: {each.what}" for each in check.findings]


def test_a_record_that_begins_long_after_the_server_was_asked_was_perhaps_begun_again() -> None:
    run = played()
    assert found(clock.check(evidence(run))) == []
    again = replace(run, started_us=BEGIN - 700 * SECOND)
    (said,) = found(clock.check(evidence(again)))
    assert said == (
        "run RUN1, laptop L: its record begins 700.0 s after the server received the start, and the record decides "
        "which power counts: was the run started again?"
    )


def test_a_poor_estimate_beside_good_ones_moves_nothing() -> None:
    run = played()
    good = estimated(run)
    poor = ClockEstimate(good.monotonic_us + SECOND, good.offset_us + 700_000, 800_000)
    later = replace(good, monotonic_us=good.monotonic_us + 600 * SECOND)
    made = evidence(run, good, poor, later)
    assert made.server_us(*LAPTOP, poor.monotonic_us) == (poor.monotonic_us + good.offset_us, 1001)
    assert found(clock.check(made)) == []


def test_a_clock_that_was_set_tells_no_time() -> None:
    run = played()
    good = estimated(run)
    was_set = replace(good, monotonic_us=good.monotonic_us + 600 * SECOND, offset_us=good.offset_us + 2 * SECOND)
    made = evidence(run, good, was_set)
    assert made.server_us(*LAPTOP, good.monotonic_us) is None
    check = clock.check(made)
    assert found(check) == ["device L: its clock went +2.0 s between two estimates 600 s apart"]
    assert "0 records against the server's times" in check.looked_at


@pytest.mark.parametrize(
    ("laptops_us", "meters_us", "said"),
    [
        (1000, 1000, [LATE]),
        (1_100_000, 1000, []),
        (600_000, 600_000, []),
    ],
)
def test_watts_that_come_late_are_a_clock_unless_its_bound_explains_it(
    laptops_us: int, meters_us: int, said: list[str]
) -> None:
    run = played()
    assert run.behaviour is not None
    watts = tuple(watts for _, watts in run.behaviour.watts)
    measure = Measure(run.code, mean_w=30.0, trace="T", from_us=BEGIN + 2 * SECOND, seconds_w=watts)
    meters = ClockEstimate(0, BEGIN, meters_us)
    clocks = {LAPTOP: (estimated(run, laptops_us),), METER: (meters,)}
    mine = trace("T", (BEGIN - SECOND, BEGIN + 100 * SECOND))
    made = evidence(run, traces=(mine,), clocks=clocks, measures={run.code: measure})
    assert found(clock.check(made)) == said


def test_a_machine_that_does_not_run_as_decided_is_named() -> None:
    record = records.make(seconds=SECONDS, seed=3) | {"indicator": False}

    def checked() -> Check:
        return conditions.check(evidence(replace(played(), behaviour=behaviour(record, None))))

    assert (checked().findings, checked().not_told) == ((), ())
    for line in record["observations"][10:20]:
        line["targets"] = [{"policy": 0, "khz": 2_300_000}]
    assert found(checked()) == ["run RUN1: T-HAPPE: 10 of 59 periods were at another frequency than decided"]
    for line in record["observations"]:
        del line["targets"]
    assert found(checked()) == []
    assert "took effect in 1 run" in " ".join(checked().not_told)


def test_power_traces_are_not_ok_where_no_run_could_be_compared() -> None:
    run = played()
    assert run.times is not None
    whole = (run.times[0] - SECOND, run.times[1] + SECOND)
    check = parts.check(evidence(run, traces=(trace("T", None),)))
    assert (check.verdict, found(check)) == (Verdict.UNKNOWN, [])
    assert "what they have of 0 complete runs" in check.looked_at
    assert "Their part of 1 complete run is unknown, because a trace has no known time." in check.not_told
    # When another trace has the run, the check compares that, whatever it does not know about the first
    check = parts.check(evidence(run, traces=(trace("T", None), trace("U", whole))))
    assert (check.verdict, found(check)) == (Verdict.OK, [])
    assert "what they have of 1 complete run" in check.looked_at
    # When the other does not have it, the run may be in the first
    check = parts.check(evidence(run, traces=(trace("T", None), trace("U", (0, 1)))))
    assert (check.verdict, found(check)) == (Verdict.UNKNOWN, [])


def test_a_part_that_is_gone_shorter_or_changed_is_named(world: World) -> None:
    # Given a trace without its first part, a second one that is shorter, and a third one that was changed
    trace = given_traces.uploaded(world, 3)
    gone, shorter, changed = trace.files
    gone.unlink()
    shorter.write_bytes(shorter.read_bytes()[:-1])
    changed.write_bytes(bytes([changed.read_bytes()[0] ^ 1]) + changed.read_bytes()[1:])
    sources = Sources(fixed_secrets().allocation, storage_of(world.config, world.database))
    # Then reading every byte finds all of them, and a look at the lengths all but the last
    for deep, damaged in ((False, "part 1 is"), (True, "parts 1, 2 are")):
        with world.database.reading() as session:
            checks = check_study(session, session.scalars(select(Study)).one(), replace(sources, deep=deep))
        (check,) = (each for each in checks if each.key == parts.KEY)
        assert found(check) == [
            f"trace {trace.trace}: part 0 is missing",
            f"trace {trace.trace}: {damaged} not what the meter sent: length or SHA-256 differs",
        ]
