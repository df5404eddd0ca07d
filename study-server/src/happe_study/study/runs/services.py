# SPDX-License-Identifier: GPL-2.0-or-later
"""The events of runs: a laptop starts and ends them, the participant rates and guesses, staff abort and replace.

Every function takes a session of `writing()` and raises Problem. machine.py says which event may happen when. Repeating
an event with the same content has no effect. The runs of a participant change one at a time. A Problem's status has
these meanings below: 403 forbidden, 404 not found, 409 conflict, 422 invalid input.
"""

from dataclasses import asdict

from sqlalchemy import Select, exists, select
from sqlalchemy.orm import Session

from happe_contract import conditions as names
from happe_study.base import fresh
from happe_study.base.clock import now_us
from happe_study.base.codes import is_code
from happe_study.base.config import Secrets
from happe_study.base.database import FOR_CHANGE
from happe_study.base.languages import gettext
from happe_study.base.problems import FieldError, conflict, forbidden, not_found, unprocessable
from happe_study.model.audit.chain import append
from happe_study.model.devices import Device, Sitting
from happe_study.model.participants import Participant, ParticipantState
from happe_study.model.rules import Caller, Who
from happe_study.model.runs import Run
from happe_study.model.studies import Study, StudyState
from happe_study.study.people.devices import fingerprint
from happe_study.study.protocol.conditions import Condition, Phase, Scheme
from happe_study.study.protocol.reading import Ondemand, Protocol
from happe_study.study.runs import machine, steps
from happe_study.study.runs.machine import Event, State
from happe_study.study.runs.planning import another_attempt
from happe_study.study.sealing import DOCUMENT_FORMAT, open_condition, seal_for_device
from happe_study.study.studies.services import protocol_of

SECOND_US = 1_000_000
COLUMNS = {
    Event.START: "started_us",
    Event.END: "ended_us",
    Event.RATE: "rated_us",
    Event.GUESS: "guessed_us",
    Event.RECORD: "record_us",
    Event.ABORT: "aborted_us",
}


def find(session: Session, study_id: int, code: str) -> Run:
    """A study's run. 404: the study has no such run."""
    query = select(Run).join(Participant).where(Run.code == code, Participant.study_id == study_id)
    run = session.scalar(query) if is_code(code) else None
    if run is None:
        raise not_found()
    return run


def find_own(session: Session, participant_id: int, code: str) -> Run:
    """A participant's run. 404: the participant has no such run."""
    query = select(Run).where(Run.code == code, Run.participant_id == participant_id)
    run = session.scalar(query) if is_code(code) else None
    if run is None:
        raise not_found()
    return run


def start(session: Session, run: Run, device: Caller, start_id: str, secrets: Secrets) -> bytes:
    """Start the participant's next run. Returns the condition's document, sealed to the laptop: always 560 bytes.

    Repeating the same `start_id` while the run is in progress returns the same bytes. 409: the participant does not sit
    at the laptop (`no-sitting`), another run comes first (`not-next`), the run is not planned (`run-state`), it was
    started under another id or by another laptop (`started`) or before the laptop got a new key (`renewed`), or the
    study is not open (`not-open`).
    """
    participant, study = locked(session, run)
    laptop = session.get_one(Device, device.id)
    if run.state == State.STARTED and run.ended_us is None:
        return _same_start(run, laptop, start_id)
    _require_open(session, study, participant)
    _require_sitting(session, participant, device)
    protocol = protocol_of(study)
    _require_next(session, run, participant, protocol)
    _happens(session, run, Event.START, protocol)
    condition = open_condition(secrets.allocation, run.code, run.condition_sealed)
    document = condition_document(study.name, participant, run, condition, protocol.ondemand)
    if protocol.epp is not None:
        document["epp"] = protocol.epp
    if protocol.order.scheme is Scheme.EXTENDED and condition.phase is Phase.MAIN:
        document["raised"] = True
    run.start_sealed = seal_for_device(laptop.public_key or b"", document)
    run.start_id, run.device_id = start_id, device.id
    key_sha256 = fingerprint(laptop.public_key) or ""
    _log(session, "started", run, participant, device, start=start_id, key_sha256=key_sha256)
    return run.start_sealed


def condition_document(
    study: str, participant: Participant, run: Run, condition: Condition, ondemand: Ondemand
) -> dict[str, object]:
    """The document that a laptop needs for a run (profiles/schema/sealed-condition.schema.json), without `pad`."""
    document: dict[str, object] = {
        "format": DOCUMENT_FORMAT,
        "study": study,
        "run": run.code,
        "subject": participant.code,
        "application": run.application,
        "condition": condition.governor,
        "indicator": condition.indicator,
        "keys": condition.keys,
    }
    if condition.governor == names.ONDEMAND:
        document |= asdict(ondemand)
    return document


def require_lasted(session: Session, run: Run, least_share: float) -> None:
    """Raise Problem 409 if a started run has not yet lasted `least_share` of its planned time, by the server's clock.

    Callers check this before a run ends and before it is rated, since its record may have ended it. So nobody can learn
    a slot's order of conditions faster than by taking part in the runs.
    """
    locked(session, run)
    if run.state != State.STARTED or run.started_us is None:
        return
    if now_us() < run.started_us + int(least_share * run.seconds * SECOND_US):
        raise conflict(
            "too-early", f"A run of {run.seconds} seconds can't have ended yet. Abort it if it can't continue."
        )


def end(session: Session, run: Run, device: Caller) -> None:
    """End a run, as the laptop that started it reports. 403: another laptop started it. 409: it is not in progress."""
    participant, study = locked(session, run)
    _require_starter(run, device)
    if _happens(session, run, Event.END, protocol_of(study)):
        _log(session, "ended", run, participant, device)


def rate(session: Session, run: Run, client_id: str, rating: int, who: Caller) -> None:
    """Store the participant's rating of a run that has ended. The participant or the laptop sends it.

    409: the run has a rating under another id, or can't be rated now. 422: the scale has no such point.
    """
    participant, study = locked(session, run)
    _require_device(session, run, participant, who)
    protocol = protocol_of(study)
    scale = protocol.rating
    if not scale.lowest <= rating <= scale.highest:
        limits = f"must be {scale.lowest} to {scale.highest}"
        raise unprocessable("The scale has no such point.", FieldError("/rating", limits))
    if _happens(session, run, Event.RATE, protocol):
        run.rating, run.rating_id = rating, client_id
        _log(session, "rated", run, participant, who)
    elif (run.rating, run.rating_id) != (rating, client_id):
        raise conflict("rated", gettext("This run is already rated. The first rating stays."))


def guess(session: Session, run: Run, client_id: str, choice: str, who: Caller) -> None:
    """Store the participant's guess of a rated run's condition. The participant or the laptop sends it.

    409: the run has a guess under another id, or can't be guessed now. 422: the protocol offers no such choice.
    """
    participant, study = locked(session, run)
    _require_device(session, run, participant, who)
    protocol = protocol_of(study)
    if protocol.guess.ask and choice not in {offered.key for offered in protocol.guess_choices}:
        raise unprocessable("This is not one of the answers.", FieldError("/guess", "must be one of those offered"))
    if _happens(session, run, Event.GUESS, protocol):
        run.guess, run.guess_id = choice, client_id
        _log(session, "guessed", run, participant, who)
    elif (run.guess, run.guess_id) != (choice, client_id):
        raise conflict("guessed", gettext("You have already guessed for this run. The first guess stays."))


def recorded(session: Session, run: Run, study: Study) -> None:
    """Note that a run has a record. The caller has locked run and participant. 409: the run was never started."""
    _happens(session, run, Event.RECORD, protocol_of(study))


def abort(session: Session, run: Run, reason: str, who: Caller | None) -> None:
    """Abort a started run, so that it does not count. Staff do this, or the laptop that started it (403: another one).

    409: the run is complete, not started, or aborted for another reason.
    """
    participant, study = locked(session, run)
    _require_starter(run, who)
    if _happens(session, run, Event.ABORT, protocol_of(study)):
        run.abort_reason = reason
        _log(session, "aborted", run, participant, who, reason=reason)
    elif run.abort_reason != reason:
        raise conflict("aborted", "This run was already aborted for another reason.")


def replace(session: Session, run: Run, secrets: Secrets, who: Caller | None) -> Run:
    """Plan another attempt in place of an aborted run, with the same condition and a new code. A repeat returns it too.

    409: the run is not aborted, or the participant no longer takes part.
    """
    participant, study = locked(session, run)
    if run.state == State.REPLACED:
        same = _of_participant(run).where(Run.position == run.position, Run.attempt == run.attempt + 1)
        found: Run = session.scalars(same).one()
        return found
    _require_open(session, study, participant)
    _happens(session, run, Event.REPLACE, protocol_of(study))
    new = fresh.add(session, lambda _code: another_attempt(run, secrets))
    _log(session, "replaced", run, participant, who, new=new.code)
    return new


def stop(session: Session, participant: Participant, reason: str) -> None:
    """Abort a participant's started runs. Rated runs still wait for their records. The caller has locked the row."""
    for run in session.scalars(select(Run).where(Run.participant_id == participant.id, Run.state == State.STARTED)):
        run.state, run.aborted_us, run.abort_reason, run.start_sealed = State.ABORTED, now_us(), reason, None


def present(session: Session, participant: Participant, protocol: Protocol) -> steps.Present | None:
    """The participant's present run; None if none is left, or none is planned yet."""
    runs = session.scalars(select(Run).where(Run.participant_id == participant.id))
    return steps.present(runs, asks_guess=protocol.guess.ask)


def locked(session: Session, run: Run) -> tuple[Participant, Study]:
    """Lock a run's participant, so that only this transaction changes their runs. Returns participant and study.

    404: while this waited for the lock, a withdrawal gave the run another code, which nobody may learn.
    """
    code = run.code
    participant = session.get_one(Participant, run.participant_id, populate_existing=True, with_for_update=FOR_CHANGE)
    session.refresh(run)
    if run.code != code:
        raise not_found()
    return participant, session.get_one(Study, participant.study_id)


def _happens(session: Session, run: Run, event: Event, protocol: Protocol) -> bool:
    """Store that an event happened. Returns False if it had happened before. 409: it may not happen now."""
    before = _history(run, protocol)
    try:
        after = machine.apply(before, event)
    except machine.IllegalEventError as error:
        raise conflict("run-state", f"The run is {error.state}: {error.why}.") from None
    if after == before:
        return False
    now = now_us()
    for happened in after.happened - before.happened:
        if happened in COLUMNS:
            setattr(run, COLUMNS[happened], now)
    run.state = after.state
    if not after.is_on:
        run.start_sealed = None
    if after.state is State.COMPLETE:
        run.completed_us = now
        _finish(session, run)
    return True


def _history(run: Run, protocol: Protocol) -> machine.Run:
    happened = {event for event, column in COLUMNS.items() if getattr(run, column) is not None}
    if run.state == State.REPLACED:
        happened.add(Event.REPLACE)
    return machine.Run(protocol.guess.ask, frozenset(happened))


def _finish(session: Session, run: Run) -> None:
    """Set the participant's state to done if every position has a complete run."""
    session.flush()
    left = _of_participant(run).where(Run.state.not_in((State.COMPLETE, State.REPLACED)))
    if session.scalar(select(left.exists())):
        return
    participant = session.get_one(Participant, run.participant_id)
    if participant.state == ParticipantState.ENROLLED:
        participant.state, participant.done_us = ParticipantState.DONE, now_us()


def _require_open(session: Session, study: Study, participant: Participant) -> None:
    """Raise Problem 409 unless the study is locked and the participant enrolled. Blocks unblinding until the commit."""
    session.refresh(study, with_for_update={"read": True})
    if study.state != StudyState.LOCKED or participant.state != ParticipantState.ENROLLED:
        raise conflict("not-open", "The study is not open, or the participant takes no part in it now.")


def _sits(session: Session, participant: Participant, device: Caller) -> bool:
    sitting = exists().where(Sitting.device_id == device.id, Sitting.participant_id == participant.id)
    return bool(session.scalar(select(sitting.where(Sitting.ended_us.is_(None)))))


def _require_sitting(session: Session, participant: Participant, device: Caller) -> None:
    if not _sits(session, participant, device):
        raise conflict("no-sitting", "The participant is not using this laptop.")


def _same_start(run: Run, laptop: Device, start_id: str) -> bytes:
    """The same answer again. Raises Problem 409 unless the laptop repeats its own start, and still has the same key."""
    if (run.start_id, run.device_id) != (start_id, laptop.id):
        raise conflict("started", "This run was already started under another id.")
    if run.start_sealed is None:
        raise conflict("renewed", "This laptop has another key than when the run was started. Abort the run.")
    return run.start_sealed


def _require_starter(run: Run, who: Caller | None) -> None:
    """Raise Problem 403 for a laptop that did not start the run."""
    if who and who.who is Who.DEVICE and run.device_id not in (None, who.id):
        raise forbidden("Another laptop started this run. Staff can abort it.")


def _require_device(session: Session, run: Run, participant: Participant, who: Caller | None) -> None:
    """Raise Problem 409 for a laptop that did not start the run, unless the participant sits at it."""
    if who and who.who is Who.DEVICE and run.device_id != who.id:
        _require_sitting(session, participant, who)


def _require_next(session: Session, run: Run, participant: Participant, protocol: Protocol) -> None:
    now = present(session, participant, protocol)
    if now is not None and now.run.id != run.id and run.state == State.PLANNED:
        raise conflict("not-next", "Another run comes before this one, or is not rated yet.")


def _of_participant(run: Run) -> Select[Run]:
    return select(Run).where(Run.participant_id == run.participant_id)


def _log(session: Session, action: str, run: Run, participant: Participant, who: Caller | None, **detail: str) -> None:
    named = {"run": run.code, **detail}
    append(session, f"run.{action}", who, study_id=participant.study_id, participant_id=participant.id, **named)
