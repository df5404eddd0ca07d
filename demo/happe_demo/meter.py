# SPDX-License-Identifier: GPL-2.0-or-later
"""A measuring host, as a process: meter.py FOLDER. It reads commands in JSON, one a line, and ends when its input does.

It is happe-power with its simulated instrument: recorder, clock comparisons, spool and uploader. Three things are
simulated: the power at the shunt, the host's clock, and the time, so that a recording of 40 minutes takes only the
time of its arithmetic.
"""

import json
import os
import sys
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from happe_contract.traces import TimePair
from happe_demo.times import HostClock, StudyTime, hasten_uploads
from happe_power import calibration
from happe_power.recording.files import append_line
from happe_power.recording.header import Purpose, boot_clock
from happe_power.recording.recorder import Limits, Recorder
from happe_power.recording.tending import Tended
from happe_power.sources.clock import Instant, VirtualClock
from happe_power.sources.sim import Rig, Sim
from happe_power.sources.source import Reading
from happe_power.sources.t61 import Load
from happe_power.upload import clocks
from happe_power.upload.server import Server
from happe_power.upload.uploader import Uploader, upload

Json = dict[str, Any]

RATE_HZ = 200.0
PART_SECONDS = 60
BATCH_S = 10.0
NOISE = 0.001  # of a channel's range, as the simulated instrument has by default
TRIES = 3
MILLI = 1000

CALIBRATION = """\
name = "a simulated rig"
date = {date}
expires = {expires}
shunt_ohm = {{ value = 0.1, standard_uncertainty = 0.0001, source = "simulated" }}
divider = {{ value = 4.0, standard_uncertainty = 0.004, source = "simulated" }}
wiring = {{ shunt = "return", supply_measured = "after" }}

[channels.shunt]
gain = {{ value = 1.0, standard_uncertainty = 0.0, source = "simulated" }}
zero = {{ value = 0.0, standard_uncertainty = 0.0, source = "simulated" }}
noise = {{ value = 0.0005, standard_uncertainty = 0.0, source = "simulated: 0.1 % of 0.5 V" }}

[channels.supply]
gain = {{ value = 1.0, standard_uncertainty = 0.0, source = "simulated" }}
zero = {{ value = 0.0, standard_uncertainty = 0.0, source = "simulated" }}
noise = {{ value = 0.01, standard_uncertainty = 0.0, source = "simulated: 0.1 % of 10 V" }}
"""


class InBatches:
    """A source that gives large batches, because nobody waits for single samples."""

    patient = True

    def __init__(self, source: Sim) -> None:
        """Wrap this source."""
        self.kind, self.device, self.serial = source.kind, source.device, source.serial
        self.channels, self.rate_hz = source.channels, source.rate_hz
        self._source = source

    def start(self, first_index: int) -> TimePair:
        """Begin."""
        return self._source.start(first_index)

    def read(self, timeout_s: float) -> Reading:
        """Read a batch."""
        return self._source.read(max(timeout_s, BATCH_S))

    def stop(self) -> None:
        """Do nothing, as the simulation holds nothing."""


class Meter:
    """One measuring host. It compares clocks at once, and records and sends traces in the background."""

    def __init__(self, folder: Path, said: Json) -> None:
        """Make the host by the first command: the study's time, its own clock, server, token and codes."""
        study = StudyTime(Path(said["time"]))
        self._clock = HostClock(study, **said["clock"])
        hasten_uploads(self._clock)
        self._said, self._spool = said, folder / "spool"
        self._server = self._connected()
        self._compared: list[Json] = []
        self._jobs: SimpleQueue[Json | None] = SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def compare(self) -> Json:
        """Compare clocks for the next trace."""
        line = clocks.compare(self._server, boot_clock())
        self._compared.append(line)
        return {"kind": "clock", "offset_us": line["offset_us"], "uncertainty_us": line["uncertainty_us"]}

    def record(self, said: Json) -> None:
        """Queue a recording of the laptop's power, and its upload. An answer follows when the trace is sealed."""
        self._jobs.put(said | {"compared": self._compared})
        self._compared = []

    def _connected(self) -> Server:
        return Server(self._said["server"], self._said["token"])

    def _work(self) -> None:
        try:
            uploader = Uploader(self._spool, self._connected(), _quiet, "always")
            while (job := self._jobs.get()) is not None:
                answer({"kind": "trace"} | self._recorded(uploader, job))
        except Exception as error:  # noqa: BLE001 - the waiting caller reports it
            answer({"error": repr(error)})

    def _recorded(self, uploader: Uploader, job: Json) -> Json:
        recorder = self._recorder(job)
        recorder.start()
        recorder.wait()
        for error in recorder.errors:
            raise error
        [folder] = recorder.folders
        for line in job["compared"]:
            append_line(folder / clocks.NAME, line)
        if upload(uploader, threading.Event().wait, _quiet, tries=TRIES) or uploader.stopped():
            raise RuntimeError(f"{folder} was not uploaded")
        return {"trace": str(folder), "samples": recorder.rows, "lost": recorder.lost}

    def _recorder(self, job: Json) -> Recorder:
        began_us: int = job["steps"][0][0]
        rig = Rig(self._load(job["steps"]), RATE_HZ, noise=NOISE, rate_ppm=self._said["rate_ppm"], seed=job["seed"])
        began = Instant(self._clock.of(began_us), began_us + self._clock.wall_us)
        source = InBatches(Sim(rig, VirtualClock.at(began), paced=False))
        record = calibration.parse(self._said["calibration"].encode(), "calibration.toml")
        study = self._said["study"]
        purpose = Purpose(study, self._said["meter"], job["measured"], record.to_header(), PART_SECONDS)
        seconds = (self._clock.of(job["until_us"]) - began.monotonic_us) / 1e6
        return Recorder(Tended(source), self._spool / study, purpose, limits=Limits(indices=int(seconds * RATE_HZ)))

    def _load(self, steps: list[list[int]]) -> Load:
        """Convert steps of (study time, milliwatts) to watts by this host's time since the recording began."""
        began_us = self._clock.of(steps[0][0])
        places = [self._clock.of(at_us) - began_us for at_us, _ in steps]
        return Load(tuple(places), tuple(milliwatts / MILLI for _, milliwatts in steps))


def _quiet(event: str, **facts: Any) -> None:  # noqa: ANN401 - JSON of any kind
    """Write the uploader's reports into the log."""
    if event in {"stopped", "damaged", "later"}:
        print(json.dumps({"event": event, **facts}), file=sys.stderr, flush=True)


def answer(said: Json) -> None:
    """Print a line in one piece, because two threads print."""
    os.write(1, json.dumps(said).encode() + b"\n")


def main() -> None:
    """Make the host, and do its commands."""
    lines = (json.loads(line) for line in sys.stdin)
    meter = Meter(Path(sys.argv[1]), next(lines))
    answer({"ready": True})
    for said in lines:
        if said["do"] == "compare":
            answer(meter.compare())
        else:
            meter.record(said)


if __name__ == "__main__":
    main()
