# SPDX-License-Identifier: GPL-2.0-or-later
"""A successful request to each operation of the API, on the server of scene.py. The order lets all succeed.

Each has the caller, the method and path of the operation, the path's parameters, and the body.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import records
from given_devices import PARQUET, content_digest
from given_studies import small
from happe_study.access.rights import Role
from scene import CLOCK, DRAFT, LOCKED, OTHER_ACCOUNT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scene import Scene

API = "/api/v1"
START, RATING, GUESS = (records.identity(seed) for seed in (101, 102, 103))
REASON = {"reason": "the laptop fell asleep"}
FIRST_PASSWORD = "a long first password"  # noqa: S105 - of nobody
PUBLIC_KEY = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="


@dataclass(frozen=True)
class Good:
    """A request that succeeds. `body` is JSON, or a document of another `media_type`."""

    who: str
    method: str
    path: str  # as in the OpenAPI document, without /api/v1
    parameters: dict[str, str] = field(default_factory=dict)
    body: Any = None
    query: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    media_type: str = "application/json"

    @property
    def operation(self) -> tuple[str, str]:
        """The operation, as in the OpenAPI document."""
        return self.method, API + self.path


def good_requests(scene: Scene) -> Iterator[Good]:
    """All of them, in order."""
    yield from _studies(scene)
    yield from _devices(scene)
    yield from _runs(scene)
    yield from _traces(scene)
    yield from _participants(scene)
    yield from _audit_and_accounts()
    yield from _last(scene)


def _studies(_scene: Scene) -> Iterator[Good]:
    investigator = Role.INVESTIGATOR
    named, locked = {"study": "another-study"}, {"study": LOCKED}
    protocol = small("another-study")
    yield Good(investigator, "POST", "/studies", body=protocol, media_type="application/toml")
    yield Good(investigator, "POST", "/studies", body=protocol, media_type="text/plain")
    yield Good(Role.ANALYST, "GET", "/studies")
    yield Good(Role.AUDITOR, "GET", "/studies/{study}", {"study": DRAFT})
    yield Good(investigator, "POST", "/studies/{study}/lock", named)
    yield Good(Role.EXPERIMENTER, "GET", "/studies/{study}/status", locked)
    yield Good("anybody", "GET", "/studies/{study}/commitment", locked)
    yield Good(investigator, "GET", "/studies/{study}/exports", locked)
    for form in ("csv", "jsonl", "parquet"):
        runs = locked | {"table": "runs"}
        yield Good(Role.ANALYST, "POST", "/studies/{study}/exports/{table}", runs, query={"format": form})


def _devices(scene: Scene) -> Iterator[Good]:
    locked, spare = {"study": LOCKED}, {"study": LOCKED, "code": scene.spare}
    staff = Role.ADMINISTRATOR
    heartbeat = {"state": "idle", "software": {"happe-study": "0.1.0"}, "free_gib": 12, "spool": 0}
    probes = {"clock": "realtime", "probes": [[1_000, 2_000, 2_010, 3_000], [5_000, 6_000, 6_010, 7_100]]}
    enrolment = {"code": scene.enrolment_code, "public_key": PUBLIC_KEY}
    yield Good("anybody", "POST", "/devices/enrol", body=enrolment)
    yield Good(staff, "GET", "/studies/{study}/devices", locked)
    yield Good(staff, "POST", "/studies/{study}/devices", locked, {"name": "laptop 3", "kind": "laptop"})
    yield Good(staff, "POST", "/studies/{study}/devices/{code}/enrolment", spare)
    yield Good(staff, "POST", "/studies/{study}/devices/{code}/revocation", spare)
    yield Good("laptop", "PUT", "/device/heartbeat", body=heartbeat)
    yield Good("meter", "GET", "/device/laptops")
    yield Good("meter", "GET", "/clock")
    yield Good("meter", "PUT", "/device/clocks/{client_id}", {"client_id": CLOCK}, probes)
    yield Good("laptop", "DELETE", "/device/sitting")
    yield Good("laptop", "PUT", "/device/sitting", body={"participant": scene.tokens["participant"]})


def _runs(scene: Scene) -> Iterator[Good]:
    over, on = {"code": scene.runs["ended"]}, {"code": scene.runs["next"]}
    mine, staff = {"study": LOCKED, **on}, Role.EXPERIMENTER
    record = records.make(over["code"], 5, seed=9)
    sent = over | {"client_id": record["id"]}
    yield Good("laptop", "PUT", "/runs/{code}/rating", over, {"id": RATING, "rating": 3})
    yield Good("laptop", "PUT", "/runs/{code}/guess", over, {"id": GUESS, "guess": "dont-know"})
    yield Good("laptop", "PUT", "/runs/{code}/record/{client_id}", sent, record)
    yield Good("laptop", "PUT", "/runs/{code}/record/{client_id}", sent, record)
    yield Good("laptop", "POST", "/runs/{code}/start", on, {"id": START})
    yield Good("laptop", "PUT", "/runs/{code}/end", on)
    yield Good("laptop", "POST", "/runs/{code}/abort", on, REASON)
    yield Good(staff, "POST", "/studies/{study}/runs/{code}/abort", mine, REASON)
    yield Good(staff, "POST", "/studies/{study}/runs/{code}/replacement", mine)
    yield Good(staff, "GET", "/studies/{study}/runs", {"study": LOCKED}, query={"limit": 3, "state": "planned"})
    yield Good(staff, "GET", "/studies/{study}/runs/{code}", mine)


def _traces(scene: Scene) -> Iterator[Good]:
    trace = records.identity(200)
    document = records.power_header(trace, meter=scene.meter, measured=scene.laptop) | {"study": LOCKED}
    named = {"trace": trace}
    yield Good("meter", "PUT", "/traces/{trace}", named, document)
    yield Good("meter", "PUT", "/traces/{trace}", named, document)
    for number in (0, 0, 1):
        content = records.part(number)
        headers = {"Content-Digest": content_digest(content), "If-None-Match": "*"}
        parameters = named | {"number": str(number)}
        yield Good(
            "meter",
            "PUT",
            "/traces/{trace}/parts/{number}",
            parameters,
            content,
            headers=headers,
            media_type=PARQUET,
        )
    yield Good("meter", "GET", "/traces/{trace}/missing", named, query={"count": 2})
    yield Good("meter", "PUT", "/traces/{trace}/seal", named, records.power_manifest(2, trace=trace))
    yield Good("meter", "GET", "/traces/{trace}", named)
    yield Good(Role.INVESTIGATOR, "GET", "/studies/{study}/traces", {"study": LOCKED})


def _participants(scene: Scene) -> Iterator[Good]:
    staff, locked = Role.EXPERIMENTER, {"study": LOCKED}
    one, other = (scene.participants[name] for name in ("enrolled", "invited"))
    yield Good(staff, "POST", "/studies/{study}/participants", locked, {"count": 2})
    yield Good(staff, "GET", "/studies/{study}/participants", locked, query={"limit": 2})
    yield Good(staff, "GET", "/studies/{study}/participants/{code}", locked | {"code": one})
    yield Good(staff, "POST", "/studies/{study}/participants/{code}/replacement", locked | {"code": one}, REASON)
    yield Good(
        staff, "POST", "/studies/{study}/participants/{code}/withdrawal", locked | {"code": other}, {"confirm": other}
    )


def _audit_and_accounts() -> Iterator[Good]:
    staff, other = Role.ADMINISTRATOR, {"email": OTHER_ACCOUNT}
    role = {"role": "analyst", "study": LOCKED}
    yield Good(Role.AUDITOR, "GET", "/audit", query={"limit": 3})
    yield Good(Role.AUDITOR, "GET", "/audit/verification")
    yield Good(Role.ANALYST, "GET", "/me")
    yield Good(Role.ANALYST, "POST", "/me/tokens", body={"days": 1})
    yield Good(staff, "GET", "/accounts")
    yield Good(staff, "POST", "/accounts", body={"email": "new@example.org", "password": FIRST_PASSWORD})
    yield Good(staff, "POST", "/accounts/{email}/grants", other, role)
    yield Good(staff, "POST", "/accounts/{email}/revoke", other, role)
    yield Good(staff, "POST", "/accounts/{email}/disable", other)
    yield Good(staff, "POST", "/accounts/{email}/enable", other)


def _last(scene: Scene) -> Iterator[Good]:
    """The requests that end the study: the emergency of one run, and the unblinding for everybody."""
    custodian, run, reason = Role.CUSTODIAN, scene.runs["planned"], "a participant has fallen ill"
    one = {"reason": reason, "confirmation": run}
    every = {"reason": "all participants are through", "confirmation": LOCKED}
    yield Good(custodian, "POST", "/studies/{study}/runs/{code}/unblinding", {"study": LOCKED, "code": run}, one)
    yield Good(custodian, "POST", "/studies/{study}/unblinding", {"study": LOCKED}, every)
    yield from _profiles(scene)


def _profiles(scene: Scene) -> Iterator[Good]:
    """Requests about profiles, which exist after unblinding."""
    staff, locked = Role.REVIEWER, {"study": LOCKED}
    one = locked | {"code": scene.participants["sitting"], "application": scene.taught}
    yield Good(staff, "GET", "/studies/{study}/profiles", locked, query={"sort": "presses", "limit": 1})
    yield Good(staff, "GET", "/studies/{study}/profiles/{code}/{application}", one)
    for review in ({"kind": "note", "text": "Two\nlines."}, {"kind": "flag", "text": "It ends too early."}):
        yield Good(staff, "POST", "/studies/{study}/profiles/{code}/{application}/reviews", one, review)
    for form in ("csv", "json"):
        yield Good(staff, "POST", "/studies/{study}/profiles/file", locked, query={"format": form})
