# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits on guesses of secrets, and on requests.

The database counts guesses exactly, for all processes and servers that share it. It has a row for each count, under a
keyed digest that hides the address or account. A count begins with its first guess and ends a period later.

Flask-Limiter counts requests in the memory of each process. Each process allows its share of the limit, so the limit
holds for the whole server.
"""

import hmac
import re
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address, ip_network
from math import ceil
from typing import Any, NoReturn

from flask import Flask, request
from flask_limiter import Limiter, RequestLimit
from limits import RateLimitItem, parse_many
from limits.storage import Storage
from sqlalchemy import Index, text
from sqlalchemy.orm import Mapped, mapped_column

from happe_study.base.clock import now_us
from happe_study.base.config import Config
from happe_study.base.database import Base, Digest, Micros
from happe_study.base.parts import parts
from happe_study.base.problems import Problem

HOST_BITS = 64
SECOND_US = 1_000_000
SWEEP_S = 60
WITH_PORT = re.compile(r"\[([^]]+)\](?::\d+)?|([^:]+):\d+")  # [IPv6] or [IPv6]:PORT, or IPv4:PORT


class RateHits(Base):
    """The number of guesses since a count began. The row stores only the end of the count's period."""

    __tablename__ = "rate_hits"
    __table_args__ = (Index("ix_rate_hits_ends_us", "ends_us"),)

    key: Mapped[str] = mapped_column(Digest, primary_key=True)
    ends_us: Mapped[int] = mapped_column(Micros)
    hits: Mapped[int]


HIT = text("""
    INSERT INTO rate_hits (key, ends_us, hits) VALUES (:key, :ends, 1) ON CONFLICT (key) DO UPDATE SET
    hits = CASE WHEN rate_hits.ends_us <= :now THEN 1 ELSE rate_hits.hits + 1 END,
    ends_us = CASE WHEN rate_hits.ends_us <= :now THEN :ends ELSE rate_hits.ends_us END
    WHERE rate_hits.ends_us <= :now OR rate_hits.hits < :amount
    RETURNING ends_us
""")
FULL = text("SELECT ends_us FROM rate_hits WHERE key = :key AND ends_us > :now AND hits >= :amount")
TAKE_BACK = text("UPDATE rate_hits SET hits = hits - 1 WHERE key = :key AND ends_us = :ends")
OVER = text("DELETE FROM rate_hits WHERE ends_us <= :now")

Counted = list[dict[str, Any]]  # a guess's counts: the values of the statements above


def guess(name: str, whose: Mapping[tuple[str, ...], int]) -> Counted:
    """Count a guess, before the server compares it, for everybody in `whose`.

    The configuration's `limits.NAME`, times the number in `whose`, is the limit. Raises Problem 429 if a count is full;
    then no count has changed.
    """
    now = now_us()
    counts = [
        {
            "key": _key(name, limit, who),
            "now": now,
            "ends": now + limit.get_expiry() * SECOND_US,
            "amount": limit.amount * times,
        }
        for limit in parse_many(getattr(parts().config.limits, name))
        for who, times in whose.items()
    ]
    with parts().database.looking_up() as session:  # whoever guesses on and on keeps no writer waiting
        for each in counts:
            if ends_us := session.scalar(FULL, each):
                raise _too_many(ends_us - now)
    with parts().database.writing() as session:
        session.execute(OVER, {"now": now})
        for each in counts:
            ends_us = session.scalar(HIT, each)
            if ends_us is None:
                raise _too_many((session.scalar(FULL, each) or now) - now)
            each["ends"] = ends_us
    return counts


def was_right(counts: Counted) -> None:
    """Take back a guess that was right."""
    with parts().database.writing() as session:
        session.execute(TAKE_BACK, counts)


def address() -> str:
    """A request's IPv4 address, or its IPv6 network of 64 bits: whoever has one address there has 2^64 of them.

    Some proxies add the sender's port, which changes, or name no address, as if all were one sender.
    """
    said = request.remote_addr or ""
    with_port = WITH_PORT.fullmatch(said)
    try:
        found = ip_address(with_port[1] or with_port[2] if with_port else said)
    except ValueError:
        return "unknown"
    if isinstance(found, IPv6Address) and found.ipv4_mapped is None:
        return str(ip_network((found, HOST_BITS), strict=False))
    return str(found)


class ProcessMemory(Storage):
    """Flask-Limiter's counts in this process, for many threads: MemoryStorage fails if two start its timer at once."""

    STORAGE_SCHEME = ["process"]  # noqa: RUF012 - the library's way
    base_exceptions = ()

    def __init__(self, uri: str | None = None, wrap_exceptions: bool = False, **options: Any) -> None:  # noqa: ANN401, FBT001, FBT002 - the library's
        """Begin without counts."""
        super().__init__(uri, wrap_exceptions, **options)
        self._turn = threading.Lock()
        self._counts: dict[str, tuple[int, float]] = {}  # each with the end of its period, by the monotonic clock
        self._swept = time.monotonic()

    def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        """Count, and forget counts whose period is over."""
        now = time.monotonic()
        with self._turn:
            if now >= self._swept + SWEEP_S:
                self._counts = {each: count for each, count in self._counts.items() if count[1] > now}
                self._swept = now
            known, ends = self._counts.get(key, (0, now))
            count = (known + amount, ends) if ends > now else (amount, now + expiry)
            self._counts[key] = count
            return count[0]

    def get(self, key: str) -> int:
        """The count, or 0."""
        known, ends = self._counts.get(key, (0, 0.0))
        return known if ends > time.monotonic() else 0

    def get_expiry(self, key: str) -> float:
        """The end of the count's period, in seconds since 1970."""
        now = time.monotonic()
        return self._counts.get(key, (0, now))[1] - now + time.time()

    def check(self) -> bool:
        """Whether the memory answers."""
        return True

    def reset(self) -> None:
        """Forget every count."""
        self._counts.clear()

    def clear(self, key: str) -> None:
        """Forget a count."""
        self._counts.pop(key, None)


def count_requests(app: Flask, config: Config, whose: Callable[[], str | None]) -> None:
    """Answer 429 to those who make more requests to a route than `limits.participant` allows.

    `whose` names the one who makes a request; None: they have no limit.
    """
    Limiter(
        lambda: whose() or "",
        app=app,
        default_limits=["; ".join(_share(each, config.workers) for each in parse_many(config.limits.participant))],
        default_limits_exempt_when=lambda: whose() is None,
        storage_uri="process://",
        on_breach=_refuse,
    )


def _share(limit: RateLimitItem, processes: int) -> str:
    """A process's share of a limit. With less than one request for each, it is one request in a longer period."""
    periods = limit.multiples * max(1, ceil(processes / limit.amount))
    return f"{max(1, limit.amount // processes)} per {periods} {limit.GRANULARITY.name}"


def _refuse(breached: RequestLimit) -> NoReturn:
    raise _too_many(breached.reset_at * SECOND_US - now_us())


def _key(name: str, limit: RateLimitItem, who: tuple[str, ...]) -> str:
    """The key of a count. Without the server's secret it does not reveal the address or account."""
    said = "\0".join((name, str(limit), *who))
    return hmac.digest(parts().secrets.session, f"rate\0{said}".encode(), "sha256").hex()


def _too_many(left_us: int) -> Problem:
    return Problem(
        HTTPStatus.TOO_MANY_REQUESTS,
        "too-many-requests",
        "Too many requests. Try again later.",
        retry_after=max(1, ceil(left_us / SECOND_US)),
    )
