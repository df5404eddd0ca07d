# SPDX-License-Identifier: GPL-2.0-or-later
"""Two servers, a worker, PostgreSQL and versitygw in containers, set up by docs/how-to/containers.md.

packaging/container-test.sh gives Podman the images, and nothing else.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from happe_study.base import fingerprints
from happe_study.base.config import SECRET_NAMES
from happe_study.base.s3 import S3
from happe_study.evidence.traces.bucket import Bucket
from in_process import Ran
from patience import PATIENCE_S, until
from program import ROOT
from two_servers import Remote, answers
from world import AT_ONCE, fixed_secrets

if TYPE_CHECKING:
    from happe_study.evidence.traces.storage import Storage

FOLDER = ROOT / "packaging/container"
PORTS = [8081, 8082]  # in compose.yaml, on loopback
STORE_PORT = 7070
CONFIG = "/var/lib/happe-server/server.toml"
PASSWORD = "a password of the test"  # noqa: S105 - of nobody
ANSWERS = ["ada@example.org", PASSWORD, PASSWORD, *[""] * 6]  # to `init`: an administrator, and nobody with a role


def commands() -> list[str]:
    """The commands of the guide."""
    text = (ROOT / "docs/how-to/containers.md").read_text(encoding="utf-8")
    block = text.split("\n## Set it up\n\n")[1].split("\n\n")[0]
    return [line.strip() for line in block.splitlines()]


def ran(*command: str, typed: str = "") -> Ran:
    """Run a command to its end, in the folder of compose.yaml."""
    done = subprocess.run(
        command, input=typed, capture_output=True, text=True, check=False, timeout=PATIENCE_S, cwd=FOLDER
    )
    return Ran(done.returncode, done.stdout.strip(), done.stderr)


def podman(*arguments: str) -> str:
    """The output of a command of Podman, which must succeed."""
    done = ran("podman", *arguments)
    assert done.status == 0, (arguments, done.err)
    return done.out


def follow(line: str) -> None:
    """Run a command of the guide, without a terminal, and answer the questions of `init`.

    podman-compose of Debian 12 succeeds even if Podman fails. So this prints the output, for a later failure.
    """
    command = line.replace(" run --rm ", " run --rm -T ").replace(" exec ", " exec -T ")
    done = ran("sh", "-c", command, typed="".join(f"{answer}\n" for answer in ANSWERS))
    print(command, done.out, done.err, sep="\n")
    assert done.status == 0


def volume(name: str) -> Path:
    """The path of a volume of compose.yaml."""
    return Path(podman("volume", "inspect", "--format", "{{.Mountpoint}}", f"{FOLDER.name}_{name}"))


class Container:
    """The container of a service of compose.yaml. Podman starts it again after a kill."""

    def __init__(self, service: str, port: int | None = None) -> None:
        """`port`: the container's port, which opens when the service can answer."""
        self.id = podman("ps", "--quiet", "--filter", f"label=com.docker.compose.service={service}")
        self._service, self._port, self._killed = service, port, 0

    @property
    def address(self) -> str:
        """The container's address on the bridge, a new one after each start."""
        return podman("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", self.id)

    def kill(self) -> None:
        """Kill the container's first process, and so all of them."""
        self._killed = until(self._process, f"a process of {self._service}")
        with suppress(ProcessLookupError):
            os.kill(self._killed, signal.SIGKILL)

    def start(self) -> None:
        """Wait until Podman has started the container again."""
        until(lambda: self._process() not in {0, self._killed}, f"the restart of {self._service}")
        if self._port is not None:
            until(self._open, f"the port of {self._service}")

    def _process(self) -> int:
        return int(podman("inspect", "--format", "{{.State.Pid}}", self.id))

    def _open(self) -> bool:
        with suppress(OSError), socket.create_connection((self.address, self._port or 0), PATIENCE_S):
            return True
        return False


class Composed:
    """The same as two_servers.Lab, in containers."""

    def __init__(self) -> None:
        """Follow the guide. Before its last command, give the servers the tests' secrets, and let runs end at once."""
        _cd, *first, last = commands()
        for line in first:
            follow(line)
        self._database, self._store = Container("database"), Container("store", STORE_PORT)
        self.data = [volume("study") / "data"]
        podman("exec", self._database.id, "createuser", "--superuser", "root")  # the user at PostgreSQL's socket
        url = f"postgresql+psycopg://root@/happe?host={volume('socket')}"
        self.ports = PORTS
        self.world = Remote(self.data[0], url, PORTS, limits={"free_bytes": 0})
        self._let_it_be_a_test()
        follow(last)
        self.servers, self.workers = [Container("one"), Container("two")], [Container("worker")]
        self.kinds = [self.servers, self.workers, [self._store]]

    def _let_it_be_a_test(self) -> None:
        for name in SECRET_NAMES:
            (self.data[0] / "secrets" / f"{name}.key").write_text(getattr(fixed_secrets(), name).hex())
        with self.world.database.writing() as session:
            fingerprints.record(session, fixed_secrets())
        file = self.data[0].parent / "server.toml"
        file.write_text("".join(f"{name} = {value}\n" for name, value in AT_ONCE.items()) + file.read_text())

    def storages(self) -> list[Storage]:
        """The store of traces. The servers share a folder for arriving parts."""
        settings = S3(
            bucket="happe-study",
            endpoint=f"http://{self._store.address}:{STORE_PORT}",
            credentials_file=volume("credentials") / "credentials",
        )
        return [Bucket(self.world.config.traces_folder, settings)]

    def command(self, server: int, *arguments: str) -> Ran:
        """Run a command on one of the servers."""
        return ran("podman", "exec", self.servers[server].id, "happe-server", "--config", CONFIG, *arguments)

    def __enter__(self) -> Self:
        """Wait until both servers answer."""
        for port in PORTS:
            until(partial(answers, port), "an answer of a server")
        return self

    def __exit__(self, *_error: object) -> None:
        for container in (self._database, *(each for kind in self.kinds for each in kind)):
            logged = ran("podman", "logs", "--tail", "40", container.id)
            print(container.id, logged.out, logged.err, sep="\n")  # pytest shows it after a failure
        self.world.close()
