# SPDX-License-Identifier: GPL-2.0-or-later
"""A checked run record. happe_contract.schemas checks the schema, this module the rules beyond it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from happe_contract.faults import Fault, refuse_if_any
from happe_study.study.records.lessons import lesson_faults, profile_faults
from happe_study.study.records.observations import header_faults, monotonic, observation_faults, served, served_faults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from happe_contract.strict_json import Json

LONGEST_US = (4 * 3600 + 60) * 1_000_000  # four hours of samples, and a minute for ending


@dataclass(frozen=True)
class Lesson:
    """A change of one UAFP entry by one press or one accepted probe. Times are in us of the record's clock."""

    t_us: int
    key: str  # performance or power
    policy: int
    level: int  # 0 to 9
    from_khz: int
    to_khz: int
    cur_khz: int
    util_ppm: int
    probe: bool = False


@dataclass(frozen=True)
class RunRecord:
    """The values that the server reads from a record. It stores the record itself unchanged.

    `served` is the user and application of the profile; None under a kernel condition. Profiles are ten kHz for levels
    0 to 9, None if untaught. No page may show any of this before unblinding.
    """

    run: str
    client_id: str
    clock: str  # "monotonic:" and the boot's UUID
    started_us: int  # by `clock`, like ended_us and the lessons' times
    ended_us: int
    samples: int
    served: tuple[str, str] | None
    profile_before: tuple[int, ...] | None
    profile_after: tuple[int, ...] | None
    learned: tuple[Lesson, ...]
    indicator: bool
    raised: bool  # whether the laptop dropped what it learned at the run's end
    rating: int | None
    backend: str


def run_record(document: Json, *, run: str, client_id: str) -> RunRecord:
    """Check a document that fits the schema, sent to run `run`'s address as `client_id`, and return its record.

    Raises BadDocumentError with at most 20 faults. A group of rules is checked only if the groups before it hold.
    """
    refuse_if_any(_address_faults(document, run, client_id))
    refuse_if_any(_own_faults(document))
    refuse_if_any(_trace_faults(document))
    refuse_if_any(_learning_faults(document))
    return RunRecord(
        run=run,
        client_id=client_id,
        clock=document["clock"],
        started_us=document["started_us"],
        ended_us=document["ended_us"],
        samples=len(document["observations"]),
        served=served(document),
        profile_before=_profile(document["profile_before"]),
        profile_after=_profile(document["profile_after"]),
        learned=tuple(Lesson(**lesson) for lesson in document["learned"]),
        indicator=document["indicator"],
        raised=document.get("raised", False),
        rating=document.get("rating"),
        backend=document["machine"]["backend"],
    )


def _profile(khz: list[int] | None) -> tuple[int, ...] | None:
    return None if khz is None else tuple(khz)


def _address_faults(document: Json, run: str, client_id: str) -> Iterator[Fault]:
    if document["run"] != run:
        yield Fault("/run", "differs from the run in the address")
    if document["id"] != client_id:
        yield Fault("/id", "differs from the id in the address")


def _own_faults(document: Json) -> Iterator[Fault]:
    """The faults of a record's fields outside its trace."""
    started, ended = document["started_us"], document["ended_us"]
    if ended <= started:
        yield Fault("/ended_us", "must be later than started_us")
    elif ended - started > LONGEST_US:
        yield Fault("/ended_us", f"must be at most {LONGEST_US} after started_us")
    for moment in ("profile_before", "profile_after"):
        yield from monotonic(f"/{moment}", document[moment] or [])
    for number, each in enumerate(document.get("interruptions", ())):
        at = f"/interruptions/{number}"
        if not started <= each["t_us"] <= ended:
            yield Fault(f"{at}/t_us", "must lie between started_us and ended_us")
        if not each["t_us"] <= each.get("until_us", each["t_us"]) <= ended:
            yield Fault(f"{at}/until_us", "must lie between t_us and ended_us")


def _trace_faults(document: Json) -> Iterator[Fault]:
    yield from header_faults(document["header"])
    yield from observation_faults(document)
    yield from served_faults(document)


def _learning_faults(document: Json) -> Iterator[Fault]:
    who = served(document)
    given = {(uafp["user"], uafp["app"]): uafp["khz"] for uafp in document["header"].get("uafp", ())}
    if who is not None and given.get(who) != document["profile_before"]:
        yield Fault("/profile_before", "is not what the header's uafp has of this user and application")
    yield from lesson_faults(document)
    yield from profile_faults(document)
