# SPDX-License-Identifier: GPL-2.0-or-later
"""What participants and their laptops did in a study, as rows: the same ones that the program would have written.

Participants come one after the other: invited, enrolled, at a laptop for an hour, at home for good. Of a hundred one
has dropped out in the middle and nine are in the middle; the others are done. Of ten one had to repeat a run. A last
few are invited or have consented, and wait.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import records
from happe_study.audit import chain
from happe_study.audit.models import AuditDetail, AuditEntry
from happe_study.base.codes import ALPHABET, CODE_LENGTH, digest
from happe_study.design.allocation.plan import plan
from happe_study.design.allocation.sealing import open_trace_key, part_digest, record_digest, seal_condition
from happe_study.evidence.profiles.models import LearningEvent, TaughtRun, Uafp
from happe_study.evidence.traces.models import Trace, TracePart
from happe_study.evidence.traces.sealed import Seal, new_trace_key, part_room, sealed_manifest
from happe_study.evidence.traces.storage import Folder, Part
from happe_study.people.accounts.models import Token
from happe_study.people.devices.enrolment import fingerprint
from happe_study.people.devices.models import ClockEstimate, Sitting
from happe_study.people.participants.models import OnWithdrawal, Participant
from happe_study.runs.course.models import Run, RunRecord
from happe_study.runs.course.services import SECOND_US
from happe_study.studies.services import protocol_of
from scripts import Names, Scripts, teaches
from world import fixed_secrets

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from bulk import Pile
    from given_devices import Enrolled
    from happe_study.design.allocation.plan import PlannedRun, SlotPlan
    from happe_study.design.study import Study

ORDER = (
    Participant, Token, Sitting, ClockEstimate, Trace, TracePart,
    Run, RunRecord, Uafp, LearningEvent, TaughtRun, AuditEntry, AuditDetail,
)  # fmt: skip
STAFF = "staff:experimenter@example.org"
EACH_US = 1500 * SECOND_US  # a participant's time
RUN_US = 60 * SECOND_US  # of which a run lasts forty
EVERY, FIRST, REPEATED = 10, 3, 5  # of every ten participants the third repeats the sixth run
ESTIMATES = 5  # of each clock in a sitting
WAITING = 32  # who have a link and no place yet
KEY = fixed_secrets().allocation


def link(code: str) -> str:
    """The token of a participant or device, which follows from the code here."""
    return f"link-{code}"


class Log:
    """The audit log's chain, from where it is."""

    def __init__(self, pile: Pile, study_id: int, head: tuple[int, str], random: Random) -> None:
        """Go on after the head."""
        self.number, self.chain = head
        self._pile, self._study_id, self._random = pile, study_id, random

    def add(self, at_us: int, action: str, by: str, participant_id: int | None = None, **detail: str | int) -> None:
        """An entry and its detail."""
        salt, text = self._random.randbytes(chain.SALT_BYTES), chain.canonical({"by": by, **detail})
        detail_sha256 = hashlib.sha256(salt + text).hexdigest()  # as chain.detail_digest has it
        self.number += 1
        self.chain = chain.link(self.chain, self.number, at_us, action, detail_sha256)
        self._pile.put(AuditEntry, (self.number, at_us, action, detail_sha256, self.chain))
        self._pile.put(AuditDetail, (self.number, self._study_id, participant_id, salt, text.decode()))


@dataclass(frozen=True)
class Setting:
    """A locked study, with its seed and salt; pairs of a laptop and its meter; when it began; how it stands."""

    study: Study
    seed: tuple[bytes, bytes]
    devices: list[tuple[Enrolled, Enrolled]]
    began_us: int
    unblinded: bool


class Story:
    """All of a study that was locked a while ago."""

    def __init__(self, pile: Pile, setting: Setting, random: Random) -> None:
        """Begin where the database is."""
        self.pile, self.random, self.study = pile, random, setting.study
        self.devices, self.began_us, self.unblinded = setting.devices, setting.began_us, setting.unblinded
        study, seed = setting.study, setting.seed
        self.protocol, self.scripts = protocol_of(study), Scripts()
        self.slots = [slot for slots in plan(self.protocol, *seed).values() for slot in slots]
        self.log = Log(pile, study.id, pile.head(), random)
        self.codes: set[str] = set()
        self.taken: list[int] = []

    def tell(self, traces: Path) -> None:
        """Everybody, each at one of the laptops in turn."""
        for device in (each for pair in self.devices for each in pair):
            self._token("device", device.device.id, device.device.code, self.began_us)
        storage = Folder(traces)
        for number, slot in enumerate(self.slots):
            Visit(self, number, slot).tell(storage)
            self.pile.relieve()
        for number in range(WAITING):
            self._wait(number)
        self.pile.flush()
        self.pile.move_head(self.log.number, self.log.chain)
        self.pile.take_slots(self.study.id, self.taken)

    def code(self) -> str:
        """A new one."""
        while (made := "".join(self.random.choices(ALPHABET, k=CODE_LENGTH))) in self.codes:
            pass
        self.codes.add(made)
        return made

    def client_id(self) -> str:
        """One that a device makes."""
        return str(UUID(int=self.random.getrandbits(128), version=4))

    def invited(self, at_us: int) -> tuple[int, str]:
        """Id and code of a participant who gets a link now; the row is the caller's."""
        number, code = self.pile.id(Participant), self.code()
        self._token("participant", number, code, at_us)
        self.log.add(at_us, "participant.invited", STAFF, number, participant=code)
        return number, code

    def _token(self, kind: str, owner: int, code: str, at_us: int) -> None:
        row: dict[str, Any] = {"sha256": digest(link(code)), "kind": kind, f"{kind}_id": owner}
        self.pile.add(Token, id=self.pile.id(Token), created_us=at_us, proven_us=at_us, **row)

    def _wait(self, number: int) -> None:
        at_us = self.began_us + len(self.slots) * EACH_US
        row_id, code = self.invited(at_us)
        row: dict[str, Any] = {"state": "invited"}
        if number % 2:
            row = {"state": "consented", **consent(at_us)}
            self.log.add(at_us, "participant.consented", f"participant:{code}", row_id, participant=code, version="1")
        self.pile.add(Participant, id=row_id, study_id=self.study.id, code=code, created_us=at_us, **row)


def consent(at_us: int) -> dict[str, Any]:
    """What is known of participants who have consented."""
    return {"consent_version": "1", "consent_us": at_us, "on_withdrawal": OnWithdrawal.ERASE}


class Visit:
    """A participant's time in the study."""

    def __init__(self, story: Story, number: int, slot: SlotPlan) -> None:
        """Participant `number` gets a slot."""
        self.story, self.pile, self.number, self.slot = story, story.pile, number, slot
        self.at_us = story.began_us + number * EACH_US
        laptop, meter = story.devices[number % len(story.devices)]
        self.laptop, self.meter = laptop.device, meter.device
        self.id, self.code = story.invited(self.at_us)
        through = 1 + number // 100 % (len(slot) - 1)
        self.done = number % 100 not in range(10, 20)
        self.dropped = number % 100 == 10  # noqa: PLR2004 - one of a hundred
        self.complete = len(slot) if self.done else through

    def tell(self, storage: Folder) -> None:
        """All of it."""
        log, me, at_us = self._log, f"participant:{self.code}", self.at_us
        log(at_us, "participant.consented", me, participant=self.code, version="1")
        log(at_us, "participant.enrolled", me, participant=self.code)
        log(at_us, "participant.handout-read", me, participant=self.code)
        log(at_us, "sitting.begun", self._laptop, device=self.laptop.name, participant=self.code)
        self._record_power(storage)
        before: dict[str, list[Any]] = {}
        for place, planned in enumerate(self.slot):
            self._run(place, planned, before.setdefault(planned.application, []))
        end_us = at_us + (len(self.slot) + 2) * RUN_US
        log(end_us, "sitting.ended", self._laptop, device=self.laptop.name)
        times = {"started_us": at_us, "ended_us": end_us}
        names = {"device_id": self.laptop.id, "participant_id": self.id}
        self.pile.add(Sitting, id=self.pile.id(Sitting), **names, **times)
        self._row(end_us)

    @property
    def _laptop(self) -> str:
        return f"device:{self.laptop.code}"

    def _log(self, at_us: int, action: str, by: str, **detail: str) -> None:
        self.story.log.add(at_us, action, by, self.id, **detail)

    def _row(self, end_us: int) -> None:
        state = "done" if self.done else "replaced" if self.dropped else "enrolled"
        times = {"created_us": self.at_us, "enrolled_us": self.at_us, "handout_us": self.at_us}
        ends = {"done": {"done_us": end_us}, "replaced": {"ended_us": end_us}, "enrolled": {}}[state]
        answers = {item.key: "7" for item in self.story.protocol.questionnaire.items}
        fields = {"study_id": self.story.study.id, "code": self.code, "state": state, "answers": answers}
        self.pile.add(Participant, id=self.id, **fields, **times, **ends, **consent(self.at_us))
        if self.dropped:
            self._log(end_us, "participant.replaced", STAFF, participant=self.code, reason="did not come back")
            self.story.log.add(end_us, "slot.returned", "server", runs_started=self.complete)
        self.story.taken.append(0 if self.dropped else self.id)

    def _run(self, place: int, planned: PlannedRun, before: list[Any]) -> None:
        """A run of the plan; it may have been aborted and repeated."""
        repeated = self.number % EVERY == FIRST and place == REPEATED < self.complete
        start_us = self.at_us + (place + 1) * RUN_US
        if repeated:
            self._aborted(place, planned, start_us)
        row = self._planned(planned, attempt=2 if repeated else 1)
        if place < self.complete:
            row |= self._completed(row, planned, before, start_us)
        elif place == self.complete and not self.dropped:
            row |= self._under_way(row, start_us)
        self.pile.add(Run, **row)

    def _planned(self, planned: PlannedRun, attempt: int) -> dict[str, Any]:
        code, condition = self.story.code(), planned.condition
        application = self.story.protocol.application(planned.application)
        return {
            "id": self.pile.id(Run),
            "participant_id": self.id,
            "study_id": self.story.study.id,
            "code": code,
            "position": planned.position,
            "attempt": attempt,
            "application": planned.application,
            "phase": str(planned.phase),
            "seconds": application.seconds,
            "state": "planned",
            "condition_sealed": seal_condition(KEY, code, condition),
            "condition": condition.label if self.story.unblinded else None,
        }

    def _started(self, row: dict[str, Any], start_us: int) -> dict[str, Any]:
        start_id, key_sha256 = self.story.client_id(), fingerprint(self.laptop.public_key) or ""
        self._log(start_us, "run.started", self._laptop, run=row["code"], start=start_id, key_sha256=key_sha256)
        return {"state": "started", "device_id": self.laptop.id, "start_id": start_id, "started_us": start_us}

    def _aborted(self, place: int, planned: PlannedRun, start_us: int) -> None:
        row = self._planned(planned, attempt=1)
        row |= self._started(row, start_us) | {"state": "replaced", "aborted_us": start_us + 1}
        row["abort_reason"] = "the laptop fell asleep"
        self._log(start_us, "run.aborted", STAFF, run=row["code"], reason=row["abort_reason"])
        self._log(start_us, "run.replaced", STAFF, run=row["code"], new=f"position {place + 1}")
        self.pile.add(Run, **row)

    def _under_way(self, row: dict[str, Any], start_us: int) -> dict[str, Any]:
        """A run that is on, is rated and waits for its record, or has not begun."""
        match self.number % 3:
            case 0:
                return self._started(row, start_us) | {"start_sealed": self.story.random.randbytes(560)}
            case 1:
                return self._started(row, start_us) | self._answered(row, start_us, 3)
            case _:
                return {}

    def _answered(self, row: dict[str, Any], start_us: int, rating: int) -> dict[str, Any]:
        end_us, me = start_us + row["seconds"] * SECOND_US, f"participant:{self.code}"
        self._log(end_us, "run.ended", self._laptop, run=row["code"])
        self._log(end_us, "run.rated", me, run=row["code"])
        self._log(end_us, "run.guessed", me, run=row["code"])
        choices = [choice.key for choice in self.story.protocol.guess_choices]
        guess = {"guess": self.story.random.choice(choices), "guess_id": self.story.client_id(), "guessed_us": end_us}
        rated = {"rating": rating, "rating_id": self.story.client_id(), "rated_us": end_us}
        return {"state": "rated", "ended_us": end_us, **rated, **guess}

    def _completed(self, row: dict[str, Any], planned: PlannedRun, before: list[Any], start_us: int) -> dict[str, Any]:
        """Started, answered and recorded. `before`: the conditions under which the application was taught so far."""
        teaching = teaches(planned.condition)
        script = self.story.scripts.of_run(self.number, before if teaching else (), planned.condition)
        if teaching:
            before.append(planned.condition)
        fields = self._started(row, start_us) | self._answered(row, start_us, script.document["rating"])
        at_us = fields["ended_us"]
        names = Names(row["code"], self.story.client_id(), self.code, planned.application)
        document, kept = script.sealed(KEY, names)
        record = {"run_id": row["id"], "client_id": names.record, "digest": kept, "document": document}
        kept_as = {"id": self.pile.id(RunRecord), "piece": 1, "received_us": at_us, "taken_out": self.story.unblinded}
        self.pile.add(RunRecord, **kept_as, **record)
        self._log(at_us, "run.recorded", self._laptop, run=row["code"], record=names.record, digest=kept)
        if self.story.unblinded:
            self._taught(row["id"], script.document, script.ladder)
        return fields | {"state": "complete", "record_us": at_us, "completed_us": at_us}

    def _taught(self, run_id: int, record: records.Json, ladder: list[int]) -> None:
        """What an unblinding takes out of the record."""
        for moment in ("before", "after"):
            if khz := record[f"profile_{moment}"]:
                self.pile.add(Uafp, id=self.pile.id(Uafp), run_id=run_id, moment=moment, khz=khz)
        for lesson in record["learned"]:
            self.pile.add(LearningEvent, id=self.pile.id(LearningEvent), run_id=run_id, **lesson)
        if record["observations"][0]["user"] is not None:
            times = {name: record[name] for name in ("started_us", "ended_us")}
            facts = {"lessons": len(record["learned"]), "warm": False, "ladder": ladder}
            self.pile.add(TaughtRun, run_id=run_id, **times, **facts)

    def _record_power(self, storage: Folder) -> None:
        """A trace of the whole sitting in one small part, and how far the clocks were from the server's."""
        trace, pile = self.story.client_id(), self.pile
        header = records.power_header(trace, meter=self.meter.code, measured=self.laptop.code)
        header["study"] = self.story.study.name
        manifest, content = records.power_manifest(1, trace=trace), records.part(0)
        key_sealed, room = new_trace_key(KEY, trace), part_room(header, len(content))
        sealed_part = Seal(open_trace_key(KEY, trace, key_sealed), trace, 0).sealed(content, room)
        part = Part(UUID(trace), 0, hashlib.sha256(sealed_part).hexdigest())
        storage.put(part, sealed_part)
        number, raw = pile.id(Trace), (records.encode(header), records.encode(manifest))
        row = {"study_id": self.story.study.id, "device_id": self.meter.id, "laptop_id": self.laptop.id}
        sealed: dict[str, Any] = {"sealed_us": self.at_us, "parts": 1, "manifest": None, "manifest_sealed": None}
        if self.story.unblinded:
            sealed["manifest"] = raw[1].decode()
        else:
            sealed["manifest_sealed"] = sealed_manifest(KEY, trace, manifest)
        sums = {
            "header_sha256": hashlib.sha256(raw[0]).hexdigest(),
            "manifest_digest": record_digest(KEY, hashlib.sha256(raw[1]).hexdigest()),
        }
        about = {
            "client_id": trace,
            "header": raw[0].decode(),
            "created_us": self.at_us,
        }
        about |= {"key_sealed": key_sealed, "seconds": 9, "stored_bytes": len(sealed_part)}
        pile.add(Trace, id=number, **row, **about, **sealed, **sums)
        facts = {"number": 0, "bytes": len(sealed_part), "sha256": part.sha256}
        facts |= {"digest": part_digest(KEY, len(content), hashlib.sha256(content).hexdigest())}
        pile.add(TracePart, id=pile.id(TracePart), trace_id=number, received_us=self.at_us, **facts)
        by, log = f"device:{self.meter.code}", self.story.log
        log.add(
            self.at_us, "trace.begun", by, trace=trace, header_sha256=sums["header_sha256"], measured=self.laptop.code
        )
        log.add(self.at_us, "trace.sealed", by, trace=trace, manifest_digest=sums["manifest_digest"], parts=1)
        for device in (self.laptop, self.meter):
            for minute in range(ESTIMATES):
                self._clock(device.id, self.at_us + minute * RUN_US)

    def _clock(self, device_id: int, at_us: int) -> None:
        said = {"clock": f"monotonic:{records.BOOT}", "device_us": at_us - 5, "server_us": at_us, "offset_us": 5}
        names = {"device_id": device_id, "client_id": self.story.client_id()}
        row_id = self.pile.id(ClockEstimate)
        self.pile.add(ClockEstimate, id=row_id, **names, **said, uncertainty_us=400, probes=16)
