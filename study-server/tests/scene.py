# SPDX-License-Identifier: GPL-2.0-or-later
"""A server with objects of all kinds, for tests that call every operation.

It has two studies, a draft and a locked one, and a caller of every kind. The locked study has participants in several
states, a laptop and a meter, runs in several states (one with its record), and an open and a sealed power trace.
"""

from dataclasses import dataclass, field
from http import HTTPStatus

import records
from given_devices import Enrolled, device, header, put_part, put_record, put_seal, put_trace, seat
from given_participants import answered, ended, participant, runs_of
from given_studies import small, study
from happe_study.model.participants import Participant
from happe_study.model.rights import Role
from happe_study.model.rules import DeviceKind
from happe_study.model.studies import Study
from happe_study.study.people import devices
from world import World

DRAFT, LOCKED = "a-draft", "a-study"
GUESS = "\n[guess]\nask = true\n"
PARTS = 3  # of the sealed trace
OTHER_ACCOUNT = "other@example.org"
CLOCK = "3b0f0c9e-4f52-4a58-9a1c-6f1a2b3c4d5e"
CALLERS = ("anybody", "participant", "laptop", "meter", *Role)
MANY = "1000000 per second"
UNLIMITED = {"login": MANY, "enrol": MANY, "participant": MANY}


@dataclass
class Scene:
    """The server's objects, by the names that requests use. `tokens` is by caller; `anybody` has none."""

    tokens: dict[str, str] = field(default_factory=dict)
    runs: dict[str, str] = field(default_factory=dict)  # code by state
    participants: dict[str, str] = field(default_factory=dict)  # code by state
    laptop: str = ""
    meter: str = ""
    spare: str = ""  # a device that has not enrolled yet
    enrolment_code: str = ""
    open_trace: str = ""
    sealed_trace: str = ""
    taught: str = ""  # the application of the run with a record
    record: str = ""  # the id of the only record

    def names(self) -> dict[str, str]:
        """The values that bad_requests.jsonl may use, by their names in it."""
        runs = {f"run_{state}": code for state, code in self.runs.items()}
        people = {f"participant_{state}": code for state, code in self.participants.items()}
        others = ("laptop", "meter", "spare", "enrolment_code", "open_trace", "sealed_trace", "record")
        return {**runs, **people, **{name: getattr(self, name) for name in others}, "link": self.tokens["participant"]}

    def values(self, path: str) -> dict[str, list[str]]:
        """Values of a path's parameters for which something exists."""
        codes = {
            "/runs/": list(self.runs.values()),
            "/participants/": list(self.participants.values()),
            "/profiles/": list(self.participants.values()),
            "/devices/": [self.spare, self.meter, self.laptop],
        }
        return {
            "study": [LOCKED, LOCKED, LOCKED, DRAFT],
            "code": next((codes[part] for part in codes if part in path), []),
            "email": [OTHER_ACCOUNT],
            "client_id": [self.record, CLOCK],
            "trace": [self.open_trace, self.sealed_trace],
            "number": ["0", "1", "7"],
            "table": ["runs", "participants"],
            "application": ["torcs", "glest"],
        }


def furnish(world: World) -> Scene:
    """Put all objects into an empty server."""
    scene = Scene()
    study(world, protocol=small(DRAFT) + GUESS, locked=False)
    locked = study(world, protocol=small(LOCKED, participants=8) + GUESS)
    _accounts(world, scene)
    laptop, meter = device(world, locked, name="laptop 1"), device(world, locked, "meter", name="meter 1")
    scene.laptop, scene.meter = laptop.device.code, meter.device.code
    scene.tokens |= {"laptop": laptop.token, "meter": meter.token}
    with world.database.writing() as session:
        row, scene.enrolment_code = devices.create(session, locked.id, "laptop 2", DeviceKind.LAPTOP, None)
        scene.spare = row.code
    sitting = _participants(world, scene, locked)
    seat(world, laptop, sitting.id)
    _runs(world, scene, sitting, laptop)
    _traces(world, scene, locked, meter, laptop)
    return scene


def _accounts(world: World, scene: Scene) -> None:
    for role in Role:
        scene.tokens[role] = world.account(role, email=f"{role}@example.org")
    world.account(email=OTHER_ACCOUNT)


def _participants(world: World, scene: Scene, locked: Study) -> Participant:
    """Add one participant who will sit at the laptop, one invited, and one enrolled. Returns the first."""
    sitting, scene.tokens["participant"] = participant(world, locked)
    invited, _link = participant(world, locked, enrolled=False)
    enrolled, _link = participant(world, locked)
    scene.participants = {"sitting": sitting.code, "invited": invited.code, "enrolled": enrolled.code}
    return sitting


def _runs(world: World, scene: Scene, sitting: Participant, laptop: Enrolled) -> None:
    """Let the first run have a record, the second its answers, and the third an end. The others are planned."""
    complete, rated, over, on, planned, *_rest = (run.code for run in runs_of(world, sitting))
    answered(world, complete, laptop)
    record = records.make(complete, 20)
    assert put_record(world.client(laptop.token), record).status_code == HTTPStatus.CREATED
    scene.record = record["id"]
    scene.taught = runs_of(world, sitting)[0].application
    answered(world, rated, laptop)
    ended(world, over, laptop)
    scene.runs = {"complete": complete, "rated": rated, "ended": over, "next": on, "planned": planned}


def _traces(world: World, scene: Scene, locked: Study, meter: Enrolled, laptop: Enrolled) -> None:
    client = world.client(meter.token)
    for sealed in (False, True):
        document = header(locked, meter, laptop)
        assert put_trace(client, document).status_code == HTTPStatus.CREATED
        for number in range(PARTS if sealed else 1):
            assert put_part(client, document["id"], number, records.part(number)).status_code == HTTPStatus.CREATED
        if sealed:
            scene.sealed_trace = document["id"]
            manifest = records.power_manifest(PARTS, trace=document["id"])
            assert put_seal(client, manifest).status_code == HTTPStatus.OK
        else:
            scene.open_trace = document["id"]
