# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace's folder as the uploader sees it: which parts to send, which have arrived; and the spool of such folders."""

import base64
import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from happe_contract.parts import BadPartError, read_footer
from happe_contract.strict_json import Json
from happe_power.recording.files import append_line, locked, write_whole
from happe_power.recording.header import LOCAL, MEASURED, NOBODY
from happe_power.trace import Trace, TraceError, read_digests
from happe_power.upload import clocks

SENT, STOPPED, SEAL, MANIFEST = "sent.jsonl", "stopped.json", "seal.json", "manifest.json"
LIVE_S = 300  # without a new part for so long, the recording has stopped


class DamagedError(Exception):
    """A part differs from the recorded one. The message says how, without the part's name."""


@dataclass(frozen=True)
class Part:
    """A part's file as it is on the disk."""

    number: int
    path: Path
    bytes: int
    sha256: str

    @property
    def content_digest(self) -> str:
        """The header Content-Digest (RFC 9530)."""
        return f"sha-256=:{base64.b64encode(bytes.fromhex(self.sha256)).decode()}:"


class Outbox(Trace):
    """A trace to send. Its `sent.jsonl` lists, across crashes, the parts and clock estimates that the server has."""

    def __init__(self, folder: Path, header: Json) -> None:
        """Read `sent.jsonl`. Raises OSError, KeyError."""
        super().__init__(folder, header)
        self.began_us: int = header["started"]["realtime_us"]
        self.clock: str = header["clock"]
        self.damaged: dict[int, str] = {}
        noted = clocks.read_lines(folder / SENT)
        self._sent: dict[int, str] = {each["part"]: each["sha256"] for each in noted if "part" in each}
        self._clocks_sent: set[str] = {each["clock"] for each in noted if "clock" in each}

    @property
    def measured(self) -> bool:
        """Whether each of the study's runs in this trace has its figure."""
        return (self.folder / MEASURED).exists()

    @property
    def local(self) -> bool:
        """Whether the trace stays on this host: the recording was marked local, or its device is not enrolled."""
        return self.header["meter"] == NOBODY or (self.folder / LOCAL).exists()

    @property
    def ended(self) -> bool:
        """Whether the trace has its manifest, so that its recording is over."""
        return (self.folder / MANIFEST).exists()

    @property
    def live(self) -> bool:
        """Whether a recorder still seems to write the trace: no manifest, and a change in the last five minutes."""
        places = (self.folder / "header.json", self.folder / "parts")
        touched = [path.stat().st_mtime for path in places if path.exists()]
        return not self.ended and time.time() - max(touched) < LIVE_S

    @property
    def stopped(self) -> str | None:
        """Why a person must look at the trace; None if nobody must."""
        try:
            return str(json.loads((self.folder / STOPPED).read_bytes())["reason"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            return f"{self.folder / STOPPED}: can't be read"

    def stop(self, reason: str | None) -> None:
        """Note why a person must look at the trace, or remove that note (None). Raises OSError."""
        if reason is None:
            (self.folder / STOPPED).unlink(missing_ok=True)
        else:
            write_whole(self.folder / STOPPED, json.dumps({"reason": reason}).encode())

    def waiting(self) -> list[int]:
        """The numbers of the parts that are here and have not arrived, ascending."""
        return [number for number in self.numbers if number not in self._sent]

    def sendable(self) -> int | None:
        """The first waiting part that is not damaged; None if there is none."""
        return next((number for number in self.waiting() if number not in self.damaged), None)

    def checked(self, number: int) -> Part:
        """Return a part after a check of its trace, its number and its SHA-256. Raises DamagedError, OSError."""
        path = self.part(number)
        try:
            footer = read_footer(path)
        except BadPartError as error:
            raise DamagedError(str(error)) from None
        if (footer.trace, footer.number) != (self.id, number):
            raise DamagedError(f"it says that it is part {footer.number} of {footer.trace}")
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        if (recorded := self._recorded(number)) not in (None, sha256):
            raise DamagedError(f"its SHA-256 is {sha256}, and was {recorded} when it was recorded")
        return Part(number, path, path.stat().st_size, sha256)

    def arrived(self, part: Part) -> None:
        """Note that the server has a part. If this raises OSError, the note lasts only until a restart."""
        self._sent[part.number] = part.sha256
        append_line(self.folder / SENT, {"part": part.number, "sha256": part.sha256})

    def lost(self, number: int) -> None:
        """Note that the server lacks this part after all."""
        self._sent.pop(number, None)

    def unsent_clock(self) -> Json | None:
        """The first clock estimate that has not arrived. Raises OSError."""
        return next((line for line in clocks.noted(self.folder) if line.get("id") not in self._clocks_sent), None)

    def clock_arrived(self, line: Json) -> None:
        """Note that the server has a clock estimate, as `arrived` does for a part. Raises OSError."""
        self._clocks_sent.add(line["id"])
        append_line(self.folder / SENT, {"clock": line["id"]})

    def tidy(self) -> int:
        """Delete the parts of a sealed trace, and return their count. Raises OSError."""
        found = self.numbers if self.sealed else []
        for number in found:
            self.part(number).unlink()
        return len(found)

    def _recorded(self, number: int) -> str | None:
        """The SHA-256 that the recorder noted when it closed a part; None if unknown."""
        try:
            known = read_digests(self.folder)
        except TraceError:
            known = {}
        if number not in known and self.ended and self.manifest:
            known = {each["number"]: each for each in self.manifest["parts"]}
        return str(known[number]["sha256"]) if number in known else None


LOCK = ".upload.lock"


class BusyError(Exception):
    """Another uploader is at work on this spool."""


def folders(spool: Path) -> list[Path]:
    """The traces' folders, by name."""
    return sorted(path.parent for path in spool.glob("*/*/header.json"))


def opened(folder: Path) -> Outbox | None:
    """The trace in a folder; None if the folder can't be read as one (`happe-power verify` says why)."""
    try:
        return Outbox.open(folder)
    except (TraceError, OSError, KeyError, TypeError):
        return None


@contextmanager
def only_uploader(spool: Path) -> Iterator[None]:
    """Hold the lock that allows one uploader on a spool. Raises BusyError, OSError."""
    spool.mkdir(parents=True, exist_ok=True)
    with locked(spool / LOCK) as free:
        if not free:
            raise BusyError(f"{spool}: another uploader is at work on it")
        yield
