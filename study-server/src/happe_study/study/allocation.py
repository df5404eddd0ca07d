# SPDX-License-Identifier: GPL-2.0-or-later
"""The allocation: who plays what under which condition, computed only from a protocol, a seed and a salt.

After unblinding, anybody can compute it again from these three; docs/allocation.md says how, to the bit.
"""

import hashlib
import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from happe_study.study.protocol.conditions import Condition, Phase
from happe_study.study.protocol.designs import williams
from happe_study.study.protocol.reading import Arrangement, Nesting, Protocol

SECRET_BYTES = 32  # the length of the seed, and of the salt
_WORD_BYTES = 8

T = TypeVar("T")


class CommitmentError(Exception):
    """The seed and the salt do not match the commitment."""


@dataclass(frozen=True)
class PlannedRun:
    """A run to come. `position` counts a participant's runs from 1; `application` is a key of the protocol."""

    position: int
    application: str
    condition: Condition

    @property
    def phase(self) -> Phase:
        """Training or main."""
        return self.condition.phase


SlotPlan = tuple[PlannedRun, ...]


class Draws:
    """Unbiased random numbers from a seed, for one purpose.

    The stream is HMAC-SHA-256(key = seed, message = salt || purpose in ASCII || counter in 8 bytes, big-endian) for the
    counter 0, 1, 2, ..., read in words of 8 bytes, big-endian.
    """

    def __init__(self, seed: bytes, salt: bytes, purpose: str) -> None:
        """Start at the stream's beginning. Raises ValueError unless seed and salt have 32 bytes each."""
        _check_lengths(seed, salt)
        self._seed = seed
        self._message = salt + purpose.encode("ascii")
        self._counter = 0
        self._left = b""

    def below(self, bound: int) -> int:
        """A number from 0 to `bound` - 1, all equally likely. It skips words from the last multiple of `bound` on."""
        usable = (1 << 8 * _WORD_BYTES) // bound * bound
        while (word := self._word()) >= usable:
            pass
        return word % bound

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in random order: Fisher and Yates, from the last place down to the second."""
        order = list(items)
        for place in range(len(order) - 1, 0, -1):
            other = self.below(place + 1)
            order[place], order[other] = order[other], order[place]
        return order

    def _word(self) -> int:
        if not self._left:
            counter = self._counter.to_bytes(_WORD_BYTES, "big")
            self._left = hmac.digest(self._seed, self._message + counter, "sha256")
            self._counter += 1
        word, self._left = self._left[:_WORD_BYTES], self._left[_WORD_BYTES:]
        return int.from_bytes(word, "big")


Drawing = Callable[[str], Draws]  # draws of one seed and salt, by their purpose


def plan(protocol: Protocol, seed: bytes, salt: bytes) -> dict[str, list[SlotPlan]]:
    """The slots of each stratum, in order. A protocol without strata has one stratum, "".

    Slots come in blocks of `protocol.block_size`. In each block, each application has every sequence equally often.
    Raises ValueError unless seed and salt have 32 bytes each.
    """
    _check_lengths(seed, salt)
    size = protocol.block_size
    draws = partial(Draws, seed, salt)
    return {
        stratum: [slot for block in range(quota // size) for slot in _block(protocol, draws, f"{number}/{block}", size)]
        for number, (stratum, quota) in enumerate(protocol.quotas.items())
    }


def commitment(seed: bytes, salt: bytes) -> str:
    """SHA-256 of the seed followed by the salt, in hexadecimal. ValueError unless they have 32 bytes each."""
    _check_lengths(seed, salt)
    return hashlib.sha256(seed + salt).hexdigest()


def verify(committed: str, seed: bytes, salt: bytes) -> bool:
    """Whether a revealed seed and salt match the commitment."""
    return hmac.compare_digest(commitment(seed, salt).encode(), committed.lower().encode())


def recompute(protocol: Protocol, committed: str, seed: bytes, salt: bytes) -> dict[str, list[SlotPlan]]:
    """The allocation from the revealed seed and salt. Raises CommitmentError unless they match the commitment."""
    if not verify(committed, seed, salt):
        raise CommitmentError("the seed and the salt are not the ones committed to")
    return plan(protocol, seed, salt)


def _check_lengths(seed: bytes, salt: bytes) -> None:
    if len(seed) != SECRET_BYTES or len(salt) != SECRET_BYTES:
        raise ValueError(f"seed and salt must have {SECRET_BYTES} bytes each")


def _block(protocol: Protocol, draws: Drawing, name: str, size: int) -> list[SlotPlan]:
    keys = [application.key for application in protocol.applications]
    taken = _sequences(protocol, draws, name, size)
    orders = _orders(protocol, draws, name, size)
    return [_slot(protocol, orders[slot], {key: taken[key][slot] for key in keys}) for slot in range(size)]


def _sequences(protocol: Protocol, draws: Drawing, name: str, size: int) -> dict[str, list[tuple[Condition, ...]]]:
    """Each application's shuffled sequences, one for each slot of a block. With block nesting all share one shuffle."""
    every = protocol.sequences * (size // len(protocol.sequences))
    keys = [application.key for application in protocol.applications]
    if protocol.order.nesting is Nesting.BLOCK:
        return dict.fromkeys(keys, draws(f"{name}/conditions").shuffled(every))
    return {key: draws(f"{name}/conditions/{key}").shuffled(every) for key in keys}


def _orders(protocol: Protocol, draws: Drawing, name: str, size: int) -> list[list[str]]:
    """For each slot of the block, the order of the applications by key."""
    keys = [application.key for application in protocol.applications]
    match protocol.order.applications:
        case Arrangement.LISTED:
            return [keys] * size
        case Arrangement.RANDOM:
            return [draws(f"{name}/applications/{slot}").shuffled(keys) for slot in range(size)]
        case Arrangement.WILLIAMS:
            rows = williams(len(keys))
            shuffled = draws(f"{name}/applications").shuffled(rows * (size // len(rows)))
            return [[keys[number] for number in row] for row in shuffled]


def _slot(protocol: Protocol, order: list[str], taken: dict[str, tuple[Condition, ...]]) -> SlotPlan:
    periods = range(len(protocol.conditions))
    if protocol.order.nesting is Nesting.BLOCK:
        pairs = [(key, taken[key][period]) for period in periods for key in order]
    else:
        pairs = [(key, taken[key][period]) for key in order for period in periods]
    return tuple(PlannedRun(position, key, condition) for position, (key, condition) in enumerate(pairs, start=1))
