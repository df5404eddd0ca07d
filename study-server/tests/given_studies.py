# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies with which tests begin."""

import secrets
from collections.abc import Callable

from sqlalchemy import select

from happe_study.model.rights import Role
from happe_study.model.studies import Study
from happe_study.results import unblinding
from happe_study.results.unblinding import Check, Order
from happe_study.study.studies import services
from world import PROTOCOLS, World, fixed_secrets

CROSSOVER = """\
name = "{name}"
title = "A small study"
participants = {participants}

[[application]]
key = "torcs"
name = "Torcs"
command = ["torcs"]
seconds = 120

[[application]]
key = "glest"
name = "Glest"
command = ["glest"]
seconds = 90

[order]
scheme = "{scheme}"

[consent]
version = "1"
text = "I take part of my own will."

[handout]
text = "Play as you like."
"""


def text(name: str) -> str:
    """The shipped protocol of this name."""
    return (PROTOCOLS / f"{name}.toml").read_text()


def small(name: str = "small", participants: int = 4, scheme: str = "crossover") -> str:
    """A protocol with two applications and no strata."""
    return CROSSOVER.format(name=name, participants=participants, scheme=scheme)


def study(
    world: World,
    name: str = "paper-a3",
    *,
    locked: bool = True,
    protocol: str | None = None,
    draw: Callable[[int], bytes] = secrets.token_bytes,
) -> Study:
    """A study of a shipped protocol or of a TOML text, locked if wanted. `draw` gives the seed's random bytes."""
    with world.database.writing() as session:
        made, _new = services.put(session, protocol or text(name), None)
        if locked:
            services.allocate(session, made, fixed_secrets(), None, draw=draw)
        session.expunge(made)
        return made


def unblind(world: World, name: str | None = None) -> Check:
    """Unblind the study of this name, by default the only one, as its custodian."""
    with world.database.writing() as session:
        found = services.find(session, name) if name else session.scalars(select(Study)).one()
        order = Order(None, "Everything is complete.", found.name, "A test is short.")
        return unblinding.unblind(session, found, fixed_secrets(), order)


def hold_roles(world: World, name: str) -> None:
    """Give the study an investigator and a custodian."""
    with world.database.reading() as session:
        study_id = services.find(session, name).id
    for role in (Role.INVESTIGATOR, Role.CUSTODIAN):
        world.account(role, study_id=study_id)
