# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server study`: studies from protocol to unblinding."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import click
from sqlalchemy import select

from happe_cli.commands import Command, Group, examples, json_option, print_answer, print_json
from happe_cli.errors import EX_CHECK_FAILED, Failure
from happe_study.cli import data, exporting, named, unblinding
from happe_study.cli.named import STANDARD_INPUT, checked, file_argument, protocol_text
from happe_study.cli.server import Server, pass_server
from happe_study.model.runs import ExclusionReason
from happe_study.model.studies import Study
from happe_study.results.gate import excluded, unfinished
from happe_study.results.overview import status as counted
from happe_study.study.allocation import SECRET_BYTES, CommitmentError, recompute
from happe_study.study.protocol import placeholders, registration
from happe_study.study.runs import exclusions
from happe_study.study.studies import custodians, services

PROOF = """Note the commitment when the study is locked. After the unblinding, this command proves that nobody changed
the allocation in between. The server publishes seed and salt, the commitment and the SHA-256 of the
protocol at /api/v1/studies/STUDY/commitment. The exit status is 1 if seed and salt do not match the
commitment. docs/allocation.md defines the computation, so that other programs can repeat it.

Examples:
  happe-server study allocation paper-a3.toml --commitment 9f86d0... --seed 60303a... --salt 1b4f0e...
  happe-server study allocation paper-a3.toml --commitment 9f86d0... --seed 60303a... --salt 1b4f0e... --json"""


def _hexadecimal(text: str) -> bytes:
    """32 bytes from an option's hexadecimal digits."""
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != SECRET_BYTES:
        raise click.BadParameter(f"must be {2 * SECRET_BYTES} hexadecimal digits")
    return found


secret_option = partial(click.option, type=_hexadecimal, metavar="HEX", required=True)


@click.command(cls=Command, epilog=PROOF)
@file_argument
@secret_option("--commitment", help="The commitment, published at the study's lock")
@secret_option("--seed", help="The seed, published at the study's unblinding")
@secret_option("--salt", help="The salt, published at the study's unblinding")
@json_option
def allocation(file: Path, commitment: bytes, seed: bytes, salt: bytes, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """Compute a study's allocation again, from its protocol and the published seed.

    Prints the runs of each slot in their order. The study's export has the runs that each participant got.
    """
    try:
        slots = recompute(checked(file, protocol_text(file)), commitment.hex(), seed, salt)
    except CommitmentError as error:
        raise Failure(EX_CHECK_FAILED, f"{file}: {error}") from error
    made = [
        {
            "stratum": stratum,
            "slot": position,
            "runs": [{"application": run.application, "condition": run.condition.label} for run in plan],
        }
        for stratum, plans in slots.items()
        for position, plan in enumerate(plans, start=1)
    ]
    print_answer({"slots": made}, _allocated(made), as_json=as_json)


def _allocated(made: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    for slot in made:
        name = f"slot {slot['stratum']}".strip()
        for position, run in enumerate(slot["runs"], start=1):
            yield f"{name} {slot['slot']}", f"run {position}", run["application"], run["condition"]


MORE = examples(
    "happe-server study check paper-a3.toml",
    "happe-server study create paper-a3.toml",
    "happe-server study lock paper-a3          # draws the allocation; then the protocol cannot change",
    "happe-server study status paper-a3",
    "happe-server study export paper-a3 --out export",
    "happe-server study unblind paper-a3       # by a custodian, when every run is complete",
)

name_argument = click.argument("name", metavar="STUDY")


@click.group(cls=Group, epilog=MORE)
def study() -> None:
    """Studies: check a protocol, create, lock, show, exclude, unblind, compute again, export, measure, verify."""


@study.command(epilog=examples("happe-server study check paper-a3.toml", "happe-server study check - <paper-a3.toml"))
@file_argument
@json_option
def check(file: Path, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """Check a protocol, and list the parts that you must still fill in. Needs no server.

    Prints each mistake as FILE:LINE: FIELD: message. The exit status is 65 if there is one. A part that you must
    still fill in is not a mistake, but you can't lock the study with it.
    """
    text = protocol_text(file)
    protocol = checked(file, text)
    to_fill_in = placeholders.left(text)
    if as_json:
        left = [{"line": each.line, "words": each.words} for each in to_fill_in]
        print_json({"name": protocol.name, "title": protocol.title, "to_fill_in": left})
        return
    click.echo(f"{file}: the protocol of {protocol.name} is valid.")
    for each in to_fill_in:
        click.echo(f"{file}:{each.line}: {each.to_do}")
    if to_fill_in:
        click.echo("The study can't be locked before that.")


@study.command(epilog=examples("happe-server study preregister crossover.toml >registration.md"))
@file_argument
def preregister(file: Path) -> None:
    """Print a preregistration from a protocol, as Markdown. Needs no server.

    It has the design, the estimand, the margin and its reason, the outcomes in order, and the analysis sets.
    The audit log notes its SHA-256 when the study is locked, so nobody can exchange it later.
    """
    click.echo(registration.registration(checked(file, protocol_text(file))), nl=False)


@study.command(epilog=examples("happe-server study create paper-a3.toml"))
@file_argument
@json_option
@pass_server
def create(server: Server, file: Path, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """Make a draft from a protocol, or give a draft another protocol.

    Until it is locked, nobody can be invited, and the same command replaces the draft's protocol.
    """
    text = protocol_text(file)
    checked(file, text)
    with server.writing() as session:
        made, _new = services.put(session, text, None, None if str(file) == STANDARD_INPUT else str(file))
        facts = {"study": made.name, "state": made.state, "protocol_sha256": made.protocol_sha256}
        said = f"{made.name} is a draft. When it is final: happe-server study lock {made.name}"
    print_answer(facts, said, as_json=as_json)


@study.command(epilog=examples("happe-server study lock paper-a3"))
@name_argument
@click.option("--yes", is_flag=True, help="Don't ask")
@json_option
@pass_server
def lock(server: Server, name: str, yes: bool, as_json: bool) -> None:  # noqa: FBT001 - click's flags
    """Draw and seal the allocation, and open the study to participants.

    From then on the protocol stays as it is. Note the commitment elsewhere, or publish it: when the study is
    unblinded, it shows that nobody changed the allocation in between. The command refuses while the protocol
    still has parts to fill in, or while the study has no investigator or no custodian.
    """
    with server.reading() as session:
        draft = named.study(session, name)
        services.require_ready(session, draft)
    if not yes:
        click.confirm(f"Lock {name}? Its protocol can't be changed any more.", abort=True, err=True)
    with server.writing() as session:
        found = named.study(session, name)
        services.lock(session, found, server.secrets, None, read=draft.protocol_sha256)
        facts = {
            "study": found.name,
            "protocol_sha256": found.protocol_sha256,
            "registration_sha256": registration.digest(services.protocol_of(found)),
            "commitment": found.commitment,
        }
    said = f"""{name} is locked. Publish or note:
  protocol         {facts["protocol_sha256"]}
  preregistration  {facts["registration_sha256"]}  (happe-server study preregister)
  commitment       {facts["commitment"]}"""
    print_answer(facts, said, as_json=as_json)


@study.command("list", epilog=examples("happe-server study list", "happe-server study list --json | jq -r '.[].study'"))
@json_option
@pass_server
def list_(server: Server, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """List studies."""
    with server.reading() as session:
        studies: list[dict[str, Any]] = [
            {"study": each.name, "state": each.state, "created_us": each.created_us, "title": each.title}
            for each in session.scalars(select(Study).order_by(Study.name))
        ]
    rows = [(each["study"], each["state"], _day(each["created_us"]), each["title"]) for each in studies]
    none = "There is no study yet: happe-server study create FILE"
    print_answer(studies, rows or none, as_json=as_json)


@study.command(epilog=examples("happe-server study status paper-a3", "happe-server study status paper-a3 --json"))
@name_argument
@json_option
@pass_server
def status(server: Server, name: str, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """Show a study's progress: slots, participants, runs, devices, and who may unblind it.

    It counts nothing by condition.
    """
    with server.reading() as session:
        found = named.study(session, name)
        holders = custodians.shown(session, found, server.config.custodian_wait_hours)
        facts = {**counted(session, found), "unfinished": unfinished(session, found), "custodians": holders}
        facts["excluded"] = excluded(session, found)
    print_answer(facts, _status_rows(facts), as_json=as_json)


@study.command(
    epilog=examples(
        "happe-server study exclude paper-a3 7K2M9QXA --reason 'technical fault' --note 'the game crashed twice'",
        "happe-server study exclude paper-a3 7K2M9QXA --undo --note 'this was another run'",
    ),
)
@name_argument
@click.argument("code")
@click.option("--reason", type=click.Choice([str(each) for each in ExclusionReason]), help="Why")
@click.option("--note", metavar="TEXT", required=True, help="Why, in words, for the audit log; names nobody")
@click.option("--undo", is_flag=True, help="Count it again")
@json_option
@pass_server
def exclude(  # noqa: PLR0913, PLR0917 - an option each
    server: Server,
    name: str,
    code: str,
    reason: str | None,
    note: str,
    undo: bool,  # noqa: FBT001 - click's flag
    as_json: bool,  # noqa: FBT001 - click's flag
) -> None:
    """Exclude the run or the participant of this code from the analysis.

    Allocation and slots stay as they are, and nobody is replaced. You can undo it until a condition may be known.
    After the unblinding, or after an emergency that revealed the run, an exclusion is a sensitivity analysis only.
    """
    if (reason is None) != undo:
        raise click.UsageError("give either --reason, or --undo")
    with server.writing() as session:
        found = named.study(session, name)
        if reason is None:
            exclusions.undo(session, found, code, note, None)
        else:
            exclusions.exclude(session, found, code, ExclusionReason(reason), note, None)
    said = f"{code} counts again." if undo else f"{code} is excluded."
    print_answer({"code": code, "excluded": not undo}, said, as_json=as_json)


study.add_command(unblinding.unblind)
study.add_command(allocation)
study.add_command(exporting.export)
study.add_command(exporting.traces)
study.add_command(data.measure)
study.add_command(data.verify)
study.add_command(data.retention)


def _status_rows(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "study", f"{facts['study']}, {facts['state']}"
    for each in facts["slots"]:
        stratum = f" {each['stratum']}" if each["stratum"] else ""
        yield f"slots{stratum}", f"{each['taken']} of {each['slots']} taken"
    for what in ("participants", "runs"):
        counted = ", ".join(f"{count} {state}" for state, count in facts[what].items() if count)
        yield what, counted or "none yet"
    for what in ("unfinished", "excluded"):
        yield from ((what, each) for each in facts[what])
    for each in facts["devices"]:
        heard = f"last contact {_moment(each['heartbeat_us'])}" if each["heartbeat_us"] else "no contact yet"
        yield "device", f"{each['code']} {each['name']}, {'enrolled' if each['enrolled'] else 'not enrolled'}, {heard}"
    for each in facts["custodians"]:
        late = f", unblinds from {_moment(each['unblinds_from_us'])} on" if each["unblinds_from_us"] else ""
        yield (
            "custodian",
            f"{each['email']} since {_moment(each['since_us'])}{'' if each['active'] else ' (disabled)'}{late}",
        )


def _day(us: int) -> str:
    return f"{datetime.fromtimestamp(us / 1e6, UTC):%Y-%m-%d}"


def _moment(us: int) -> str:
    return f"{datetime.fromtimestamp(us / 1e6, UTC):%Y-%m-%d %H:%M} UTC"
