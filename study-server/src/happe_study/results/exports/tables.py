# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of an export: their columns, their rows, and who may see which columns when.

These come directly from the database, in the order of random codes, which reveals nothing.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlalchemy import Select, and_, case, false, func, or_, select
from sqlalchemy.orm import Session, aliased
from sqlalchemy.sql.elements import ColumnElement

from happe_study.base.tables import Column, Kind, Sql
from happe_study.model.audit.models import AuditDetail, AuditEntry
from happe_study.model.devices import ClockEstimate, Device
from happe_study.model.participants import Participant
from happe_study.model.rights import Right
from happe_study.model.runs import Exclusion, ExclusionReason, Run
from happe_study.model.studies import UNBLINDING, Study, StudyState
from happe_study.model.traces import Trace, TracePart
from happe_study.study.protocol.reading import Protocol

ROWS_AT_ONCE = 1000
MICROS = "microseconds since 1970, UTC, by the server's clock"
LAPTOP_US = "microseconds of the laptop's monotonic clock, which `records` names"
METER_US = "microseconds of the meter's monotonic clock, which `clock` names"
KHZ = "kHz"
PPM = "millionths"


@dataclass(frozen=True)
class Source:
    """The source of rows: a study, and the allocation key, which opens its records."""

    study_id: int
    key: bytes = field(repr=False)


@dataclass(frozen=True)
class Table:
    """A table. `read` gives a study's rows with the given columns, in an order that reveals nothing.

    `blinded`: nobody may see the table before the study is unblinded. `rights`: a caller needs all of these.
    """

    name: str
    about: str
    columns: tuple[Column, ...]
    read: Callable[[Session, Source, Sequence[Column]], Iterator[tuple[Any, ...]]]
    blinded: bool = False
    rights: frozenset[Right] = frozenset({Right.EXPORT})

    def is_open(self, state: str) -> bool:
        """Whether anybody may see the table in this state of the study."""
        return not self.blinded or state == StudyState.UNBLINDED

    def seen(self, state: str, rights: Collection[Right]) -> tuple[Column, ...]:
        """The columns that somebody with these rights may see in this state of the study; empty if none."""
        if not (self.is_open(state) and self.rights <= frozenset(rights)):
            return ()
        return tuple(column for column in self.columns if state == StudyState.UNBLINDED or not column.blinded)


METER, LAPTOP = aliased(Device), aliased(Device)

RUN = Column("run", Kind.TEXT, "The run's code.", sql=Run.code)
PARTICIPANT = Column("participant", Kind.TEXT, "The participant's code.", sql=Participant.code)
APPLICATION = Column("application", Kind.TEXT, "The application's key in the protocol.", sql=Run.application)
CONDITION = Column("condition", Kind.TEXT, "The run's condition, by its label.", sql=Run.condition, blinded=True)


def text(name: str, sql: Sql, about: str, **more: Any) -> Column:  # noqa: ANN401 - attributes of models
    """A column of text."""
    return Column(name, Kind.TEXT, about, sql=sql, **more)


def integer(name: str, sql: Sql, about: str, unit: str = "", **more: Any) -> Column:  # noqa: ANN401 - the same
    """A column of whole numbers."""
    return Column(name, Kind.INTEGER, about, unit, sql, **more)


def micros(name: str, sql: Sql, about: str, **more: Any) -> Column:  # noqa: ANN401 - the same
    """A column of times by the server's clock."""
    return integer(name, sql, about, MICROS, **more)


def out_of(
    source: Callable[[int], Select[Any]],
) -> Callable[[Session, Source, Sequence[Column]], Iterator[tuple[Any, ...]]]:
    """Make a table's `read` from `source`: a study's query with joins, conditions and order, but without columns."""

    def read(session: Session, of: Source, columns: Sequence[Column]) -> Iterator[tuple[Any, ...]]:
        asked = source(of.study_id).with_only_columns(
            *(column.sql for column in columns if column.sql is not None), maintain_column_froms=True
        )
        makers = [column.of or _as_it_is for column in columns]
        for row in session.execute(asked.execution_options(yield_per=ROWS_AT_ONCE)):
            yield tuple(make(value) for make, value in zip(makers, row, strict=True))

    return read


def _as_it_is(value: Any) -> Any:  # noqa: ANN401 - any column
    return value


PEOPLE = (
    PARTICIPANT,
    text("state", Participant.state, "invited, consented, enrolled, done, withdrawn or replaced."),
    text(
        "stratum",
        Participant.stratum,
        "The answer that sets the participant's stratum. Empty: no strata, or no answer yet.",
    ),
    text("consent_version", Participant.consent_version, "The version of the consent that the participant agreed to."),
    text(
        "on_withdrawal",
        Participant.on_withdrawal,
        "By the consent, what happens to the data if the participant withdraws.",
    ),
    micros("created_us", Participant.created_us, "When the participant was invited."),
    micros("consent_us", Participant.consent_us, "When the participant agreed."),
    micros("enrolled_us", Participant.enrolled_us, "When the participant enrolled and the server planned the runs."),
    micros("handout_us", Participant.handout_us, "When the participant confirmed reading the handout."),
    micros("done_us", Participant.done_us, "When every run was complete."),
    micros("ended_us", Participant.ended_us, "When the participant withdrew or was replaced."),
)


def participants(protocol: Protocol) -> Table:
    """The table of participants and their answers, including those who withdrew."""
    answers = (
        text(f"answer_{item.key}", Participant.answers, f"Answer to: {item.question}", of=partial(_answer, item.key))
        for item in protocol.questionnaire.items
    )

    def source(study_id: int) -> Select[Any]:
        return select(Participant.id).where(Participant.study_id == study_id).order_by(Participant.code)

    about = "Participants, and their answers to the questionnaire."
    return Table("participants", about, (*PEOPLE, *answers), out_of(source))


def _answer(key: str, answers: dict[str, Any] | None) -> str | None:
    value = (answers or {}).get(key)
    return None if value is None else str(value)


def _runs(study_id: int) -> Select[Any]:
    runs = select(Run.id).join(Participant, Run.participant_id == Participant.id)
    return runs.outerjoin(LAPTOP, LAPTOP.id == Run.device_id).where(Participant.study_id == study_id).order_by(Run.code)


RUNS = Table(
    "runs",
    "Every run, including aborted and replaced ones.",
    (
        RUN,
        PARTICIPANT,
        integer("position", Run.position, "The run's place among the participant's runs, from 1."),
        integer(
            "attempt", Run.attempt, "Counts the attempts at this place from 1. A new attempt replaces an aborted run."
        ),
        APPLICATION,
        text("phase", Run.phase, "training (the participant teaches a profile) or main.", blinded=True),
        CONDITION,
        integer("seconds", Run.seconds, "The run's length by the protocol.", "seconds"),
        text("state", Run.state, "planned, started, rated, complete, aborted or replaced."),
        text("laptop", LAPTOP.code, "The laptop's code."),
        micros("started_us", Run.started_us, "When the laptop started it."),
        micros("ended_us", Run.ended_us, "When the laptop reported its end."),
        micros("record_us", Run.record_us, "When its record arrived."),
        micros("completed_us", Run.completed_us, "When it was complete."),
        micros("aborted_us", Run.aborted_us, "When it was aborted."),
        text("abort_reason", Run.abort_reason, "Why it was aborted."),
    ),
    out_of(_runs),
    rights=frozenset({Right.EXPORT, Right.RUN_READ}),
)


def _exclusions(study_id: int) -> Select[Any]:
    rows = select(Exclusion.id).join(Participant, Participant.id == Exclusion.participant_id)
    rows = rows.outerjoin(Run, Run.id == Exclusion.run_id).where(Exclusion.study_id == study_id)
    return rows.order_by(Participant.code, func.coalesce(Run.code, ""))


EXCLUSIONS = Table(
    "exclusions",
    "Runs and participants that are excluded.",
    (
        PARTICIPANT,
        text("run", Run.code, "The run's code. Empty: the whole participant."),
        text("reason", Exclusion.reason, f"{', '.join(ExclusionReason)}."),
        text("note", Exclusion.note, "What happened, in words. Empty: erased with the participant's identity."),
        Column(
            "blind",
            Kind.BOOLEAN,
            "Whether nobody could know a condition. If not: a sensitivity analysis.",
            "",
            Exclusion.blind,
        ),
        micros("at_us", Exclusion.at_us, "When somebody excluded it."),
    ),
    out_of(_exclusions),
    rights=frozenset({Right.EXPORT, Right.RUN_READ}),
)


GUESSED = 'Whether the guess was right. Empty: no guess, or "don\'t know".'


def ratings(protocol: Protocol) -> Table:
    """Ratings and guesses of the runs that have a rating."""
    scale = protocol.rating
    about = f"Satisfaction from {scale.lowest} ({scale.lowest_label}) to {scale.highest} ({scale.highest_label})."
    columns = (
        RUN,
        PARTICIPANT,
        APPLICATION,
        CONDITION,
        integer("rating", Run.rating, about),
        micros("rated_us", Run.rated_us, "When the participant rated the run."),
        text("guess", Run.guess, "Which condition the participant guessed, by the answer's key.", blinded=True),
        micros("guessed_us", Run.guessed_us, "When the participant guessed.", blinded=True),
        Column("guess_correct", Kind.BOOLEAN, GUESSED, "", _is_right(protocol), _as_boolean, blinded=True),
    )

    def source(study_id: int) -> Select[Any]:
        return _runs(study_id).where(Run.rating.is_not(None))

    rights = frozenset({Right.EXPORT, Right.RUN_READ})
    return Table("ratings", "Ratings of runs, and guesses of their conditions.", columns, out_of(source), rights=rights)


def _as_boolean(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _is_right(protocol: Protocol) -> ColumnElement[Any]:
    sides = [choice for choice in protocol.guess_choices if choice.right_for]
    right = [and_(Run.guess == choice.key, Run.condition.in_(sorted(choice.right_for))) for choice in sides]
    return case((Run.guess.in_([choice.key for choice in sides]), or_(false(), *right)), else_=None)


def _clocks(study_id: int) -> Select[Any]:
    rows = select(ClockEstimate.id).join(LAPTOP, LAPTOP.id == ClockEstimate.device_id)
    order = (LAPTOP.code, ClockEstimate.server_us, ClockEstimate.client_id)
    return rows.where(LAPTOP.study_id == study_id).order_by(*order)


CLOCKS = Table(
    "clocks",
    "How far devices' clocks were from the server's: server time = device time + offset, within the uncertainty.",
    (
        text("device", LAPTOP.code, "The device's code."),
        text("clock", ClockEstimate.clock, "realtime, or monotonic: and the boot's id."),
        integer("device_us", ClockEstimate.device_us, "The device's time.", "microseconds of that clock"),
        micros("server_us", ClockEstimate.server_us, "The server's time."),
        integer("offset_us", ClockEstimate.offset_us, "Server time less device time.", "microseconds"),
        integer(
            "uncertainty_us",
            ClockEstimate.uncertainty_us,
            "The largest error that the offset may have.",
            "microseconds",
        ),
        integer("probes", ClockEstimate.probes, "The number of exchanges. The estimate is from the best one."),
    ),
    out_of(_clocks),
)


def _study(study_id: int) -> Select[Any]:
    return select(Study.id).where(Study.id == study_id)


def _within(*path: str) -> Callable[[dict[str, Any] | None], Any]:
    """A function that gets the value at a path of a JSON document; None if there is none."""

    def find(document: Any) -> Any:  # noqa: ANN401 - JSON
        for name in path:
            document = (document or {}).get(name)
        return document

    return find


_ENTRY = select(AuditDetail.detail).join(AuditEntry, AuditEntry.number == AuditDetail.number)
_UNBLINDING = _ENTRY.where(AuditEntry.action == UNBLINDING, AuditDetail.study_id == Study.id).scalar_subquery()


def _sentences(unblinding: dict[str, Any] | None) -> str | None:
    return " ".join((unblinding or {}).get("unfinished", ())) or None


STUDY = Table(
    "study",
    "The study, one row, with the protocol that the lock fixed.",
    (
        text("study", Study.name, "The study's name."),
        text("title", Study.title, "Its title."),
        text("state", Study.state, "draft, locked or unblinded."),
        micros("locked_us", Study.locked_us, "When it was locked."),
        micros("unblinded_us", Study.unblinded_us, "When it was unblinded."),
        text("unfinished", _UNBLINDING, "What was unfinished then. Empty: nothing.", of=_sentences),
        text("override", _UNBLINDING, "The custodian's reason to unblind it unfinished.", of=_within("override")),
        text("protocol_sha256", Study.protocol_sha256, "SHA-256 of the protocol, as in the audit log."),
        text("protocol", Study.protocol, "The protocol, a TOML document.", blinded=True),
    ),
    out_of(_study),
)


def _traces(study_id: int) -> Select[Any]:
    rows = select(Trace.id).join(METER, METER.id == Trace.device_id).outerjoin(LAPTOP, LAPTOP.id == Trace.laptop_id)
    return rows.where(Trace.study_id == study_id).order_by(Trace.client_id)


_OF_TRACE = TracePart.trace_id == Trace.id
_PARTS = select(func.count()).where(_OF_TRACE).correlate(Trace).scalar_subquery()
_BYTES = select(func.sum(TracePart.bytes)).where(_OF_TRACE).correlate(Trace).scalar_subquery()


TRACES = Table(
    "traces",
    "Power traces, one row each. Their parts are separate Parquet files.",
    (
        text("trace", Trace.client_id, "The trace's id.", of=str),
        text("meter", METER.code, "The code of the device that measured."),
        text("laptop", LAPTOP.code, "The code of the laptop that was measured."),
        micros("created_us", Trace.created_us, "When the meter announced the trace."),
        micros("sealed_us", Trace.sealed_us, "When the server had received all of it."),
        integer("parts", _PARTS, "How many parts have arrived."),
        integer(
            "bytes",
            _BYTES,
            "The room that its parts take on the server.",
            "bytes",
            of=lambda size: size and int(size),
            blinded=True,
        ),
        text("clock", Trace.header, "The meter's clock.", of=_within("clock"), blinded=True),
        Column(
            "rate_hz", Kind.NUMBER, "Nominal samples a second.", "Hz", Trace.header, _within("rate_hz"), blinded=True
        ),
        text("source", Trace.header, "The kind of instrument.", of=_within("source", "kind"), blinded=True),
        text("calibration", Trace.header, "The calibration record.", of=_within("calibration", "name"), blinded=True),
        integer(
            "started_us",
            Trace.header,
            "The first sample.",
            METER_US,
            of=_within("started", "monotonic_us"),
            blinded=True,
        ),
        integer(
            "ended_us", Trace.manifest, "The last sample.", METER_US, of=_within("ended", "monotonic_us"), blinded=True
        ),
        integer("samples", Trace.manifest, "Samples of each channel.", of=_within("samples"), blinded=True),
    ),
    out_of(_traces),
)
