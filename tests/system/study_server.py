# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-server as its staff runs it, for tests of its clients: commands and a process.

It uses the server's internals only to open a part of a power trace and compare it with what the client sent.
"""

import hashlib
import json
import os
import signal
import socket
import subprocess
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import select

from happe_demo.ports import reserved_port
from happe_study.base.config import load_secrets
from happe_study.base.database import Database
from happe_study.model.traces import Trace
from happe_study.study.traces.sealed import seal_of
from patience import PATIENCE_S, until
from program import ROOT

HAPPE_SERVER = ROOT / "build/bin/happe-server"
PROTOCOL = ROOT / "study-server/src/happe_study/study/protocol/examples/paper-a3.toml"
STUDY = "paper-a3"
ADMINISTRATOR, PASSWORD = "ana@example.org", "correct horse battery"


class ServerProcess:
    """happe-server's process. Tests may `start`, `kill` and `stop` it again and again; its port stays."""

    def __init__(self, config: Path) -> None:
        """Reserve a port. The server reads this configuration, and its log is beside it."""
        self.port = reserved_port()
        self.address = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.address}"
        self._config, self._log = config, config.with_name("server.log")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Serve, and wait until it answers."""
        with self._log.open("ab") as log:
            command = [str(HAPPE_SERVER), "--config", str(self._config), "run"]
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        process = self._process
        until(lambda: process.poll() is not None or self._listens(), "listening")
        assert process.poll() is None, self._log.read_text()

    def kill(self) -> None:
        """End all of its processes with SIGKILL, and wait until its port is free."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(PATIENCE_S)
        self._process = None
        until(lambda: not self._listens(), "the end of its workers")

    def stop(self) -> None:
        """End it normally, if it runs."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE_S)
            self._process = None

    def _listens(self) -> bool:
        with suppress(OSError), closing(socket.create_connection(("127.0.0.1", self.port), timeout=5)):
            return True
        return False


class StudyServer(ServerProcess):
    """A server with a study in a folder."""

    def __init__(self, folder: Path, protocol: Path = PROTOCOL, study: str = STUDY) -> None:
        """Make it, with the study of this protocol in it. Ana administrates; her password is in `password`."""
        self.folder, self.study = folder, study
        super().__init__(folder / "server.toml")
        password = folder / "password"
        password.write_text(f"{PASSWORD}\n")
        listen = ["--listen", self.address]
        who = ["--administrator", ADMINISTRATOR, "--password-file", str(password)]
        self.run("init", "--data", str(folder / "data"), *listen, *who)
        text = self._config.read_text()
        self._config.write_text('metrics_listen = "off"\nworkers = 1\nlog_level = "error"\n' + text)
        self.run("study", "create", str(protocol))

    def run(self, *arguments: str, typed: str = "") -> str:
        """Run a command of the staff, and return its standard output."""
        command = [str(HAPPE_SERVER), "--config", str(self._config), *arguments]
        ran = subprocess.run(command, input=typed, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        assert ran.returncode == 0, f"{arguments}: {ran.stdout}{ran.stderr}"
        return ran.stdout

    def json(self, *arguments: str, typed: str = "") -> Any:  # noqa: ANN401 - JSON
        """Return the output of a command with --json."""
        return json.loads(self.run(*arguments, "--json", typed=typed))

    def device(self, name: str, kind: str) -> dict[str, Any]:
        """Add a device. Return its code and enrolment code."""
        made: dict[str, Any] = self.json("device", "enrol", self.study, name, "--kind", kind)
        return made

    def digests(self, trace: str) -> dict[int, str]:
        """Return the SHA-256 of each opened part of a trace on its disk, by number. Empty before the trace arrives."""
        data = self.folder / "data"
        key, files = load_secrets(data / "secrets").allocation, (data / "traces" / trace[:2] / trace).glob("*.sealed")
        database = Database(f"sqlite:///{data / 'server.db'}")
        with database.reading() as session:
            row = session.scalars(select(Trace).where(Trace.client_id == trace)).one_or_none()
            parts = {path: seal_of(row, int(path.stem.partition("-")[0]), key) for path in files} if row else {}
        database.dispose()
        opened = {seal.number: seal.opened(path.read_bytes()) for path, seal in parts.items()}
        return {number: hashlib.sha256(part).hexdigest() for number, part in opened.items()}
