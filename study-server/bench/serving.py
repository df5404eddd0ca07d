# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts the study server or the reference as processes of their own, under the same gunicorn settings.

usage: serving.py study|reference CONFIG.json      (as the benchmark runs it)
"""

from __future__ import annotations

import ctypes
import http.client
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bare import create_reference
from happe_study.base.config import Config, host_and_port
from happe_study.operations import logs
from happe_study.operations.serving import Serving
from patience import PATIENCE_S, until
from world import fixed_secrets

if TYPE_CHECKING:
    from flask import Flask

KIBI = 1024
LIBC = ctypes.CDLL(None, use_errno=True)


class Reference(Serving):
    """The reference under the study server's settings."""

    def load(self) -> Flask:
        """Make a worker's application."""
        return create_reference(self._config)


SERVERS = {"study": Serving, "reference": Reference}


@dataclass
class Server:
    """A server that runs. Its journal is `journal`."""

    name: str
    address: tuple[str, int]
    process: subprocess.Popen[bytes]
    journal: Path

    def peak_bytes(self) -> int:
        """The most memory that its processes have had resident so far, summed. Shared memory counts for each."""
        return sum(_status_bytes(pid, "VmHWM") for pid in self._pids())

    def resident_bytes(self) -> int:
        """The memory that the largest of its processes has resident now."""
        return max(_status_bytes(pid, "VmRSS") for pid in self._pids())

    def cpu_seconds(self) -> float:
        """The processor time that its processes have had so far."""
        return sum(cpu_of(pid) for pid in self._pids())

    def _pids(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *map(int, children)]

    def stop(self) -> None:
        """Stop it, as an operator would."""
        self.process.terminate()
        self.process.wait(PATIENCE_S)


def start(name: str, config: Config, folder: Path) -> Server:
    """Start a server and wait until it answers. Raises RuntimeError with its journal if it does not."""
    path, journal = folder / f"{name}.json", folder / f"{name}.log"
    path.write_text(config.model_dump_json(exclude_unset=True))
    with journal.open("wb") as output:
        command = [sys.executable, __file__, name, str(path)]
        process = subprocess.Popen(command, stdout=output, stderr=output)
    server = Server(name, host_and_port(config.listen), process, journal)
    until(lambda: _answers(server.address) or process.poll() is not None, f"an answer of {name}")
    if process.poll() is not None:
        raise RuntimeError(f"{name} does not answer:\n{journal.read_text()}")
    return server


def free_address() -> str:
    """HOST:PORT where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"127.0.0.1:{listening.getsockname()[1]}"


def _answers(address: tuple[str, int]) -> bool:
    connection = http.client.HTTPConnection(*address, timeout=5)
    try:
        connection.request("GET", "/healthz")
        connection.getresponse().read()
    except OSError:
        return False
    finally:
        connection.close()
    return True


def _status_bytes(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * KIBI for line in lines if line.startswith(f"{name}:"))


def cpu_of(pid: int) -> float:
    """By its clock of clock_getcpuclockid(3): the ticks of proc(5) are longer than a request."""
    clock = ctypes.c_int()
    if error := LIBC.clock_getcpuclockid(pid, ctypes.byref(clock)):
        raise OSError(error, f"the CPU clock of {pid}")
    return time.clock_gettime(clock.value)


if __name__ == "__main__":
    logs.configure("info")
    SERVERS[sys.argv[1]](Config.model_validate_json(Path(sys.argv[2]).read_text()), fixed_secrets()).run()
