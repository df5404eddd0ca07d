# SPDX-License-Identifier: GPL-2.0-or-later
"""Copying what HAPPE learned from sealed records into tables, which people can search.

This happens only after unblinding. Nobody may see lessons before, uploads are faster without it, and until then no
table reveals them.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from statistics import mean, median_low
from typing import Any

import structlog
from sqlalchemy import Select, delete, insert, select, update
from sqlalchemy.orm import Session

from happe_contract import schemas
from happe_contract.faults import BadDocumentError
from happe_contract.schemas import Kind
from happe_contract.strict_json import Json
from happe_study.base.config import Secrets
from happe_study.base.database import table
from happe_study.model.participants import Participant
from happe_study.model.profiles import Profile, TaughtRun
from happe_study.model.runs import Run, RunRecord
from happe_study.study.people.holding import hold
from happe_study.study.profiles.history import History, histories
from happe_study.study.records.record import RunRecord as Content
from happe_study.study.records.record import run_record
from happe_study.study.records.stored import opened
from happe_study.study.sealing import SealError

log = structlog.get_logger(__name__)

AT_ONCE = 100  # records; a long one takes a few megabytes of memory
MOST_LISTED = 100
MOST_RECORDS = 1 << 31


@dataclass
class Taken:
    """The number of records copied, and the codes of runs whose record is unreadable."""

    records: int = 0
    unreadable: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Learned:
    """A record's content, and the frequencies (kHz, ascending) that its UAFP can have."""

    run_id: int
    record: Content
    ladder: list[int]


def take_out(session: Session, study_id: int, secrets: Secrets) -> Taken:
    """Copy the lessons of an unblinded study's records into tables, unless that is done already.

    It skips a record that does not open. The next call tries it again, since somebody may have restored it by then.
    """
    taken, last = Taken(), 0
    if not left(session, study_id):
        return taken
    hold(session, Participant.study_id == study_id)
    while found := session.execute(_left(study_id, last)).all():
        last = found[-1].id
        read = [(row, _learned(row, secrets)) for row in found]
        taken.unreadable += [row.code for row, learned in read if learned is None]
        done = [row.id for row, learned in read if learned is not None]
        _keep(session, [learned for _row, learned in read if learned is not None])
        session.execute(update(RunRecord).where(RunRecord.id.in_(done)).values(taken_out=True))
        refresh(session, study_id, {row.participant_id for row, learned in read if learned is not None})
        taken.records += len(done)
    if taken.records:
        rank(session, study_id)
    return taken


def left(session: Session, study_id: int) -> list[str]:
    """The codes of runs with a record that is not copied yet, at most 100.

    The inner query's limit makes SQLite start from the few records left, which an index has, not from every run.
    """
    untaken = select(RunRecord.run_id).where(~RunRecord.taken_out).limit(MOST_RECORDS).subquery()
    mine = select(Run.code).join(untaken, Run.id == untaken.c.run_id).where(Run.study_id == study_id)
    return list(session.scalars(mine.limit(MOST_LISTED)))


def _left(study_id: int, after: int) -> Select[int, int, str, int, str, bytes]:
    run = (RunRecord.run_id, Run.code, Run.participant_id)
    columns = select(RunRecord.id, *run, RunRecord.client_id, RunRecord.document)
    mine = columns.join(Run, RunRecord.run_id == Run.id).join(Participant, Run.participant_id == Participant.id)
    untaken = mine.where(Participant.study_id == study_id, ~RunRecord.taken_out, RunRecord.id > after)
    return untaken.order_by(RunRecord.id).limit(AT_ONCE).with_for_update(of=RunRecord)


def _learned(row: Any, secrets: Secrets) -> Learned | None:  # noqa: ANN401 - a row of `_left`
    """Read a stored record; None if it is damaged, because a damaged record must not stop an unblinding."""
    try:
        document = schemas.read(Kind.RUN_RECORD, opened(secrets.allocation, row.code, row.document))
        record = run_record(document, run=row.code, client_id=row.client_id)
    except SealError:
        log.error("a stored record does not open")  # noqa: TRY400 - the exception adds nothing
        return None
    except BadDocumentError as error:
        log.error("a stored record breaks its contract", faults=len(error.faults))  # noqa: TRY400 - as above
        return None
    return Learned(row.run_id, record, shared_ladder(document["header"]))


def shared_ladder(header: Json) -> list[int]:
    """The frequencies that a UAFP can have, ascending: each policy's ladder in kHz of the fastest (docs/traces.md)."""
    every = header["ladders_khz"].values()
    ref = max(khz[-1] for khz in every)
    return sorted({one * ref // khz[-1] for khz in every for one in khz})


def _keep(session: Session, learned: Sequence[Learned]) -> None:
    """Write the rows of these records, in place of rows from an earlier copy."""
    session.execute(delete(TaughtRun).where(TaughtRun.run_id.in_([each.run_id for each in learned])))
    rows = [_taught_run(each) for each in learned if each.record.served is not None and not each.record.raised]
    if rows:
        session.execute(insert(table(TaughtRun)), rows)


def _taught_run(learned: Learned) -> dict[str, Any]:
    record = learned.record
    return {
        "run_id": learned.run_id,
        "started_us": record.started_us,
        "ended_us": record.ended_us,
        "knew_profile": record.knew_profile,
        "ladder": learned.ladder,
        "before": record.profile_before,
        "after": record.profile_after,
        "lessons": [vars(lesson) for lesson in record.learned],
    }


PER_MILLE = 1000
PARTICIPANTS_AT_ONCE = 50  # each has some hundred lessons
_NEW = insert(table(Profile))


def refresh(session: Session, study_id: int, participants: Collection[int]) -> None:
    """Compute the profile rows of these participants again from the rows of their runs."""
    every = sorted(participants)
    for start in range(0, len(every), PARTICIPANTS_AT_ONCE):
        _refresh(session, study_id, every[start : start + PARTICIPANTS_AT_ONCE])


def rank(session: Session, study_id: int) -> None:
    """Store each profile's distance from its application's median (column `unusual`), for all profiles of a study."""
    columns = (Profile.id, Profile.khz, Profile.ladder)
    mine = select(Profile.application, *columns).where(Profile.study_id == study_id)
    groups: dict[str, list[Any]] = defaultdict(list)
    for row in session.execute(mine):
        groups[row.application].append(row)
    for rows in groups.values():
        middle = median([row.khz for row in rows])
        ranked = [{"id": row.id, "unusual": unusual(row.khz, row.ladder, middle)} for row in rows]
        session.execute(update(Profile), ranked)


def median(profiles: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The lower median of each level. It is a frequency that some profile has."""
    return tuple(median_low(levels) for levels in zip(*profiles, strict=True))


def unusual(khz: Sequence[int], ladder: Sequence[int], middle: Sequence[int]) -> int:
    """The mean distance of the levels from a group's, in per mille of the ladder's width."""
    width = max(ladder[-1] - ladder[0], 1)
    return round(PER_MILLE * mean(abs(one - other) for one, other in zip(khz, middle, strict=True)) / width)


def _refresh(session: Session, study_id: int, participants: list[int]) -> None:
    known = select(Profile.participant_id, Profile.application, Profile.id)
    ids = {tuple(row[:2]): row.id for row in session.execute(known.where(Profile.participant_id.in_(participants)))}
    named = select(Participant.id, Participant.code).where(Participant.id.in_(participants))
    codes = {number: code for number, code in session.execute(named)}  # noqa: C416 - rows
    new, changed = [], []
    for (participant, application), history in histories(session, participants).items():
        row = summary(history)
        if (known_id := ids.get((participant, application))) is not None:
            changed.append({"id": known_id, **row})
        else:
            whose = {"study_id": study_id, "participant_id": participant, "application": application}
            whose["participant"] = codes[participant]
            new.append({**whose, **row, "flagged": False, "notes": 0})
    if new:
        session.execute(_NEW, new)
    if changed:
        session.execute(update(Profile), changed)


def summary(history: History) -> dict[str, Any]:
    """The columns of a profile's row that follow from its history."""
    keys = [step.lesson.key for step in history.steps]
    taught = [chapter for chapter in history.chapters if chapter.lessons]
    return {
        "khz": list(history.levels),
        "ladder": list(history.chapters[-1].ladder),
        "f_max_khz": history.chapters[-1].ladder[-1],
        "highest_khz": history.levels[-1],
        "runs": len(history.chapters),
        "performance": keys.count("performance"),
        "power": keys.count("power"),
        "presses": len(keys),
        "taught_in": f" {' '.join(dict.fromkeys(chapter.condition for chapter in taught))} ",
        "hit_top": any(
            s.lesson.key == "performance" and s.lesson.to_khz >= s.chapter.ladder[-1] for s in history.steps
        ),
        "hit_bottom": any(s.lesson.key == "power" and s.lesson.to_khz <= s.chapter.ladder[0] for s in history.steps),
        "changed": any(chapter.after != chapter.before for chapter in history.chapters),
        "agrees": not history.doubts,
        "last_us": (taught[-1].at_us or 0) if taught else 0,
    }
