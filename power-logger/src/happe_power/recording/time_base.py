# SPDX-License-Identifier: GPL-2.0-or-later
"""Chooses the pairs of index and time that a trace keeps. Pure.

Buses and schedulers make a reading late, never early. So the best pair of a second (or a minute) is the one that came
least late by the nominal rate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from happe_contract.traces import TimePair

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_IN_MANIFEST = 8192


def thinned(pairs: Sequence[TimePair], rate_hz: float, seconds: int, restarts: Iterable[int] = ()) -> list[TimePair]:
    """One pair for each `seconds` by the nominal rate, and at least one after each restart (positions in `pairs`).

    Drops a pair that goes back in index or monotonic time, or that repeats the pair before.
    """
    anew = set(restarts)
    best: dict[tuple[int, int], tuple[float, TimePair]] = {}
    piece = 0
    last: TimePair | None = None
    for position, pair in enumerate(pairs):
        piece += position in anew
        if last and (pair.index < last.index or pair.monotonic_us < last.monotonic_us or pair == last):
            continue
        last = pair
        key, late = (piece, int(pair.index / (rate_hz * seconds))), lateness(pair, rate_hz)
        if key not in best or late < best[key][0]:
            best[key] = (late, pair)
    return [pair for _, pair in best.values()]


def lateness(pair: TimePair, rate_hz: float) -> float:
    """A pair's time in microseconds minus the time of its index at the nominal rate, to compare pairs by."""
    return pair.monotonic_us - pair.index * 1e6 / rate_hz


def for_manifest(pairs: Sequence[TimePair], rate_hz: float) -> list[TimePair]:
    """About one pair a minute, at most as many as a manifest may have."""
    kept = thinned(pairs, rate_hz, 60)
    return kept[:: -(-len(kept) // MOST_IN_MANIFEST) or 1]


def as_json(pair: TimePair) -> dict[str, int]:
    """A pair as in power-trace.schema.json."""
    return {"index": pair.index, "monotonic_us": pair.monotonic_us, "realtime_us": pair.realtime_us}


def from_json(said: dict[str, int]) -> TimePair:
    """A pair out of a document."""
    return TimePair(said["index"], said["monotonic_us"], said["realtime_us"])
