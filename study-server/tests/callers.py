# SPDX-License-Identifier: GPL-2.0-or-later
"""Everybody who can call the server, and the arguments of each route."""

import re
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import update
from werkzeug.routing import Rule as Url

import given_devices
import given_participants
import given_studies
from happe_study.base.clock import now_us
from happe_study.base.codes import digest, new_secret
from happe_study.model.accounts import Account, Token, TokenKind
from happe_study.model.devices import Device
from happe_study.model.rights import Role
from happe_study.model.rules import Who
from happe_study.model.studies import Study
from happe_study.study.people import accounts as services
from happe_study.study.people import devices, tokens
from world import World

HERE, ELSEWHERE, EVERYWHERE = "here", "elsewhere", "everywhere"
ARGUMENT = re.compile(r"([a-z]+)/<(?:[^:<>]+:)?([a-z_]+)>")  # with the part of the path before it
CLIENT_ID = UUID("11111111-2222-4333-8444-555555555555")


@dataclass(frozen=True)
class Somebody:
    """A caller. `kind` is None if the server refuses the token: it is unknown, expired, revoked or disabled."""

    token: str | None
    kind: Who | None
    device_kind: str | None = None
    role: Role | None = None
    where: str | None = None


@dataclass(frozen=True)
class Scene:
    """A locked study with a participant, runs and devices, and all callers."""

    world: World
    study: Study
    callers: dict[str, Somebody]
    arguments: dict[str, object]  # by the part of the path before them, or by their name

    def view_args(self, url: Url) -> dict[str, object]:
        """A route's arguments. Raises KeyError, with advice, for an argument without a value."""
        before = {name: part for part, name in ARGUMENT.findall(url.rule)}
        return {name: self._argument(url, before.get(name, ""), name) for name in url.arguments}

    def _argument(self, url: Url, before: str, name: str) -> object:
        for key in (f"{before}/{name}", name):
            if key in self.arguments:
                return self.arguments[key]
        message = f"{url.rule}: say in tests/callers.py what <{name}> is to be"
        raise KeyError(message)


def scene(world: World) -> Scene:
    """Make the scene."""
    study = given_studies.study(world, protocol=given_studies.small("here"))
    other = given_studies.study(world, protocol=given_studies.small("elsewhere"))
    target, link = given_participants.participant(world, study)
    run = given_participants.runs_of(world, target)[0]
    target_device = given_devices.device(world, study, name="target").device
    world.account(email="target@example.org")
    arguments = {
        "study": study.name,
        "participants/code": target.code,
        "profiles/code": target.code,
        "application": "torcs",
        "runs/code": run.code,
        "devices/code": target_device.code,
        "email": "target@example.org",
        "token": link,
        "client_id": CLIENT_ID,
        "trace": CLIENT_ID,
        "number": 0,
        "piece": 1,
        "table": "runs",
        "what": "measures",
        "how": "cancel",
        "file": "report.html",
        "filename": "happe.css",
    }
    return Scene(
        world, study, _machines(world, study) | _staff(world, study, other) | _nobodies(world, study), arguments
    )


def _machines(world: World, study: Study) -> dict[str, Somebody]:
    _row, link = given_participants.participant(world, study)
    laptop = given_devices.device(world, study)
    meter = given_devices.device(world, study, "meter")
    return {
        "anybody": Somebody(None, Who.ANYBODY),
        "participant": Somebody(link, Who.PARTICIPANT),
        "laptop": Somebody(laptop.token, Who.DEVICE, "laptop"),
        "meter": Somebody(meter.token, Who.DEVICE, "meter"),
    }


def _staff(world: World, study: Study, other: Study) -> dict[str, Somebody]:
    places = {HERE: study.id, ELSEWHERE: other.id, EVERYWHERE: None}
    found = {"staff without a role": Somebody(world.account(), Who.STAFF)}
    for role in Role:
        for where, study_id in places.items():
            token = world.account(role, study_id=study_id)
            found[f"{role} {where}"] = Somebody(token, Who.STAFF, role=role, where=where)
    return found


def _nobodies(world: World, study: Study) -> dict[str, Somebody]:
    """Tokens that do not work. Those of accounts had every role once."""
    found = {
        "disabled": world.account(*Role, email="disabled@example.org"),
        "given password": world.account(*Role, email="given@example.org"),
        "expired": world.account(*Role),
        "revoked": world.account(*Role),
        "unknown": new_secret(),
        "empty": "",
    }
    laptop = given_devices.device(world, study)
    found["revoked laptop"] = laptop.token
    with world.app.app_context(), world.database.writing() as session:
        session.add(Account(email="administrator@example.org", fs_uniquifier=new_secret(), created_us=now_us()))
        disabled = services.get(session, "disabled@example.org")
        disabled.active = False
        services.get(session, "given@example.org").password_given = True
        for name, change in (("expired", {"expires_us": now_us() - 1}), ("revoked", {"revoked_us": now_us()})):
            session.execute(update(Token).where(Token.sha256 == digest(found[name])).values(change))
        devices.revoke(session, session.get_one(Device, laptop.device.id), None)
    return {name: Somebody(token, None) for name, token in found.items()}


def renewed(world: World, caller: Somebody) -> Somebody:
    """The caller with a new token, because the old one may have ended."""
    with world.database.writing() as session:
        row = session.query(Token).filter_by(sha256=digest(caller.token or "")).one()
        if row.kind != TokenKind.ACCOUNT or row.account_id is None:
            return caller
        token = tokens.issue(session, TokenKind.ACCOUNT, row.account_id)
    return Somebody(token, caller.kind, role=caller.role, where=caller.where)
