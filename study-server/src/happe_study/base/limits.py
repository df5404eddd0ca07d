# SPDX-License-Identifier: GPL-2.0-or-later
"""Rate limits for each address or account. All processes and servers of one database count together.

The database has a row for each count, under a keyed digest that hides the address or account. A count begins with its
first call and ends a period later. A process reserves a twentieth of a limit at once, so that a participant's page
rarely waits for the database. Threads that call at the same time count in one transaction.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address, ip_network
from math import ceil
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import WeakKeyDictionary

from flask import current_app, request
from limits import parse_many
from sqlalchemy import Index, text
from sqlalchemy.orm import Mapped, mapped_column

from happe_study.base.clock import now_us
from happe_study.base.database import Base, Digest, Micros
from happe_study.base.parts import parts
from happe_study.base.problems import Problem
from happe_study.base.together import Together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from limits import RateLimitItem
    from sqlalchemy.orm import Session

    from happe_study.base.database import Database

HOST_BITS = 64
SHARES = 20  # a process reserves 1/20 of a limit at once
SECOND_US = 1_000_000

View = TypeVar("View", bound=Callable[..., Any])


class RateHits(Base):
    """The number of calls since a count began. The row stores only the end of the count's period."""

    __tablename__ = "rate_hits"
    __table_args__ = (Index("ix_rate_hits_ends_us", "ends_us"),)

    key: Mapped[str] = mapped_column(Digest, primary_key=True)
    ends_us: Mapped[int] = mapped_column(Micros)
    hits: Mapped[int]


HIT = text("""
    INSERT INTO rate_hits (key, ends_us, hits) VALUES (:key, :ends, :step) ON CONFLICT (key) DO UPDATE SET
    hits = CASE WHEN rate_hits.ends_us <= :now THEN :step ELSE rate_hits.hits + :step END,
    ends_us = CASE WHEN rate_hits.ends_us <= :now THEN :ends ELSE rate_hits.ends_us END
    WHERE rate_hits.ends_us <= :now OR rate_hits.hits + :step <= :amount
    RETURNING ends_us
""")
FULL = text("SELECT ends_us FROM rate_hits WHERE key = :key AND ends_us > :now AND hits + :step > :amount")
OVER = text("DELETE FROM rate_hits WHERE ends_us <= :now")


def limited(name: str) -> Callable[[View], View]:
    """Answer 429 to an address that makes more calls than the configuration's `limits.NAME` allows."""

    def wrap(view: View) -> View:
        @wraps(view)
        def counted(*args: object, **kwargs: object) -> object:
            count(name, "address", address())
            return view(*args, **kwargs)

        return cast("View", counted)

    return wrap


def address() -> str:
    """A request's IPv4 address, or its IPv6 network of 64 bits: whoever has one address there has 2^64 of them."""
    found = ip_address(request.remote_addr or "::")
    if isinstance(found, IPv6Address) and found.ipv4_mapped is None:
        return str(ip_network((found, HOST_BITS), strict=False))
    return str(found)


def count(name: str, *who: str) -> None:
    """Count a call by `who`. Raises Problem 429 if it exceeds the configuration's `limits.NAME`."""
    taken: dict[str, tuple[int, int]] = current_app.extensions.setdefault("happe_limits", {})
    for limit in _limits(name):
        key, now = _key(name, limit, who), now_us()
        ends_us, left = taken.get(key, (0, 0))
        if ends_us > now and left > 0:
            taken[key] = ends_us, left - 1
            continue
        step = max(1, limit.amount // SHARES)
        ends_us = _desk(parts().database).result(_Hit(limit, key, now, step))
        if step > 1:
            for each in [each for each, (end, _left) in tuple(taken.items()) if end <= now]:
                taken.pop(each, None)
            taken[key] = ends_us, step - 1


def require(name: str, *who: str) -> None:
    """Raise Problem 429 if another call by `who` would exceed the limit. Counts nothing."""
    with parts().database.looking_up() as session:
        for limit in _limits(name):
            now = now_us()
            values = {"key": _key(name, limit, who), "now": now, "step": 1, "amount": limit.amount}
            if ends_us := session.scalar(FULL, values):
                raise _too_many(ends_us, now)


@dataclass(frozen=True)
class _Hit:
    """A reservation of `step` calls of a limit, at the time `now` (microseconds)."""

    limit: RateLimitItem
    key: str
    now: int
    step: int


_DESKS: WeakKeyDictionary[Database, Together[_Hit, int]] = WeakKeyDictionary()


def _desk(database: Database) -> Together[_Hit, int]:
    return _DESKS.get(database) or _DESKS.setdefault(database, Together(database, _hit_all))


def _hit_all(session: Session, hits: Sequence[_Hit]) -> list[int | Exception]:
    session.execute(OVER, {"now": hits[0].now})
    return [_hit(session, each) for each in hits]


def _hit(session: Session, hit: _Hit) -> int | Exception:
    """Reserve the calls, and return when their count ends; a Problem 429 if fewer calls are left."""
    values = {"key": hit.key, "now": hit.now, "step": hit.step, "amount": hit.limit.amount}
    ends_us = session.scalar(HIT, values | {"ends": hit.now + hit.limit.get_expiry() * SECOND_US})
    return int(ends_us) if ends_us else _too_many(session.scalar(FULL, values) or hit.now, hit.now)


def _key(name: str, limit: RateLimitItem, who: tuple[str, ...]) -> str:
    """The key of a count. Without the server's secret it does not reveal the address or account."""
    said = "\0".join((name, str(limit), *who))
    return hmac.digest(parts().secrets.session, f"rate\0{said}".encode(), "sha256").hex()


def _limits(name: str) -> list[RateLimitItem]:
    return parse_many(getattr(parts().config.limits, name))


def _too_many(ends_us: int, now: int) -> Problem:
    return Problem(
        HTTPStatus.TOO_MANY_REQUESTS,
        "too-many-requests",
        "Too many requests. Try again later.",
        retry_after=max(1, ceil((ends_us - now) / SECOND_US)),
    )
