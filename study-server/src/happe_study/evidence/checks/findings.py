# SPDX-License-Identifier: GPL-2.0-or-later
"""What a check says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

BLINDED = "Nobody looks at this before the study is unblinded: it would tell conditions."


class Verdict(StrEnum):
    """How it is."""

    OK = "ok"
    SUSPECT = "suspect"
    UNKNOWN = "cannot tell"


@dataclass(frozen=True)
class Finding:
    """Something that should not be so: where (a run, a trace, a device), and what."""

    where: str
    what: str


@dataclass(frozen=True)
class Check:
    """One check: `looked_at` says at what, `notes` what was measured, `not_told` what couldn't be looked at and why."""

    key: str
    title: str
    looked_at: str
    findings: tuple[Finding, ...] = ()
    not_told: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    told: bool = True  # whether anything could be looked at

    @property
    def verdict(self) -> Verdict:
        """Suspect if anything was found, and never ok if nothing could be looked at."""
        if self.findings:
            return Verdict.SUSPECT
        return Verdict.OK if self.told else Verdict.UNKNOWN

    def document(self) -> dict[str, Any]:
        """The check for programs."""
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
