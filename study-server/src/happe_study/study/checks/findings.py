# SPDX-License-Identifier: GPL-2.0-or-later
"""The results of a check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

BLINDED = "This check waits until the study is unblinded, because it would reveal conditions."


class Verdict(StrEnum):
    """The result of a check in a word."""

    OK = "ok"
    SUSPECT = "suspect"
    UNKNOWN = "cannot tell"


@dataclass(frozen=True)
class Finding:
    """A fault: its place (a run, a trace, a device) and a description."""

    where: str
    what: str


@dataclass(frozen=True)
class Check:
    """A check: `looked_at` names its data, `notes` its measurements, `not_told` what it could not check, and why."""

    key: str
    title: str
    looked_at: str
    findings: tuple[Finding, ...] = ()
    not_told: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    told: bool = True  # true if it could check anything

    @property
    def verdict(self) -> Verdict:
        """SUSPECT if there are findings, UNKNOWN if the check could not look at anything, otherwise OK."""
        if self.findings:
            return Verdict.SUSPECT
        return Verdict.OK if self.told else Verdict.UNKNOWN

    def document(self) -> dict[str, Any]:
        """The check as a JSON object."""
        return {
            "check": self.key,
            "title": self.title,
            "verdict": str(self.verdict),
            "looked_at": self.looked_at,
            "notes": list(self.notes),
            "not_told": list(self.not_told),
            "findings": [{"where": each.where, "what": each.what} for each in self.findings],
        }


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things: "1 run", "2 runs"."""
    return f"{number} {one if number == 1 else many or one + 's'}"
