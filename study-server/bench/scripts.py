# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of runs by the hundred thousand: a few are made, and given other names for each run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import records
from happe_study.design.allocation.sealing import record_digest
from happe_study.design.protocol.conditions import B_HAPPE, O_HAPPE, T_HAPPE
from happe_study.evidence.profiles.services import shared_ladder
from happe_study.runs.records.stored import room, sealed, sha256

if TYPE_CHECKING:
    from collections.abc import Sequence

    from happe_study.design.protocol.conditions import Condition

SECONDS = 40  # of a run
PRESSES = 0.23  # a second: nine in a run that learns, a million in the whole study
PERSONS = 16  # that are distinct
RUN, APPLICATION = "7ZK3M9QA", "torcs"  # the names in what records.make makes
SUBJECT = records.SUBJECT.removeprefix("subject:")


@dataclass(frozen=True)
class Names:
    """What a run is called in its record."""

    run: str
    record: str
    subject: str
    application: str


@dataclass(frozen=True)
class Script:
    """A record under names that are replaced, and what it taught."""

    raw: bytes
    record: str  # its id
    room: int
    ladder: list[int]
    document: dict[str, Any]

    def sealed(self, key: bytes, names: Names) -> tuple[bytes, str]:
        """The record of a run as the database keeps it, and its digest."""
        raw = self.raw.replace(RUN.encode(), names.run.encode()).replace(SUBJECT.encode(), names.subject.encode())
        raw = raw.replace(f'"{APPLICATION}"'.encode(), f'"{names.application}"'.encode())
        raw = raw.replace(self.record.encode(), names.record.encode())
        return sealed(key, names.run, raw, self.room), record_digest(key, sha256(raw))


class Scripts:
    """What persons do in their runs of one application, each run after those before it."""

    def __init__(self) -> None:
        """Nothing is made yet."""
        self._made: dict[tuple[int, tuple[str, ...]], Script] = {}

    def of_run(self, person: int, before: Sequence[Condition], condition: Condition) -> Script:
        """The record of a run under a condition, after those runs `before` it in which the person taught a profile."""
        labels = (*(each.label for each in before), condition.label)
        key = (person % PERSONS, labels)
        if key not in self._made:
            found = self.of_run(person, before[:-1], before[-1]).document["profile_after"] if before else None
            self._made[key] = _script(len(self._made) + 1, condition, found)
        return self._made[key]


def teaches(condition: Condition) -> bool:
    """Whether a profile is taught under a condition."""
    return condition in (T_HAPPE, O_HAPPE, B_HAPPE)


def _script(seed: int, condition: Condition, found: list[int] | None) -> Script:
    kernel = not teaches(condition)
    before = None if kernel else found
    made = records.make(RUN, SECONDS, seed, kernel=kernel, presses=PRESSES, before=before)
    made["indicator"] = condition.indicator
    return Script(records.encode(made), made["id"], room(made), shared_ladder(made["header"]), made)
