# SPDX-License-Identifier: GPL-2.0-or-later
"""A server with a configuration file, a data folder with secrets, and the program `happe-server`."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Self

from forked import Program
from happe_study.base.config import SECRET_NAMES
from happe_study.cli.program import main
from happe_study.operations.setting_up import write_secret
from in_process import Ran, run
from patience import PATIENCE_S
from world import AT_ONCE, World, fixed_secrets

SOURCES = Path(__file__).parents[1] / "src"
PASSWORD = "correct horse battery"  # noqa: S105 - of nobody


def happe_server(*arguments: str | Path, typed: str = "") -> Ran:
    """Run `happe-server` in this process. `typed` is its standard input."""
    return run(main, *arguments, typed=typed)


class Operated:
    """A server with data, configuration and secrets in files. `world` is the same server for the content."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.data = folder / "data"
        self.data.mkdir(mode=0o700)
        (self.data / "traces").mkdir(mode=0o700)
        secrets = self.data / "secrets"
        secrets.mkdir(mode=0o700)
        for name in SECRET_NAMES:
            write_secret(secrets / f"{name}.key", getattr(fixed_secrets(), name))
        self.database_url = database_url
        self.file = folder / "server.toml"
        self.configure()
        self.world = World(self.data, database_url)

    def configure(self, **fields: object) -> None:
        """Write the configuration again: the necessary fields, and these."""
        limits = {"limits.free_bytes": 0}
        every = {"data": str(self.data), "database_url": self.database_url, **AT_ONCE, **limits, **fields}
        self.file.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in every.items()))

    def run(self, *arguments: str | Path, typed: str = "") -> Ran:
        """Run a command on the server."""
        return happe_server("--config", self.file, *arguments, typed=typed)

    def done(self, *arguments: str | Path, typed: str = "") -> Ran:
        """Run a command that must succeed."""
        ran = self.run(*arguments, typed=typed)
        assert ran.status == 0, ran.err
        return ran

    def close(self) -> None:
        """Close the database's connections."""
        self.world.close()


def happe_server_process(*arguments: str | Path, log: Path, **variables: str) -> subprocess.Popen[bytes]:
    """Start the command as a program, which writes its output to a file."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), "PYTHONDONTWRITEBYTECODE": "1", **variables}
    program = [sys.executable, "-c", "from happe_study.cli import main; main()"]
    with log.open("ab") as output:
        return subprocess.Popen(
            [*program, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
        )


def happe_server_forked(*arguments: str | Path, log: Path, **variables: str) -> Program:
    """Fork a process that does the same. This is quicker."""
    return Program(main, list(map(str, arguments)), log=log, variables=variables)


class Running:
    """`happe-server run` in a separate process, on free ports of loopback. `begin` is one of the functions above."""

    def __init__(
        self,
        file: Path,
        folder: Path,
        *options: str,
        begin: Callable[..., subprocess.Popen[bytes] | Program] = happe_server_forked,
        **variables: str,
    ) -> None:
        # Each has its own file, because the worker of a killed server may still write.
        with NamedTemporaryFile(dir=folder, suffix=".jsonl", delete=False) as log:
            self.log = Path(log.name)
        self.process = begin("--config", file, "run", *options, log=self.log, **variables)
        ready = self.until("ready")
        found = re.fullmatch(r"http://([^ ]+)", ready["listens"][0])
        assert found
        self.address = f"http://{found[1]}"
        self.metrics = f"http://{ready['metrics']}/metrics" if "metrics" in ready else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE_S)

    def entries(self) -> list[dict[str, Any]]:
        """The entries of the log."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]

    def until(self, event: str) -> dict[str, Any]:
        """Wait for the first entry of an event, and return it."""
        for entry in self._awaited():
            if entry["event"] == event:
                return entry
        raise AssertionError(f"no {event!r} in {self.log.read_text()}")

    def _awaited(self) -> Iterator[dict[str, Any]]:
        """Yield each entry when it appears, until the process has ended."""
        with subprocess.Popen(
            ["tail", f"--pid={self.process.pid}", "-s", "0.05", "-n", "+1", "-f", str(self.log)],
            stdout=subprocess.PIPE,
            text=True,
        ) as tail:
            try:
                assert tail.stdout
                yield from (json.loads(line) for line in tail.stdout if line.startswith("{"))
            finally:
                tail.kill()

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        """GET a path or address, and return the answer's status and body."""
        address = path if path.startswith("http") else self.address + path
        request = urllib.request.Request(address, headers=headers)  # noqa: S310 - ours
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310 - ours
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, wait for the end, and return the exit status."""
        self.process.send_signal(how)
        return self.process.wait(PATIENCE_S)
