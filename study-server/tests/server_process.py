# SPDX-License-Identifier: GPL-2.0-or-later
"""The real server in separate processes, for tests that kill them: gunicorn, workers, threads, loopback."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import forked
from happe_demo.ports import reserved_port
from happe_study.base.config import Config, load_secrets
from patience import PATIENCE_S, until
from world import fixed_secrets


class ServerProcess:
    """A server with one configuration. Tests start it, kill it and start it again on the same port."""

    def __init__(self, folder: Path, database_url: str, **config: object) -> None:
        """Reserve a port. The server starts no worker for jobs."""
        self.port = reserved_port()
        fields = {"data": folder, "database_url": database_url, "listen": f"127.0.0.1:{self.port}", **config}
        self.config = Config.model_validate({"metrics_listen": "off", "log_level": "error", "jobs": 0, **fields})
        self.log = folder.with_suffix(".log")
        self._process: ForkServerProcess | None = None
        _write_secrets(self.config.secrets_folder)

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        process = self._process = forked.begun(_serve, self.config, self.log)
        until(lambda: not process.is_alive() or self._answers(), "an answer")
        assert process.is_alive(), self.log.read_text()

    def kill(self) -> None:
        """Kill all processes of the server, and wait until they are gone."""
        process = self._process
        assert process is not None
        assert process.pid is not None
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.join(PATIENCE_S)
        self._process = None
        until(lambda: not self._listens(), "the death of a worker, which may outlive its master by some milliseconds,")

    def stop(self) -> None:
        """Stop the server in order, if it runs."""
        if self._process is not None and self._process.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGTERM)
            self._process.join(PATIENCE_S)
            self._process = None

    def pids(self) -> list[int]:
        """The processes of the server: gunicorn's master and its workers."""
        assert self._process is not None
        assert self._process.pid is not None
        return list(_group(self._process.pid))

    def peak_kib(self) -> int:
        """The processes' peak of resident memory (VmHWM, proc(5)), with shared memory of workers counted once."""
        assert self._process is not None
        workers = [pid for pid in self.pids() if pid != self._process.pid]
        shared = sum(
            _field(f"{pid}/smaps_rollup", each) for pid in workers for each in ("Shared_Clean", "Shared_Dirty")
        )
        return sum(_field(f"{pid}/status", "VmHWM") for pid in self.pids()) - shared

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
        except OSError:
            return False
        return True

    def _answers(self) -> bool:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        with suppress(OSError, HTTPException), closing(connection):
            connection.request("GET", "/api/v1/clock", headers={"Connection": "close"})
            return connection.getresponse().status == HTTPStatus.UNAUTHORIZED
        return False


def _serve(config: Config, log: Path) -> None:
    """Serve in the new process, which leads a process group and logs to a file."""
    from happe_study.operations import serving  # noqa: PLC0415 - heavy; `forked` has imported it

    os.setsid()
    forked.log_to(log)
    serving.run(config, load_secrets(config.secrets_folder))


def _write_secrets(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    secrets = fixed_secrets()
    for name in ("session", "password", "allocation"):
        path = folder / f"{name}.key"
        path.touch(0o600)
        path.write_text(getattr(secrets, name).hex())


def _group(leader: int) -> Iterator[int]:
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(int(folder.name)) == leader:
                yield int(folder.name)


def _field(file: str, name: str) -> int:
    lines = Path("/proc", file).read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))
