# SPDX-License-Identifier: GPL-2.0-or-later
"""Brings the spool's traces to the study server, oldest first, one request at a time: docs/uploads.md, Power traces."""

import math
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from pathlib import Path

from happe_contract.strict_json import Json
from happe_contract.traces import Reason
from happe_power import __version__
from happe_power.config import ALWAYS, UNTIL_MEASURED, UNTIL_SEALED
from happe_power.recording.files import append_line, write_whole
from happe_power.recording.header import compact
from happe_power.trace import Trace, TraceError
from happe_power.upload import clocks
from happe_power.upload.outbox import MANIFEST, SEAL, DamagedError, Outbox, folders, opened
from happe_power.upload.server import Answer, LaterError, NoAnswerError, Server, StoppedError, judge, pause_s

PARQUET = "application/vnd.apache.parquet"
POLL_S = 1.0
HEARTBEAT_US = 60_000_000
GIB = 1 << 30
TIDY_US = 10_000_000
LEAST_FREE = 2 << 30  # bytes: an hour of two channels at 100 kS/s, before compression
LEAST_SHARE = 10  # on a small disk, a tenth of it
# Samples leave the range where power is high, so these gaps reveal conditions. A zero check loses nothing.
TELLING = frozenset({Reason.SATURATED, Reason.INVALID, Reason.ZERO})


Report = Callable[..., None]  # receives events: a name and facts, never the token
Waiting = Callable[[float], bool]  # waits for some seconds; True: a signal has requested the end
PADDED_BYTES = 1 << 16
MOST_ASKED = 3  # how often the server may ask for one part before we take a pause
REMADE = "move it away, then `happe-power verify --repair` makes it again, and `happe-power upload` goes on"
NOT_THE_SERVER = "the answer does not come from a study server"


class Uploader:
    """Sends the traces of a spool. `step` does the most urgent work."""

    def __init__(self, place: Path, server: Server, report: Report, keep: str = UNTIL_MEASURED) -> None:
        """Send nothing yet. Later try again the traces at which an earlier uploader stopped."""
        self._place = place
        self._server = server
        self._report = report
        self._keep = keep
        self._known: dict[Path, Outbox] = {}
        self._begun: set[Path] = set()
        self._stopped: set[Path] = set()
        self._asked: Counter[tuple[Path, int]] = Counter()
        self._hold_us: dict[Path, int] = {}
        self._beat_us: int | None = None
        self._tidy_us = 0

    def step(self) -> bool:
        """Do one piece of work. False: nothing is left to do now. Raises LaterError, NoAnswerError, RefusedError."""
        waiting = self.open()
        self._tidy()
        if any(self._guarded(outbox, self._estimate) for outbox in waiting):
            return True
        if any(self._estimate_stopped(outbox) for outbox in self.stopped()):
            return True
        return any(self._guarded(outbox, self._advance) for outbox in waiting)

    def open(self) -> list[Outbox]:
        """The traces to send, oldest first, without those that a person must look at."""
        for folder in folders(self._place):
            if folder not in self._known and (found := opened(folder)):
                self._known[folder] = found
                if not found.sealed:
                    found.stop(None)
        left = [each for folder, each in self._known.items() if folder not in self._stopped]
        left = [each for each in left if not each.sealed and not each.local]
        return sorted(left, key=lambda each: (each.began_us, each.id))

    def stopped(self) -> list[Outbox]:
        """The traces that a person must look at."""
        return [self._known[folder] for folder in sorted(self._stopped)]

    def beat(self, now_us: int) -> None:
        """Report this host's state to the server once a minute. A lost report does not matter. Raises RefusedError."""
        if self._beat_us is not None and now_us - self._beat_us < HEARTBEAT_US:
            return
        self._beat_us = now_us
        waiting = self.open()
        said: Json = {"state": self._state(waiting), "software": {"happe-power": __version__}}
        said |= {"free_gib": shutil.disk_usage(self._place).free // GIB}
        said |= {"spool": sum(len(each.waiting()) for each in waiting), **_lost(waiting)}
        with suppress(NoAnswerError, LaterError, StoppedError):
            judge(self._server.send_json("PUT", "device/heartbeat", compact(said)), "the heartbeat")

    def _state(self, waiting: Iterable[Outbox]) -> str:
        if self._stopped:
            return "fault"
        if any(each.live for each in waiting):
            return "recording"
        return "uploading" if any(each.waiting() for each in waiting) else "idle"

    def _guarded(self, outbox: Outbox, act: Callable[[Outbox], bool]) -> bool:
        """Act on a trace. If a person must look at it, set it aside so that the others go on."""
        try:
            return act(outbox)
        except (StoppedError, TraceError) as error:
            self._stopped.add(outbox.folder)
            reason = f"{error}; {REMADE}" if isinstance(error, TraceError) else str(error)
            self._noted(outbox, lambda: outbox.stop(reason))
            self._report("stopped", trace=outbox.id, reason=reason)
            return True

    def _estimate(self, outbox: Outbox) -> bool:
        """Compare clocks if an estimate is due, and note it. If writing the note fails, wait a minute."""
        if clocks.now_us() < self._hold_us.get(outbox.folder, 0):
            return False
        ended_us = outbox.manifest["ended"]["monotonic_us"] if outbox.ended and outbox.manifest else None
        if not clocks.due(outbox.clock, clocks.noted(outbox.folder), ended_us, clocks.now_us(), live=outbox.live):
            return False
        line = clocks.compare(self._server, outbox.clock)
        try:
            append_line(outbox.folder / clocks.NAME, line)
        except OSError as error:
            self._hold(outbox)
            self._report("unnoted", trace=outbox.id, reason=_said(error))
            return False
        self._report("clock", trace=outbox.id, offset_us=line["offset_us"], uncertainty_us=line["uncertainty_us"])
        return True

    def _estimate_stopped(self, outbox: Outbox) -> bool:
        """Compare clocks also for a trace set aside: after a reboot it is too late."""
        try:
            return self._estimate(outbox)
        except (StoppedError, TraceError):
            self._hold(outbox)
            return False

    def _hold(self, outbox: Outbox) -> None:
        """Compare no clocks for this trace for a minute."""
        self._hold_us[outbox.folder] = clocks.now_us() + clocks.EVERY_US

    def _noted(self, outbox: Outbox, note: Callable[[], None]) -> None:
        """Write a note. A full disk must not stop the upload, because only a seal makes room on it."""
        try:
            note()
        except OSError as error:
            self._report("unnoted", trace=outbox.id, reason=_said(error))

    def _advance(self, outbox: Outbox) -> bool:
        """Send the next item of a trace."""
        if outbox.folder not in self._begun:
            return self._begin(outbox)
        if (line := outbox.unsent_clock()) is not None:
            said = compact({"clock": line["clock"], "probes": line["probes"]})
            judge(self._server.send_json("PUT", f"device/clocks/{line['id']}", said), "a clock estimate")
            self._noted(outbox, lambda: outbox.clock_arrived(line))
            return True
        if (number := outbox.sendable()) is not None:
            return self._send_part(outbox, number)
        return self._seal(outbox) if outbox.ended else False

    def _begin(self, outbox: Outbox) -> bool:
        raw = (outbox.folder / "header.json").read_bytes()
        answer = self._server.send_json("PUT", f"traces/{outbox.id}", raw)
        judge(answer, f"the header of trace {outbox.id}")
        require_trace(answer, outbox.id)
        self._begun.add(outbox.folder)
        self._report("begun", trace=outbox.id, status=answer.status)
        return True

    def _send_part(self, outbox: Outbox, number: int) -> bool:
        try:
            part = outbox.checked(number)
        except (DamagedError, OSError) as error:
            outbox.damaged[number] = str(error)
            self._report("damaged", trace=outbox.id, part=number, reason=str(error))
            return True
        headers = {"Content-Type": PARQUET, "Content-Digest": part.content_digest, "If-None-Match": "*"}
        with part.path.open("rb") as file:
            answer = self._server.put_file(f"traces/{outbox.id}/parts/{number}", file, part.bytes, headers)
        judge(answer, f"part {number} of trace {outbox.id}")
        if (answer.document.get("number"), answer.document.get("sha256")) != (number, part.sha256):
            raise LaterError(f"part {number}: {NOT_THE_SERVER}")
        self._noted(outbox, lambda: outbox.arrived(part))
        self._report("part", trace=outbox.id, part=number, bytes=part.bytes, status=answer.status)
        return True

    def _seal(self, outbox: Outbox) -> bool:
        """Seal a trace, or find out which parts the server lacks."""
        if self._hold_us.pop(outbox.folder, 0) and self._estimate(outbox):  # the last chance for an estimate
            return True
        if missing := self._missing(outbox):
            self._send_again(outbox, missing)
            return True
        raw = (outbox.folder / MANIFEST).read_bytes()
        raw += b" " * (-len(raw) % PADDED_BYTES)  # the number of gaps in it would reveal the power
        answer = self._server.send_json("PUT", f"traces/{outbox.id}/seal", raw)
        if answer.status == HTTPStatus.CONFLICT and (missing := _numbers(answer.document.get("missing"))):
            self._send_again(outbox, missing)
            return True
        if answer.status == HTTPStatus.CONFLICT and (others := _others(answer.document)):
            raise StoppedError(f"the seal of trace {outbox.id}: {others} ({answer.status}: {answer.detail})")
        judge(answer, f"the seal of trace {outbox.id}")
        require_trace(answer, outbox.id)
        if answer.document.get("sealed") is not True:
            raise LaterError(f"the seal of trace {outbox.id}: {NOT_THE_SERVER}")
        write_whole(outbox.folder / SEAL, compact(answer.document))
        self._report("sealed", trace=outbox.id)
        self._tidy_us = 0
        self._tidy()
        return True

    def _missing(self, outbox: Outbox) -> list[int]:
        """Ask the server which parts it lacks. It lists the first thousand numbers."""
        count = outbox.manifest["count"] if outbox.manifest else 0
        answer = self._server.get(f"traces/{outbox.id}/missing?count={count}")
        judge(answer, f"the missing parts of trace {outbox.id}")
        if not isinstance(answer.document.get("missing"), list):
            raise LaterError(f"the missing parts of trace {outbox.id}: {NOT_THE_SERVER}")
        return _numbers(answer.document["missing"])

    def _send_again(self, outbox: Outbox, missing: list[int]) -> None:
        """Mark parts to send again. Raises StoppedError if one is damaged or gone, LaterError if it comes too often."""
        for number in missing:
            here = outbox.part(number).exists()
            if reason := outbox.damaged.get(number, "" if here else "it is not on this disk"):
                raise StoppedError(
                    f"part {number} of trace {outbox.id} is damaged and was not sent: {reason}; "
                    f"without it the trace can't be sealed; `happe-power verify {outbox.folder}` says more"
                )
            outbox.lost(number)
        asked = [(outbox.folder, number) for number in missing]
        self._asked.update(asked)
        if max(self._asked[each] for each in asked) > MOST_ASKED:
            self._asked.clear()
            raise LaterError(f"trace {outbox.id}: the server has acknowledged parts that it says are missing")

    def _tidy(self) -> None:
        """Every ten seconds, delete the parts of sealed traces that this host need not keep."""
        if self._keep == ALWAYS or clocks.now_us() < self._tidy_us:
            return
        self._tidy_us = clocks.now_us() + TIDY_US
        sealed = [each for each in self._known.values() if each.sealed and each.numbers]
        for outbox in sorted(sealed, key=lambda each: (each.began_us, each.id)):
            if self._keep == UNTIL_SEALED or outbox.measured or self._short():
                self._noted(outbox, partial(self._delete, outbox))

    def _short(self) -> bool:
        """Whether the disk has too little room for a recorder to wait for measurements."""
        usage = shutil.disk_usage(self._place)
        return usage.free < min(LEAST_FREE, usage.total // LEAST_SHARE)

    def _delete(self, outbox: Outbox) -> None:
        self._report("deleted", trace=outbox.id, parts=outbox.tidy())


def _lost(waiting: Iterable[Outbox]) -> Json:
    """Count the gaps of the trace under recording, and their whole seconds; empty without such a trace.

    Staff see these figures before unblinding, so gaps that the signal itself causes do not count.
    """
    for outbox in waiting:
        if outbox.live:
            try:
                trace = Trace.open(outbox.folder)
                gaps = [gap for gap in trace.gaps if gap.reason not in TELLING]
                lost = sum(gap.to_index - gap.from_index for gap in gaps)
            except TraceError:
                return {}
            return {"gaps": len(gaps), "lost_seconds": math.ceil(lost / trace.rate_hz)}
    return {}


def upload(uploader: Uploader, wait: Waiting, report: Report, *, tries: int) -> int:
    """Send until nothing is left. Return the failures in a row at the end; 0: all is sent. Raises RefusedError.

    If it has sent anything, it then reports this host's state.
    """
    failures, sent = 0, False
    while failures < tries:
        try:
            if not uploader.step():
                if sent:
                    uploader.beat(clocks.now_us())
                return 0
            failures, sent = 0, True
        except (LaterError, NoAnswerError, OSError) as error:
            failures += 1
            if failures < tries and wait(_pause(error, failures, report)):
                break
    return failures


def watch(uploader: Uploader, wait: Waiting, report: Report, ended: Callable[[], bool] = lambda: False) -> None:
    """Send new data of the spool until `wait` is True, or `ended` is and no data can go. Raises RefusedError."""
    failures = 0
    while True:
        try:
            uploader.beat(clocks.now_us())
            busy = uploader.step()
            failures = 0
            pause = 0.0 if busy else POLL_S
        except (LaterError, NoAnswerError, OSError) as error:
            failures += 1
            busy = False
            pause = _pause(error, failures, report)
        if (not busy and ended()) or wait(pause):
            return


def _pause(error: Exception, failures: int, report: Report) -> float:
    least, status = (error.least_pause_s, error.status) if isinstance(error, LaterError) else (0, None)
    seconds = max(pause_s(failures, random.random()), least)  # noqa: S311 - no secret
    report("later", reason=str(error), status=status, seconds=round(seconds, 1))
    return seconds


def _said(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def require_trace(answer: Answer, trace: str) -> None:
    """Raise LaterError unless an answer names this trace: a captive portal answers 200 to any request."""
    if answer.document.get("trace") != trace:
        raise LaterError(f"trace {trace}: {NOT_THE_SERVER}")


def _numbers(value: object) -> list[int]:
    return [each for each in value if type(each) is int and each >= 0] if isinstance(value, list) else []


def _others(document: Json) -> str:
    """Describe the server's other objections to a manifest, each with at most 20 part numbers."""
    meanings = {
        "mismatched": "it has other bytes for parts",
        "unexpected": "it has parts that the manifest does not list:",
    }
    found = [(meaning, _numbers(document.get(name))) for name, meaning in meanings.items()]
    return "; ".join(f"{meaning} {', '.join(map(str, numbers[:20]))}" for meaning, numbers in found if numbers)
