# SPDX-License-Identifier: GPL-2.0-or-later
"""happed with its surroundings: a bus, dbusmock's logind and polkit, a user at the machine, and other users."""

import contextlib
import fcntl
import os
import pwd
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import pytest

from happed_wire import DESTINATION, INTERFACE, MEMBER, PATH, BusError, Peer
from patience import PATIENCE_S, until
from private_bus import PrivateBus, private_bus, start_bus

IS_ROOT = os.geteuid() == 0
# The user at the machine. Not root, because happed does not ask polkit about root.
ME = 65534 if IS_ROOT else os.geteuid()
MY_NAME = pwd.getpwuid(ME).pw_name
OTHER = 1  # another user, who can be at the machine instead of me
OTHER_NAME = pwd.getpwuid(OTHER).pw_name
EVERYBODY = [ME, 0] if IS_ROOT else [ME]  # the users who can have clients

# If the cgroup of the tests belongs to a session, that session must be the active one.
MY_SESSION = "".join(re.findall(r"session-(\w+)\.scope", Path("/proc/self/cgroup").read_text())[:1]) or "me"

NAME = "org.happe.Governor1"
OBJECT = "/org/happe/Governor1"
MOCK = "org.freedesktop.DBus.Mock"
LOGIN = "/org/freedesktop/login1"
DBUS_ERROR = "org.freedesktop.DBus.Error."
PRIVATE = ("Targets", "User", "Application", "Profile", "Sample")
T61_KHZ = [800_000, 1_200_000, 1_600_000, 2_200_000, 2_300_000]
KEY_PROG1, KEY_PROG2 = 148, 149  # the default performance and power keys
QUICK = 'mode = "observe"\nperiod_ms = 100\n'  # happed acts on presses within a tenth of a second


class Client:
    """A client of happed."""

    def __init__(self, address: str, uid: int = ME) -> None:
        """Be on the bus as this user."""
        self.peer = Peer.connect(address, uid)

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave."""
        self.leave()

    def leave(self) -> None:
        """Leave the bus."""
        self.peer.close()

    def send(self, member: str, signature: str = "", *values: Any, **how: Any) -> int:
        """Call a method, but do not wait for its answer."""
        fields = {PATH: OBJECT, INTERFACE: NAME, MEMBER: member, DESTINATION: NAME}
        return self.peer.send(fields, signature, *values, **how)

    def __call__(self, member: str, signature: str = "", *values: Any, **how: Any) -> Any:
        """Call a method and return its result."""
        body = self.peer.reply(self.send(member, signature, *values, **how)).body
        return body[0] if body else None

    def refused(self, member: str, signature: str = "", *values: Any, **how: Any) -> tuple[str, str]:
        """Call a method that must be refused. Return the error's name without its prefix, and its message."""
        return self.refused_later(self.send(member, signature, *values, **how))

    def refused_later(self, call: int) -> tuple[str, str]:
        """Wait until happed refuses a call that this client sent."""
        with pytest.raises(BusError) as refusal:
            self.peer.reply(call)
        return refusal.value.name.rpartition(".")[2], refusal.value.message

    def _properties(self, member: str, signature: str, *values: str) -> Any:
        fields = {
            PATH: OBJECT,
            INTERFACE: "org.freedesktop.DBus.Properties",
            MEMBER: member,
            DESTINATION: NAME,
        }
        return self.peer.call(fields, signature, *values).body[0]

    def get(self, name: str) -> Any:
        """Return a property."""
        return self._properties("Get", "ss", NAME, name)

    def all(self) -> dict[str, Any]:
        """Return all properties."""
        found: dict[str, Any] = self._properties("GetAll", "s", NAME)
        return found

    def sees(self, name: str, value: Any) -> None:
        """Wait until the property has this value."""
        until(lambda: self.get(name) == value, f"{name} is {value}, it is {self.get(name)}")

    def listen(self) -> None:
        """Receive happed's signals from now on."""
        self.peer.bus("AddMatch", "s", f"type='signal',path='{OBJECT}'")

    def heard(self, member: str) -> list[Any]:
        """Wait for a signal of this name, and return its arguments."""
        while (message := self.peer.signal()).fields[MEMBER] != member:
            pass
        return message.body

    def changed(self, name: str) -> Any:
        """Wait until happed announces a change of this property, perhaps after others, and return its value."""
        while name not in (changes := self.heard("PropertiesChanged")[1]):
            pass
        return changes[name]

    def heard_so_far(self) -> list[tuple[str, list[Any]]]:
        """Return all signals so far."""
        self.get("State")  # happed sends in order
        found = [(message.fields[MEMBER], message.body) for message in self.peer.signals]
        self.peer.signals.clear()
        return found


@dataclass
class World:
    """A bus with logind and polkit, which the tests share."""

    bus: PrivateBus
    admin: Peer
    mocks: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Return the address of the bus."""
        return self.bus.address

    def there(self, name: str) -> bool:
        """Say whether a program has this name on the bus."""
        return bool(self.admin.bus("NameHasOwner", "s", name))

    def start_mock(self, template: str, name: str) -> None:
        """Start one of dbusmock's templates."""
        command = ["/usr/bin/python3", "-m", "dbusmock", "--system", "--template", template]
        with (self.bus.folder / f"{template}.log").open("wb") as log:
            self.mocks[template] = subprocess.Popen(command, env=self.bus.environment(), stdout=log, stderr=log)
        until(lambda: self.there(name), f"{name} is on the bus")

    def start_logind(self) -> None:
        """Start logind, with two sessions on one seat."""
        self.start_mock("logind", "org.freedesktop.login1")
        for session, uid, user in ((MY_SESSION, ME, MY_NAME), ("other", OTHER, OTHER_NAME)):
            self.logind("", MOCK, "AddSession", "ssusb", session, "seat0", uid, user, 1)

    def start_polkit(self) -> None:
        """Start polkit, which allows nothing."""
        self.start_mock("polkitd", "org.freedesktop.PolicyKit1")

    def stop_mock(self, template: str) -> None:
        """End one of dbusmock's templates."""
        process = self.mocks.pop(template)
        process.kill()
        process.wait(PATIENCE_S)

    def logind(self, path: str, interface: str, member: str, signature: str, *values: Any) -> Any:
        """Call the mocked logind. `path` is relative to its manager's path."""
        fields = {PATH: LOGIN + path, INTERFACE: interface, MEMBER: member, DESTINATION: "org.freedesktop.login1"}
        body = self.admin.call(fields, signature, *values).body
        return body[0] if body else None

    def polkit(self, member: str, signature: str, *values: Any) -> Any:
        """Call the mocked polkit."""
        name = "org.freedesktop.PolicyKit1"
        fields = {PATH: "/org/freedesktop/PolicyKit1/Authority", INTERFACE: MOCK, MEMBER: member, DESTINATION: name}
        body = self.admin.call(fields, signature, *values).body
        return body[0] if body else None

    def allow(self, *actions: str) -> None:
        """Let polkit allow only these actions."""
        self.polkit("SetAllowed", "as", [f"org.happe.governor1.{action}" for action in actions])

    def session(self, session: str, **properties: tuple[str, Any]) -> None:
        """Change and announce the properties of a session."""
        interface = "org.freedesktop.login1.Session"
        self.logind(f"/session/{session}", MOCK, "UpdateProperties", "sa{sv}", interface, properties)

    def activate(self, session: str) -> None:
        """Make this session the active one; "" is none."""
        active = (session, f"{LOGIN}/session/{session}" if session else "/")
        interface = "org.freedesktop.login1.Seat"
        properties = "org.freedesktop.DBus.Properties"
        self.logind("/seat/seat0", properties, "Set", "ssv", interface, "ActiveSession", ("(so)", active))

    def prepare_for_sleep(self, *, asleep: bool) -> None:
        """Announce that the machine goes to sleep, or wakes."""
        manager = "org.freedesktop.login1.Manager"
        self.logind("", MOCK, "EmitSignal", "sssav", manager, "PrepareForSleep", "b", [("b", asleep)])

    def inhibitors(self) -> list[Any]:
        """Return the programs that delay sleep, by logind's list."""
        found: list[Any] = self.logind("", "org.freedesktop.login1.Manager", "ListInhibitors", "")
        return found

    def restart_bus(self) -> None:
        """End the bus and all programs on it, and start it again at the same address."""
        self.bus.stop()
        for mock in tuple(self.mocks):
            self.stop_mock(mock)
        self.admin.close()
        (self.bus.folder / "bus").unlink()
        self.bus = replace(start_bus(self.bus.folder), address=self.bus.address)
        self.admin = Peer.connect(self.bus.address)
        self.start_polkit()
        self.start_logind()
        self.activate(MY_SESSION)

    def as_before(self) -> None:
        """Undo what a test may have changed."""
        if "polkitd" not in self.mocks:
            self.start_polkit()
        if "logind" not in self.mocks:
            self.start_logind()
        self.allow()
        self.polkit("SimulateHang", "b", 0)
        for session in (MY_SESSION, "other"):
            self.session(session, LockedHint=("b", False), IdleHint=("b", False), IdleSinceHint=("t", 0))
            self.session(session, Class=("s", "user"), Type=("s", "x11"))
        self.activate(MY_SESSION)


@contextlib.contextmanager
def running_world() -> Iterator[World]:
    """Run a bus that every user of the machine can reach."""
    folder = Path(tempfile.mkdtemp(prefix="happed-"))
    folder.chmod(0o755)
    try:
        with private_bus(folder) as started:
            bus = replace(started, address=started.address.partition(",guid=")[0])  # it may start again
            world = World(bus, Peer.connect(bus.address))
            try:
                world.start_logind()
                world.start_polkit()
                yield world
            finally:
                for mock in tuple(world.mocks):
                    world.stop_mock(mock)
                world.admin.close()
                world.bus.stop()
    finally:
        shutil.rmtree(folder)


class Keyboards:
    """A stand-in for happed-keys: hands the reading end of a pipe to each client as a keyboard."""

    def __init__(self, path: Path) -> None:
        """Listen."""
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.settimeout(PATIENCE_S)
        self.listener.bind(str(path))
        self.listener.listen()

    def hand_out(self) -> tuple[str, int]:
        """Answer one question with a keyboard. Return the question, and the end of the pipe for events."""
        connection, _ = self.listener.accept()
        with connection:
            question = connection.recv(4096).decode()
            read, write = os.pipe()
            fcntl.fcntl(read, fcntl.F_SETFL, os.O_NONBLOCK)
            socket.send_fds(connection, [b"keyboard event0"], [read])
            os.close(read)
            connection.send(b"end")
        return question, write

    def answer(self, *packets: bytes) -> str:
        """Answer one question with these packets, and return the question."""
        connection, _ = self.listener.accept()
        with connection:
            question = connection.recv(4096).decode()
            for packet in packets:
                connection.send(packet)
        return question

    def close(self) -> None:
        """Stop listening."""
        self.listener.close()


def press(keyboard: int, code: int, seconds_ago: int = 0) -> None:
    """Write the events of a press and release of a key."""
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000 - seconds_ago * 1_000_000
    for value in (1, 0):
        os.write(keyboard, struct.pack("@llHHi", now // 1_000_000, now % 1_000_000, 1, code, value))


@dataclass
class Happed:
    """The daemon under test, and its files."""

    program: Path
    world: World
    folder: Path
    process: subprocess.Popen[bytes] | None = None
    clients: list[Client] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the files that happed needs."""
        (self.folder / "input").mkdir()
        (self.cpus / "cpufreq").mkdir(parents=True)
        self.configure(QUICK)

    @property
    def cpus(self) -> Path:
        """The directory that happed reads as the kernel's CPUs. It has no cpufreq, whatever the machine."""
        return self.folder / "mock/sys/devices/system/cpu"

    @property
    def environment(self) -> dict[str, str]:
        """Return happed's environment: the bus, and a separate /sys by umockdev."""
        mock = {"LD_PRELOAD": "libumockdev-preload.so.0", "UMOCKDEV_DIR": str(self.folder / "mock")}
        return self.world.bus.environment(**mock)

    @property
    def log(self) -> str:
        """Return its standard error."""
        return (self.folder / "log").read_text()

    @property
    def pid(self) -> int:
        """Its process."""
        assert self.process
        return self.process.pid

    def configure(self, text: str) -> None:
        """Write its configuration."""
        (self.folder / "happe.toml").write_text(text)

    def command(self) -> list[str]:
        """The command line that starts happed."""
        files = {
            "config": "happe.toml",
            "database": "p.db",
            "runs": "runs",
            "found": "found.json",
            "keys": "keys",
            "device-key": "device.key",
        }
        options = [f"--{option}={self.folder / file}" for option, file in files.items()]
        return [str(self.program), *options, f"--input={self.folder / 'input'}"]

    def launch(self, *options: str) -> subprocess.Popen[bytes]:
        """Start it."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self.command(), *options],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return self.process

    def start(self, *options: str) -> "Happed":
        """Start it and wait until it has its name."""
        process = self.launch(*options)
        return self._there(process)

    def serves_when_there(self) -> Client:
        """Wait until it has its name and serves me. Return my client."""
        assert self.process
        return self._there(self.process).serves()

    def _there(self, process: subprocess.Popen[bytes]) -> "Happed":
        until(lambda: process.poll() is not None or self.world.there(NAME), "happed is on the bus")
        assert process.poll() is None, self.log
        return self

    def client(self, uid: int = ME) -> Client:
        """Return a client of this user."""
        self.clients.append(Client(self.world.address, uid))
        return self.clients[-1]

    def serves(self) -> Client:
        """Wait until it serves me. Return my client."""
        me = self.client()
        until(lambda: me.get("User") == MY_NAME, f"{MY_NAME} is served")
        return me

    def stop(self) -> int:
        """Send SIGTERM, wait for its end, and return its exit status."""
        assert self.process
        self.process.terminate()
        return self.process.wait(PATIENCE_S)

    def kill(self) -> None:
        """Kill it."""
        assert self.process
        self.process.kill()
        self.process.wait(PATIENCE_S)
        until(lambda: not self.world.there(NAME), "its name is gone")

    def hang_up(self) -> None:
        """Send SIGHUP."""
        os.kill(self.pid, signal.SIGHUP)

    def close(self) -> None:
        """End everything."""
        for client in self.clients:
            client.leave()
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(PATIENCE_S)


@contextlib.contextmanager
def somebody(uid: int, *command: str) -> Iterator[int]:
    """Run a program as this user, and return its pidfd."""
    with subprocess.Popen(command, user=uid if IS_ROOT else None, cwd="/") as process:
        pidfd = os.pidfd_open(process.pid)
        try:
            yield pidfd
        finally:
            os.close(pidfd)
            process.kill()
