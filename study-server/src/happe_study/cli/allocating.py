# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server study allocation`: computes the allocation again from published values, without a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from happe_cli.commands import Command, json_option, print_json, print_table
from happe_cli.errors import EX_CHECK_FAILED, Failure
from happe_study.cli.protocols import checked, file_argument, protocol_text
from happe_study.study.allocation import SECRET_BYTES, CommitmentError, recompute

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from happe_study.study.allocation import SlotPlan

MORE = """Note the commitment when the study is locked. After the unblinding, this command proves that nobody changed
the allocation in between. The server publishes seed and salt, the commitment and the SHA-256 of the
protocol at /api/v1/studies/STUDY/commitment. The exit status is 1 if seed and salt do not match the
commitment. docs/allocation.md defines the computation, so that other programs can repeat it.

Examples:
  happe-server study allocation paper-a3.toml --commitment 9f86d0... --seed 60303a... --salt 1b4f0e...
  happe-server study allocation paper-a3.toml --commitment 9f86d0... --seed 60303a... --salt 1b4f0e... --json"""


class _Hexadecimal(click.ParamType[bytes]):
    """32 bytes in hexadecimal."""

    name = "HEX"

    def convert(self, value: object, parameter: click.Parameter | None, context: click.Context | None) -> bytes:
        """Convert the option to bytes; a usage error if it is wrong."""
        try:
            found = bytes.fromhex(str(value))
        except ValueError:
            found = b""
        if len(found) != SECRET_BYTES:
            self.fail(f"must be {2 * SECRET_BYTES} hexadecimal digits", parameter, context)
        return found


@click.command(cls=Command, epilog=MORE)
@file_argument
@click.option("--commitment", type=_Hexadecimal(), required=True, help="The commitment, published at the study's lock")
@click.option("--seed", type=_Hexadecimal(), required=True, help="The seed, published at the study's unblinding")
@click.option("--salt", type=_Hexadecimal(), required=True, help="The salt, published at the study's unblinding")
@json_option
def allocation(file: Path, commitment: bytes, seed: bytes, salt: bytes, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """Compute a study's allocation again, from its protocol and the published seed.

    Prints the runs of each slot in their order. The study's export has the runs that each participant got.
    """
    try:
        slots = recompute(checked(file, protocol_text(file)), commitment.hex(), seed, salt)
    except CommitmentError as error:
        raise Failure(EX_CHECK_FAILED, f"{file}: {error}") from error
    if as_json:
        print_json({"slots": [_document(*slot) for slot in _numbered(slots)]})
    else:
        print_table(list(_rows(slots)))


def _numbered(slots: Mapping[str, Sequence[SlotPlan]]) -> Iterator[tuple[str, int, SlotPlan]]:
    """Stratum, position from 1, and plan of each slot."""
    for stratum, plans in slots.items():
        for position, plan in enumerate(plans, start=1):
            yield stratum, position, plan


def _document(stratum: str, position: int, plan: SlotPlan) -> dict[str, Any]:
    runs = [{"application": run.application, "condition": run.condition.label} for run in plan]
    return {"stratum": stratum, "slot": position, "runs": runs}


def _rows(slots: Mapping[str, Sequence[SlotPlan]]) -> Iterator[tuple[str, ...]]:
    for stratum, position, plan in _numbered(slots):
        for run in plan:
            slot = f"{stratum} {position}".strip()
            yield f"slot {slot}", f"run {run.position}", run.application, run.condition.label
