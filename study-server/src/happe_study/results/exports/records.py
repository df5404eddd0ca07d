# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables with data from the sealed records of runs. They open one record at a time.

They leave out a record that does not open. `happe-server check` and the unblinding report such records.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import structlog
from sqlalchemy import select
from sqlalchemy.orm import Session

from happe_study.base.tables import Column, Kind
from happe_study.model.participants import Participant
from happe_study.model.runs import Run, RunRecord
from happe_study.results.exports.tables import (
    APPLICATION,
    CONDITION,
    KHZ,
    LAPTOP_US,
    PARTICIPANT,
    PPM,
    ROWS_AT_ONCE,
    RUN,
    Source,
    Table,
)
from happe_study.study.records.lessons import LEVELS
from happe_study.study.records.stored import opened
from happe_study.study.sealing import SealError

log = structlog.get_logger(__name__)

Json = dict[str, Any]
Row = dict[str, Any]

PLACE = (RUN, PARTICIPANT, APPLICATION, CONDITION)
T_US = Column("t_us", Kind.INTEGER, "The end of the sample period.", LAPTOP_US)


def inside(
    rows: Callable[[Json], Iterator[Row]],
) -> Callable[[Session, Source, Sequence[Column]], Iterator[tuple[Any, ...]]]:
    """Make a table's `read` function from `rows`, which gives a record's rows. Records come by run."""

    def read(session: Session, source: Source, columns: Sequence[Column]) -> Iterator[tuple[Any, ...]]:
        names = [column.name for column in columns]
        for place, record in _records(session, source):
            yield from (tuple((place | row).get(name) for name in names) for row in rows(record))

    return read


def _records(session: Session, source: Source) -> Iterator[tuple[Row, Json]]:
    """The place of each record's run, and the record."""
    mine = select(RunRecord.id, Run.code, Participant.code, Run.application, Run.condition)
    mine = mine.join(Run, RunRecord.run_id == Run.id).join(Participant, Run.participant_id == Participant.id)
    records = mine.where(Participant.study_id == source.study_id).order_by(Run.code)
    for record_id, code, *others in session.execute(records.execution_options(yield_per=ROWS_AT_ONCE)):
        document = session.execute(select(RunRecord.document).where(RunRecord.id == record_id)).scalar_one()
        try:
            record = json.loads(opened(source.key, code, document))
        except SealError:
            log.error("a stored record does not open and is not exported")  # noqa: TRY400 - the exception adds nothing
            continue
        yield dict(zip((column.name for column in PLACE), (code, *others), strict=True)), record


def _record(record: Json) -> Iterator[Row]:
    machine = record["machine"]
    yield {
        "record": record["id"],
        "clock": record["clock"],
        "started_us": record["started_us"],
        "ended_us": record["ended_us"],
        "indicator": record["indicator"],
        "samples": len(record["observations"]),
        "interruptions": len(record.get("interruptions", ())),
        "backend": machine["backend"],
        "governor": machine["governor"],
        "driver": machine["driver"],
        "cpu": machine["cpu"],
        "epp": machine.get("epp"),
        "kernel": machine.get("kernel"),
    }


def _samples(record: Json) -> Iterator[Row]:
    for line in record["observations"]:
        for policy in line["policies"]:
            shared = {
                "t_us": line["t_us"],
                "served": line["user"] is not None,
                "app": line["app"],
                "source": line.get("source"),
            }
            frequency = {"policy": policy["id"], "cur_khz": policy.get("cur_khz")}
            for cpu, util_ppm in enumerate(policy["util_ppm"]):
                yield shared | frequency | {"cpu": cpu, "util_ppm": util_ppm}


def _keys(record: Json) -> Iterator[Row]:
    for line in record["observations"]:
        for press in line.get("keys", ()):
            yield {"t_us": press["t_us"], "key": press["key"]}


def _profiles(record: Json) -> Iterator[Row]:
    for moment in ("after", "before"):
        if khz := record[f"profile_{moment}"]:
            yield {"moment": moment} | {f"khz_{level}": value for level, value in enumerate(khz)}


def _lessons(record: Json) -> Iterator[Row]:
    return (lesson for lesson in record["learned"] if not lesson.get("probe", False))


RECORDS = Table(
    "records",
    "The laptops' records of runs: one row for each record.",
    (
        RUN,
        Column("record", Kind.TEXT, "The record's id."),
        Column("clock", Kind.TEXT, "The clock of the record's times: monotonic: and the boot's id."),
        Column("started_us", Kind.INTEGER, "When the run began.", "microseconds of that clock"),
        Column("ended_us", Kind.INTEGER, "When it ended.", "microseconds of that clock"),
        Column("indicator", Kind.BOOLEAN, "Whether the remaining battery time was on the screen."),
        Column("samples", Kind.INTEGER, "How many sample periods there are."),
        Column("interruptions", Kind.INTEGER, "How often something interrupted the participant."),
        Column("backend", Kind.TEXT, "How HAPPE set frequencies: setspeed, cap, observe or simulated."),
        Column("governor", Kind.TEXT, "The kernel's governor in force."),
        Column("driver", Kind.TEXT, "The kernel's frequency driver."),
        Column("cpu", Kind.TEXT, "The CPU's model name."),
        Column("epp", Kind.TEXT, "The energy performance preference in force. Empty: the driver has none."),
        Column("kernel", Kind.TEXT, "The kernel's release."),
    ),
    inside(_record),
    blinded=True,
)

SAMPLES = Table(
    "samples",
    "The measurements of each sample period of a run: one row for each CPU.",
    (
        RUN,
        T_US,
        Column("policy", Kind.INTEGER, "The group of CPUs that scale together, by the kernel's number."),
        Column("cpu", Kind.INTEGER, "The CPU's place in its policy, from 0."),
        Column("cur_khz", Kind.INTEGER, "The policy's frequency. Empty: the last decided frequency still holds.", KHZ),
        Column("util_ppm", Kind.INTEGER, "How much of the period the CPU was busy.", PPM),
        Column("served", Kind.BOOLEAN, "Whether HAPPE governed."),
        Column("app", Kind.TEXT, "The application in focus. Empty: none, or HAPPE did not govern."),
        Column("source", Kind.TEXT, "The laptop's power source: mains or battery. Empty: unknown."),
    ),
    inside(_samples),
    blinded=True,
)

KEYS = Table(
    "keys",
    "Every press of the two keys, whether HAPPE acted on it or not.",
    (
        RUN,
        Column("t_us", Kind.INTEGER, "When the key went down.", LAPTOP_US),
        Column("key", Kind.TEXT, "performance (faster) or power (save power)."),
    ),
    inside(_keys),
    blinded=True,
)

PROFILES = Table(
    "profiles",
    "The user application frequency profile (UAFP) before and after each run that had one.",
    (
        *PLACE,
        Column("moment", Kind.TEXT, "before or after the run."),
        *(
            Column(
                f"khz_{level}",
                Kind.INTEGER,
                f"The frequency for normalised utilisation of {level} to {level + 1} tenths.",
                KHZ,
            )
            for level in range(LEVELS)
        ),
    ),
    inside(_profiles),
    blinded=True,
)

LEARNING_EVENTS = Table(
    "learning_events",
    "Key presses that HAPPE acted on, and the change of the profile by each.",
    (
        *PLACE,
        Column("t_us", Kind.INTEGER, "The end of the sample period of the press.", LAPTOP_US),
        Column("key", Kind.TEXT, "performance (faster) or power (save power)."),
        Column("policy", Kind.INTEGER, "The group of CPUs that the lesson is for, by the kernel's number."),
        Column("level", Kind.INTEGER, "The tenth of normalised utilisation, 0 to 9."),
        Column("from_khz", Kind.INTEGER, "The profile's entry before.", KHZ),
        Column("to_khz", Kind.INTEGER, "The entry after.", KHZ),
        Column("cur_khz", Kind.INTEGER, "The frequency at the time.", KHZ),
        Column("util_ppm", Kind.INTEGER, "The busiest CPU's utilisation.", PPM),
    ),
    inside(_lessons),
    blinded=True,
)
