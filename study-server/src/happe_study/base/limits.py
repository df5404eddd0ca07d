# SPDX-License-Identifier: GPL-2.0-or-later
"""How often something may be asked for, by whom. Each worker process counts for itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address, ip_network
from math import ceil
from time import time
from typing import Any, TypeVar, cast

from flask import current_app, request
from limits import RateLimitItem, parse_many
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from happe_study.base.parts import parts
from happe_study.base.problems import Problem

HOST_BITS = 64

View = TypeVar("View", bound=Callable[..., Any])


def limited(name: str) -> Callable[[View], View]:
    """Let an address call a view only as often as the configuration's `limits.NAME` says; then 429."""

    def wrap(view: View) -> View:
        @wraps(view)
        def counted(*args: object, **kwargs: object) -> object:
            count(name, "address", address())
            return view(*args, **kwargs)

        return cast("View", counted)

    return wrap


def address() -> str:
    """Where a request comes from; of IPv6 the network, as who has one address there has 2^64."""
    found = ip_address(request.remote_addr or "::")
    if isinstance(found, IPv6Address) and found.ipv4_mapped is None:
        return str(ip_network((found, HOST_BITS), strict=False))
    return str(found)


def count(name: str, *who: str) -> None:
    """Count one more call of somebody. Raises Problem 429 if that is one too many by the configuration."""
    for limit in _limits(name):
        if not _limiter().hit(limit, name, *who):
            raise _too_many(limit, name, *who)


def require(name: str, *who: str) -> None:
    """Raise Problem 429 if one more call of somebody would be too many."""
    for limit in _limits(name):
        if not _limiter().test(limit, name, *who):
            raise _too_many(limit, name, *who)


def forget(name: str, *who: str) -> None:
    """Somebody's calls so far don't count."""
    for limit in _limits(name):
        _limiter().clear(limit, name, *who)


def _limiter() -> MovingWindowRateLimiter:
    kept = current_app.extensions
    limiter: MovingWindowRateLimiter = kept.setdefault("happe_limiter", MovingWindowRateLimiter(MemoryStorage()))
    return limiter


def _limits(name: str) -> list[RateLimitItem]:
    return parse_many(getattr(parts().config.limits, name))


def _too_many(limit: RateLimitItem, *who: str) -> Problem:
    wait = max(1, ceil(_limiter().get_window_stats(limit, *who).reset_time - time()))
    return Problem(
        HTTPStatus.TOO_MANY_REQUESTS, "too-many-requests", "Too many requests. Try again later.", retry_after=wait
    )
