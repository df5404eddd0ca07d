# SPDX-License-Identifier: GPL-2.0-or-later
"""Two servers and three workers, each with its own folder, on one PostgreSQL and one S3 store, all real processes.

Devices send to both servers in turn, and repeat a request until a server answers, as docs/uploads.md asks.
"""

import json
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from itertools import cycle
from pathlib import Path
from typing import Any, Self

from forked import Program
from happe_demo.ports import reserved_port
from happe_study.base.config import SECRET_NAMES, load_config
from happe_study.cli.program import main
from happe_study.operations.setting_up import write_secret
from happe_study.study.traces.storage import Storage
from happe_study.study.traces.stores import storage_of
from in_process import Ran
from operated import happe_server
from patience import PATIENCE_S, until
from s3_stores import Store
from uploader import DONE, PAUSE_SECONDS, RETRIED
from world import AT_ONCE, World, fixed_secrets

SERVERS, WORKERS = 2, 3
BUCKET = "happe"


@dataclass(frozen=True)
class Answered:
    """An answer in the form of Flask's client."""

    status_code: int
    text: str


@dataclass
class Device:
    """A device that uploads to the servers in turn."""

    ports: Iterator[int]
    token: str

    def put(self, path: str, **body: Any) -> Answered:  # noqa: ANN401 - as Flask's client
        """Upload until a server answers with success. A success whose answer was lost counts as new."""
        again, ended = False, threading.Event()
        while True:
            answer = self.once("PUT", next(self.ports), path, **body)
            if answer is not None and answer.status_code in DONE:
                new = again and answer.status_code == HTTPStatus.OK and not path.endswith("/seal")
                return Answered(HTTPStatus.CREATED, answer.text) if new else answer
            assert answer is None or answer.status_code in RETRIED, (path, answer)
            again = True
            ended.wait(PAUSE_SECONDS)

    def once(  # noqa: PLR0913 - as Flask's client
        self,
        method: str,
        port: int,
        path: str,
        *,
        json: object = None,
        data: bytes = b"",
        headers: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Answered | None:
        """Send one request to one server. Returns None without an answer."""
        raw = data or _encoded(json)
        every = {"Authorization": f"Bearer {self.token}", "Content-Type": content_type, **(headers or {})}
        connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, raw, every)
            answer = connection.getresponse()
            return Answered(answer.status, answer.read().decode())
        except (OSError, HTTPException):
            return None
        finally:
            connection.close()


def _encoded(document: object) -> bytes:
    return json.dumps(document).encode()


class Process:
    """`happe-server run` or `worker`. Tests kill it with all its children, and start it again."""

    def __init__(self, file: Path, log: Path, what: str, port: int | None = None) -> None:
        self.file, self.port, self._log, self._what = file, port, log, what
        self._process: Program | None = None

    def start(self) -> None:
        """Start the process."""
        self._process = Program(main, ["--config", str(self.file), self._what], log=self._log)

    def kill(self) -> None:
        """Kill the process and its group. Children in other groups end by themselves."""
        assert self._process is not None
        self._process.kill()
        with suppress(ProcessLookupError):  # there is no group
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(PATIENCE_S)

    def serves(self) -> bool:
        """Whether the server answers."""
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text()
        return answers(self.port or 0)


def answers(port: int) -> bool:
    """Whether the health check of a server on this port succeeds."""
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


class Remote(World):
    """A world on the servers' database. Devices upload to each server in turn."""

    def __init__(self, folder: Path, database_url: str, ports: list[int], **config: object) -> None:
        super().__init__(folder, database_url, **config)
        self._ports = ports

    def client(self, token: str | None = None) -> Any:  # noqa: ANN401 - the part of Flask's client that uploads need
        """A device."""
        assert token is not None
        return Device(cycle(self._ports), token)


class Lab:
    """The servers, the workers, and their database's world."""

    def __init__(self, folder: Path, database_url: str, store: Store) -> None:
        """Write secrets and configurations, and make the bucket. Start nothing yet."""
        store.make_bucket(BUCKET)
        s3 = store.settings(BUCKET)
        self._folder, self._fields = folder, {"database_url": database_url, **AT_ONCE, "limits.free_bytes": 0}
        self._fields |= {"metrics_listen": "off", "jobs": 0, "workers": 1, "log_level": "warning"}
        self._fields |= {f"s3.{name}": value for name, value in s3.items()}
        self.servers = [self._made(f"server-{number}", reserved_port()) for number in range(SERVERS)]
        self.workers = [self._made(f"worker-{number}", None) for number in range(WORKERS)]
        self.kinds: list[Sequence[Process | Store]] = [self.servers, self.workers, *([[store]] if store.keeps else [])]
        self.ports = [process.port or 0 for process in self.servers]
        self.world = Remote(folder / "server-0", database_url, self.ports, s3=s3, limits={"free_bytes": 0})

    def _made(self, name: str, port: int | None) -> Process:
        data, file = self._folder / name, self._folder / f"{name}.toml"
        data.mkdir(mode=0o700)
        (data / "secrets").mkdir(mode=0o700)
        for each in SECRET_NAMES:
            write_secret(data / "secrets" / f"{each}.key", getattr(fixed_secrets(), each))
        fields = {"data": str(data), "listen": f"127.0.0.1:{port or 0}", **self._fields}
        file.write_text("".join(f"{each} = {json.dumps(value)}\n" for each, value in fields.items()))
        return Process(file, self._folder / f"{name}.log", "run" if port else "worker", port)

    @property
    def data(self) -> list[Path]:
        """The data folders of all processes."""
        return [process.file.with_suffix("") for process in self.servers + self.workers]

    def storages(self) -> list[Storage]:
        """The store of traces, once for each server."""
        return [storage_of(load_config(process.file), self.world.database) for process in self.servers]

    def command(self, server: int, *arguments: str | Path) -> Ran:
        """Run a command on one of the servers."""
        return happe_server("--config", self.servers[server].file, *arguments)

    def __enter__(self) -> Self:
        """Start all processes."""
        for process in self.servers + self.workers:
            process.start()
        for process in self.servers:
            until(process.serves, "an answer of a server")
        return self

    def __exit__(self, *_error: object) -> None:
        for process in self.servers + self.workers:
            process.kill()
        self.world.close()
