# SPDX-License-Identifier: GPL-2.0-or-later
"""The host's side during a sitting at the laptop: server, measuring station, experimenter, the laptop's lines."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Self

from laboratory.server import STUDY, Json, StudyServer
from patience import until
from program import ROOT
from t61 import visits
from t61.relay import Relay

if TYPE_CHECKING:
    from types import TracebackType

PORTS = ("server", "power", "plan")  # the guest's serial ports
STATION = Path(__file__).with_name("station.py")
SOURCE = "rate = 1000\nnoise = 0.001\ndrift = 0.0001"
CALIBRATION = Path(__file__).with_name("calibration.toml")
PACKAGES = ("profiles/python/src", "power-logger/src")
PATIENCE_S = 120
SITTING_S = 2400  # the longest time of a participant


class Laboratory:
    """Everything around the laptop, which may start now: its plan comes when the server and the station run."""

    def __init__(self, folder: Path, participants: int, seed: int) -> None:
        """Begin to prepare. An error there prints its trace back and ends this program, as SIGTERM does."""
        self.folder = folder
        self.sitting = folder / "sitting"
        self.participants: list[str] = []  # their codes, after the invitation
        self._count, self._seed = participants, seed
        self._server: StudyServer | None = None
        self._sockets = tempfile.TemporaryDirectory(prefix="laboratory-")  # a socket's path must be short
        self._station: subprocess.Popen[bytes] | None = None
        self._preparing = threading.Thread(target=self._prepare, daemon=True)
        self._preparing.start()

    def __enter__(self) -> Self:
        """Return the laboratory, which is preparing already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End everything."""
        if self._station and self._station.poll() is None:
            self._station.kill()
        if self._server:
            self._server.stop()
        self._sockets.cleanup()

    @property
    def server(self) -> StudyServer:
        """The study server, once it is prepared."""
        assert self._server  # noqa: S101 - callers have waited for it
        return self._server

    def socket(self, name: str) -> Path:
        """Return the socket to the guest's port of this name."""
        return Path(self._sockets.name) / name

    def close(self) -> None:
        """End the recording after the sitting. Then the server has the trace."""
        self._preparing.join(PATIENCE_S)
        assert self._station  # noqa: S101 - the laptop had its plan
        self._station.send_signal(signal.SIGINT)
        status = self._station.wait(PATIENCE_S)
        said = (self.folder / "station.log").read_text()
        if status or "sealed by the server" not in said:
            sys.exit(f"laboratory: the station ended with {status}: {said[-1000:]}")

    def station(self, *words: str) -> list[str]:
        """Return a command line of happe-power at the measuring station."""
        return [sys.executable, str(STATION), "--config", str(self.folder / "station.toml"), *words]

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment in which happe-power finds its packages."""
        return {**os.environ, "PYTHONPATH": ":".join(str(ROOT / each) for each in PACKAGES)}

    def _prepare(self) -> None:
        try:
            self._seat()
        except BaseException as error:  # noqa: BLE001 - prints it, and ends the guest
            traceback.print_exception(error)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

    def _seat(self) -> None:
        """Enrol the devices, let people take part, begin to measure, and send the laptop its plan."""
        server = self._server = StudyServer(self.folder / "server")
        server.start()
        laptop = server.json("device", "enrol", STUDY, "t61", "--kind", "laptop")
        self._measure(laptop["device"], server.json("device", "enrol", STUDY, "bench", "--kind", "meter"))
        links = self._seated(server)
        relay = Relay(
            connected(self.socket("server")).makefile("rwb", 0),
            lambda: socket.create_connection(("127.0.0.1", server.port)),
        )
        threading.Thread(target=relay.run, daemon=True).start()
        plan = {"server": server.url, "port": server.port, "enrolment_code": laptop["enrolment_code"]}
        plan |= {"links": links, "within_s": SITTING_S, "seed": self._seed}
        self._plan = connected(self.socket("plan"))  # stays open, or the guest would lose unread lines
        self._plan.sendall(json.dumps(plan).encode() + b"\n")

    def _seated(self, server: StudyServer) -> list[str]:
        """Let people take part. Return their links."""
        links = []
        for row in server.json("participant", "invite", STUDY, "--count", str(self._count)):
            visits.take_part(server.url, row["link"])
            self.participants.append(row["participant"])
            links.append(row["link"])
        return links

    def _measure(self, laptop: str, station: Json) -> None:
        """Enrol the station, and record until close()."""
        (self.folder / "station.toml").write_text('state = "station"\nkeep = "always"\n')
        enrol = self.station("enrol", "--server", self.server.url, "--code", station["enrolment_code"])
        subprocess.run(enrol, check=True, env=self.environment, capture_output=True)
        source = self.folder / "source.toml"
        source.write_text(f'kind = "sim"\nplace = "{self.socket("power")}"\nseed = {self._seed}\n{SOURCE}\n')
        words = ("--source", str(source), "--measured", laptop, "--calibration", str(CALIBRATION), "--no-zero-check")
        log = self.folder / "station.log"
        with log.open("wb") as told:
            self._station = subprocess.Popen(
                self.station("record", *words, "--json"), env=self.environment, stdout=told, stderr=subprocess.STDOUT
            )
        recording = self._station
        until(lambda: log.read_bytes().startswith(b"{") or recording.poll() is not None, "the station's recording")
        if recording.poll() is not None:
            raise RuntimeError(f"the station does not record: {log.read_text()}")


def connected(path: Path) -> socket.socket:
    """Connect to a port of the guest. Its socket exists from the moment the laptop starts."""
    made = socket.socket(socket.AF_UNIX)
    made.connect(str(path))
    return made
