# SPDX-License-Identifier: GPL-2.0-or-later
"""A system bus for one test, and stand-ins for programs on it."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

# Unlike on a real system bus, everybody may do everything; other tests check the policies on a real bus. Some tests
# also use it as a session bus, so it allows as many waiting calls as that.
CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <limit name="max_replies_per_connection">50000</limit>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_destination="*" eavesdrop="false"/>
    <allow receive_sender="*"/>
  </policy>
</busconfig>
"""


def there(pipe: IO[str] | None) -> IO[str]:
    """Return a pipe of a process that was started with one."""
    if pipe is None:
        raise ValueError("started without this pipe")
    return pipe


@dataclass(frozen=True)
class PrivateBus:
    """A running bus."""

    folder: Path
    address: str
    process: subprocess.Popen[str]

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment in which a program takes it for the system bus."""
        return {**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": self.address, **more}

    def stop(self) -> None:
        """End the bus, even while programs are on it."""
        self.process.kill()
        self.process.wait(PATIENCE_S)


@contextlib.contextmanager
def private_bus(folder: Path) -> Iterator[PrivateBus]:
    """Run a bus whose socket is in this folder. Paths of sockets are at most 107 bytes long."""
    (folder / "bus.conf").write_text(CONFIGURATION.format(socket=folder / "bus"))
    bus = start_bus(folder)
    try:
        yield bus
    finally:
        bus.stop()


def start_bus(folder: Path) -> PrivateBus:
    """Start the bus of this folder. It listens when this returns."""
    command = ["dbus-daemon", f"--config-file={folder / 'bus.conf'}", "--nofork", "--print-address"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with there(process.stdout) as said:
        return PrivateBus(folder, said.readline().strip(), process)


class StandIn:
    """A stand-in program, which answers under another program's name."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """Take the process and read its messages."""
        self.process = process
        self.lines: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.untaken: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in there(self.process.stdout):
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def tell(self, *command: object) -> None:
        """Send a command (stand_in.py) and wait until it is done."""
        commands = there(self.process.stdin)
        commands.write(json.dumps(command) + "\n")
        commands.flush()
        self.until("done")

    def until(self, key: str, value: object = None) -> dict[str, Any]:
        """Wait for a message with this value, and return it. Earlier messages can still be waited for."""
        index = 0
        while True:
            if index == len(self.untaken):
                line = self.lines.get(timeout=PATIENCE_S)
                if line is None:
                    raise AssertionError(f"the stand-in ended before it told of {key} {value}: {self.untaken}")
                self.untaken.append(line)
            if key in self.untaken[index] and value in (None, self.untaken[index][key]):
                return self.untaken.pop(index)
            index += 1

    def calls(self) -> list[tuple[str, list[Any]]]:
        """End it. Return the calls that nobody waited for, with their arguments."""
        there(self.process.stdin).close()
        while (line := self.lines.get(timeout=PATIENCE_S)) is not None:
            self.untaken.append(line)
        return [(line["call"], line["arguments"]) for line in self.untaken if "call" in line]

    def vanish(self) -> None:
        """Kill it, after reading its messages."""
        self.process.kill()
        self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)


@contextlib.contextmanager
def stand_in(bus: PrivateBus, name: str, objects: dict[str, Any]) -> Iterator[StandIn]:
    """Run a stand-in on the bus under this name, with these objects (stand_in.py)."""
    script = bus.folder / f"{name}.json"
    script.write_text(json.dumps({"name": name, "objects": objects}))
    command = ["/usr/bin/python3", str(Path(__file__).parent / "system/stand_in.py"), str(script)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=bus.environment()
    ) as process:
        running = StandIn(process)
        try:
            running.until("ready")
            yield running
        finally:
            running.vanish()
