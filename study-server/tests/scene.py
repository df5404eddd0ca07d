# SPDX-License-Identifier: GPL-2.0-or-later
"""A server with objects of all kinds, for requests about all of them.

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
from world import World

GUESS = "\n[guess]\nask = true\n"
PARTS = 3  # of the sealed trace
MANY = "1000000 per second"
UNLIMITED = {"login": MANY, "enrol": MANY, "participant": MANY}


@dataclass
class Scene:
    """The tokens by caller, without `anybody`'s; and codes and ids by the names that bad_requests.jsonl uses."""

    tokens: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)


def furnish(world: World) -> Scene:
    """Put all objects into an empty server."""
    scene = Scene()
    study(world, protocol=small("a-draft") + GUESS, locked=False)
    locked = study(world, protocol=small("a-study", participants=8) + GUESS)
    scene.tokens = {role: world.account(role, email=f"{role}@example.org") for role in Role}
    world.account(email="other@example.org")
    laptop, meter = device(world, locked, name="laptop 1"), device(world, locked, "meter", name="meter 1")
    scene.names["laptop"] = laptop.device.code
    scene.tokens |= {"laptop": laptop.token, "meter": meter.token}
    sitting, scene.tokens["participant"] = participant(world, locked)
    enrolled, _link = participant(world, locked)
    scene.names |= {
        "link": scene.tokens["participant"],
        "participant_sitting": sitting.code,
        "participant_enrolled": enrolled.code,
    }
    seat(world, laptop, sitting.id)
    _runs(world, scene, sitting, laptop)
    for sealed in (False, True):
        _trace(world, scene, header(locked, meter, laptop), sealed=sealed)
    return scene


def _runs(world: World, scene: Scene, sitting: Participant, laptop: Enrolled) -> None:
    """Let the first run have a record, the second its answers, and the third an end. The others are planned."""
    complete, rated, over, following, *_rest = (run.code for run in runs_of(world, sitting))
    answered(world, complete, laptop)
    assert put_record(world.client(laptop.token), records.make(complete, 20)).status_code == HTTPStatus.CREATED
    answered(world, rated, laptop)
    ended(world, over, laptop)
    scene.names |= {"run_complete": complete, "run_rated": rated, "run_ended": over, "run_next": following}


def _trace(world: World, scene: Scene, document: dict[str, str], *, sealed: bool) -> None:
    """Upload a trace with its first part, or with all parts and its manifest."""
    client, name = world.client(scene.tokens["meter"]), document["id"]
    assert put_trace(client, document).status_code == HTTPStatus.CREATED
    for number in range(PARTS if sealed else 1):
        assert put_part(client, name, number, records.part(number)).status_code == HTTPStatus.CREATED
    if sealed:
        assert put_seal(client, records.power_manifest(PARTS, trace=name)).status_code == HTTPStatus.OK
    scene.names["sealed_trace" if sealed else "open_trace"] = name
