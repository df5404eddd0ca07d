# SPDX-License-Identifier: GPL-2.0-or-later
"""Every kind of source: what it is, what this machine has of it, and the making of one from a line of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from happe_power.sources import comedi, file, iio, nidaqmx, power_supply, powercap, sigrok, sim
from happe_power.sources.clock import Clock, SystemClock
from happe_power.sources.spec import Found, Kind, Option, SpecError, parse

if TYPE_CHECKING:
    from happe_power.sources.source import Source

__all__ = ["KINDS", "Found", "Kind", "Option", "SpecError", "found", "help_text", "make", "notes_of"]

MODULES = (comedi, nidaqmx, iio, powercap, power_supply, sigrok, file, sim)
KINDS: dict[str, Kind] = {module.KIND.name: module.KIND for module in MODULES}


def make(text: str, clock: Clock | None = None) -> Source:
    """The source that `text` names, e.g. comedi:/dev/comedi0,channels=0+1,rate=10000; not started.

    SpecError if the text is wrong, SourceError if the instrument is not there or can't do it.
    """
    kind, spec = parse(text, KINDS)
    return kind.make(spec, clock or SystemClock())


def found() -> list[Found]:
    """What this machine has, kind by kind, and what it lacks, with the command that gets it."""
    return [one for kind in KINDS.values() for one in kind.find()]


def notes_of(source: Source) -> tuple[str, ...]:
    """What a person should know before trusting this source; lines, of which there may be more after a while."""
    notes: tuple[str, ...] = getattr(source, "notes", ())
    return notes


def help_text() -> str:
    """What `--source` takes, kind by kind."""
    return "\n\n".join(kind.help() for kind in KINDS.values())
