# SPDX-License-Identifier: GPL-2.0-or-later
"""A checked run record: the rules of docs/traces.md that happe_contract.schemas can't express. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from happe_contract.faults import Fault, refuse_if_any
from happe_contract.strict_json import Json
from happe_study.study.records.lessons import lesson_faults, profile_faults

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
    uafp_khz: list[int]  # ten kHz: the UAFP after it
    probe: bool = False


@dataclass(frozen=True)
class RunRecord:
    """The values that the server reads from a record. It stores the record itself unchanged.

    `served` is the user and application of the profile; None under a kernel condition. Profiles are ten kHz for levels
    0 to 9, None if HAPPE served nobody. No page may show any of this before unblinding.
    """

    run: str
    client_id: str
    started_us: int  # by the record's clock, like ended_us and the lessons' times
    ended_us: int
    served: tuple[str, str] | None
    knew_profile: bool
    profile_before: list[int] | None
    profile_after: list[int] | None
    learned: tuple[Lesson, ...]
    raised: bool  # whether the laptop dropped what it learned at the run's end


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
        started_us=document["started_us"],
        ended_us=document["ended_us"],
        served=served(document),
        knew_profile=knew_profile(document),
        profile_before=document["profile_before"],
        profile_after=document["profile_after"],
        learned=tuple(Lesson(**lesson) for lesson in document["learned"]),
        raised=document.get("raised", False),
    )


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
    before = document["profile_before"]
    if served(document) and not before:
        yield Fault("/profile_before", "must not be null, because HAPPE served somebody")
    elif _given(document).get(served(document), before) != before:
        yield Fault("/profile_before", "is not what the header's uafp has of this user and application")
    yield from lesson_faults(document)
    yield from profile_faults(document)


def _given(document: Json) -> dict[tuple[str, str] | None, list[int]]:
    return {(uafp["user"], uafp["app"]): uafp["khz"] for uafp in document["header"].get("uafp", ())}


def knew_profile(document: Json) -> bool:
    """Whether the laptop had a profile of the user and application before the run."""
    return served(document) in _given(document)


MOST_NAME_BYTES = 255


def header_faults(header: Json) -> Iterator[Fault]:
    """The faults of a trace's header, at the JSON pointer /header."""
    ladders = header["ladders_khz"]
    for policy, khz in ladders.items():
        yield from ascending(f"/header/ladders_khz/{policy}", khz)
    for policy, khz in header.get("calibrated_khz", {}).items():
        at = f"/header/calibrated_khz/{policy}"
        if policy not in ladders:
            yield Fault(at, "is not of a policy in ladders_khz")
        elif len(khz) != len(ladders[policy]):
            yield Fault(at, "must be as long as the policy's ladder")
        yield from ascending(at, khz)
    yield from _domain_faults(header)
    known = set()
    for number, uafp in enumerate(header.get("uafp", ())):
        at = f"/header/uafp/{number}"
        yield from monotonic(f"{at}/khz", uafp["khz"])
        yield from _name_faults(at, uafp)
        if (uafp["user"], uafp["app"]) in known:
            yield Fault(at, "is a second profile of this user and application")
        known.add((uafp["user"], uafp["app"]))


def _domain_faults(header: Json) -> Iterator[Fault]:
    """The faults of the header's domains. If there are any domains, they must name each policy exactly once."""
    missing = {int(policy) for policy in header["ladders_khz"]}
    named = set()
    for number, domain in enumerate(header.get("domains", ())):
        for place, policy in enumerate(domain):
            at = f"/header/domains/{number}/{place}"
            if policy in named:
                yield Fault(at, "is in a domain already")
            elif policy not in missing:
                yield Fault(at, "is not in ladders_khz")
            named.add(policy)
    if named and (left_out := missing - named):
        yield Fault("/header/domains", f"does not name policy {min(left_out)}")


def ascending(at: str, khz: list[int]) -> Iterator[Fault]:
    """A fault where a ladder does not ascend strictly."""
    for number, (lower, upper) in enumerate(pairwise(khz), start=1):
        if upper <= lower:
            yield Fault(f"{at}/{number}", "must be greater than the frequency before")


def monotonic(at: str, khz: list[int]) -> Iterator[Fault]:
    """A fault where a UAFP descends."""
    for level, (lower, upper) in enumerate(pairwise(khz), start=1):
        if upper < lower:
            yield Fault(f"{at}/{level}", "must not be less than the level below")


def observation_faults(document: Json) -> Iterator[Fault]:
    """The faults of a record's observations. The record's header must have none."""
    policies = {int(policy) for policy in document["header"]["ladders_khz"]}
    pressed: dict[str, int] = {}
    last = -1
    for number, line in enumerate(document["observations"]):
        at = f"/observations/{number}"
        if line["t_us"] <= last:
            yield Fault(f"{at}/t_us", "must be later than the line before")
        last = line["t_us"]
        if not document["started_us"] <= last <= document["ended_us"]:
            yield Fault(f"{at}/t_us", "must lie between started_us and ended_us")
        yield from _policy_faults(at, line["policies"], policies)
        if line.get("keys"):
            yield from _press_faults(at, line, document["started_us"], pressed)


def _policy_faults(at: str, listed: list[Json], known: set[int]) -> Iterator[Fault]:
    seen = set()
    for number, policy in enumerate(listed):
        if policy["id"] not in known:
            yield Fault(f"{at}/policies/{number}/id", "is not in the header's ladders_khz")
        if policy["id"] in seen:
            yield Fault(f"{at}/policies/{number}/id", "is listed twice")
        seen.add(policy["id"])


def _press_faults(at: str, line: Json, started_us: int, pressed: dict[str, int]) -> Iterator[Fault]:
    """The faults of a line's presses. Updates `pressed`, which has each key's last press in microseconds."""
    for number, press in enumerate(line["keys"]):
        t_us, before = press["t_us"], pressed.get(press["key"], started_us)
        if t_us > line["t_us"]:
            yield Fault(f"{at}/keys/{number}/t_us", "must not be later than its line's t_us")
        if t_us < started_us:
            yield Fault(f"{at}/keys/{number}/t_us", "must not be earlier than started_us")
        elif t_us < before:
            yield Fault(f"{at}/keys/{number}/t_us", "must not be earlier than this key's press before")
        pressed[press["key"]] = t_us


def served(document: Json) -> tuple[str, str] | None:
    """The first user and application that a record's lines serve; None under a kernel condition."""
    lines = document["observations"]
    return next(((x["user"], x["app"]) for x in lines if x["user"] is not None and x["app"] is not None), None)


def served_faults(document: Json) -> Iterator[Fault]:
    """The faults of names. All lines name one user and one application, or null."""
    who = served(document)
    if who is None:
        return
    known = set()
    for number, line in enumerate(document["observations"]):
        at = f"/observations/{number}"
        for field, name in zip(("user", "app"), who, strict=True):
            if line[field] not in (name, None):
                yield Fault(f"{at}/{field}", "must be the same all through the run")
        names = line["user"], line["app"]
        if None not in names and names not in known:
            known.add(names)
            yield from _name_faults(at, line)


def _name_faults(at: str, names: Json) -> Iterator[Fault]:
    """The faults of too long names. JSON Schema counts characters, but docs/traces.md limits the bytes."""
    for field in ("user", "app"):
        if len(names[field].encode()) > MOST_NAME_BYTES:
            yield Fault(f"{at}/{field}", f"must have at most {MOST_NAME_BYTES} bytes of UTF-8")
