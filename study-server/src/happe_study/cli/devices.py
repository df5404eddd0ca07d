# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server device` and `happe-server participant`."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import click
from sqlalchemy import select
from sqlalchemy.orm import Session

from happe_cli.commands import Group, examples, json_option, print_answer
from happe_study.cli import named
from happe_study.cli.server import Server, pass_server
from happe_study.model.devices import Device
from happe_study.model.rules import DeviceKind
from happe_study.model.studies import Study
from happe_study.study.people import devices as services
from happe_study.study.runs import participation as participants

study_argument = click.argument("study")
MOST_INVITED = 1000


@click.group(
    cls=Group,
    epilog=examples(
        "happe-server device enrol paper-a3 t61 --kind laptop",
        "happe-server device list paper-a3",
        "happe-server device revoke paper-a3 7K2M9QXA",
    ),
)
def device() -> None:
    """Laptops and measuring hosts of a study."""


@device.command(
    epilog=examples(
        "happe-server device enrol paper-a3 t61 --kind laptop", "happe-server device enrol paper-a3 bench --kind meter"
    )
)
@study_argument
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice([str(kind) for kind in DeviceKind]),
    required=True,
    help="laptop: runs the applications; meter: measures power",
)
@json_option
@pass_server
def enrol(server: Server, study: str, name: str, kind: str, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """Add a device, and print the code that it enrols with.

    The code works once, for 24 hours, and is shown only once. Give a revoked device a new code.
    """
    with server.writing() as session:
        found = named.study(session, study)
        there = session.scalar(select(Device).where(Device.study_id == found.id, Device.name == name))
        if there is not None and there.kind == kind and there.revoked_us is not None:
            made, code = there, services.renew(session, there, None)
        else:
            made, code = services.create(session, found.id, name, DeviceKind(kind), None)
        facts = {"device": made.code, "name": name, "kind": kind, "enrolment_code": code}
        said = f"{name} is device {made.code}. Within 24 hours, enrol it with the code  {code}"
    print_answer(facts, said, as_json=as_json)


@device.command("list", epilog=examples("happe-server device list paper-a3"))
@study_argument
@json_option
@pass_server
def list_(server: Server, study: str, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """List a study's devices."""
    with server.reading() as session:
        found = named.study(session, study)
        devices = session.scalars(select(Device).where(Device.study_id == found.id).order_by(Device.name))
        rows = [_shown(each) for each in devices]
    none = f"{study} has no device yet: happe-server device enrol {study} NAME --kind laptop"
    print_answer(rows, [each.values() for each in rows] or none, as_json=as_json)


@device.command(epilog=examples("happe-server device revoke paper-a3 7K2M9QXA"))
@study_argument
@click.argument("code")
@pass_server
def revoke(server: Server, study: str, code: str) -> None:
    """End a device's token, now."""
    with server.writing() as session:
        services.revoke(session, named.device(session, study, code), None)
    click.echo(f"{code} is revoked.")


@click.group(cls=Group, epilog=examples("happe-server participant invite paper-a3 --count 20 >links.txt"))
def participant() -> None:
    """Participants of a study."""


@participant.command(
    epilog=examples(
        "happe-server participant invite paper-a3",
        "happe-server participant invite paper-a3 --count 20 --json >links.json",
    )
)
@study_argument
@click.option(
    "--count", type=click.IntRange(1, MOST_INVITED), default=1, show_default=True, metavar="N", help="How many"
)
@json_option
@pass_server
def invite(server: Server, study: str, count: int, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """Invite participants, and print a link for each.

    The person with a link takes part as that participant. The command shows each link only once.
    """
    with server.writing() as session:
        found = named.study(session, study)
        made = list(_invited(server, session, found, count))
    print_answer(made, [each.values() for each in made], as_json=as_json)


def _invited(server: Server, session: Session, study: Study, count: int) -> Iterator[dict[str, str]]:
    for _ in range(count):
        row, token = participants.invite(session, study, None)
        yield {"participant": row.code, "link": f"{server.config.public_url}/p/{token}"}


def _shown(row: Device) -> dict[str, Any]:
    state = "revoked" if row.revoked_us else "enrolled" if row.enrolled_us else "waits for its code"
    heard = f"{datetime.fromtimestamp(row.heartbeat_us / 1e6, UTC):%Y-%m-%d %H:%M} UTC" if row.heartbeat_us else None
    return {"device": row.code, "name": row.name, "kind": row.kind, "state": state, "heard_of": heard}
