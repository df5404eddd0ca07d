# SPDX-License-Identifier: GPL-2.0-or-later
"""A system bus for one test, and stand-ins for programs on it."""

import contextlib
import json
import os
import queue
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree as ET

from happed_wire import (
    CALL,
    DESTINATION,
    ERROR,
    ERROR_NAME,
    INTERFACE,
    MEMBER,
    NO_REPLY,
    PATH,
    REPLY_TO,
    RETURN,
    SENDER,
    SIGNAL,
    Message,
    Peer,
)
from patience import PATIENCE_S

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
    """A stand-in program, which serves the objects of a script under another program's name, and reports each call.

    objects: by path {"xml": its interfaces, "properties": {name: value}, "answers": {method: answer}}. A variant is
    [type, value]. An answer is the list of values returned; {"error": [name, message]}; {"descriptor": path}, a file
    opened for reading; {"silent": true}; or {"exit": true}.
    """

    def __init__(self, bus: PrivateBus, name: str, objects: dict[str, Any]) -> None:
        """Take the name, and serve."""
        self.objects = json.loads(json.dumps(objects))  # its own
        self.told: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.untaken: list[dict[str, Any]] = []
        self._replies: queue.Queue[Message] = queue.Queue()
        self._sends = threading.Lock()
        self._peer = Peer.connect(bus.address)
        self._peer.bus("RequestName", "su", name, 0)
        self._peer.socket.settimeout(None)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                message = self._peer.receive()
                for descriptor in message.descriptors:
                    os.close(descriptor)
                if message.kind == CALL:
                    self._answer(message)
                elif message.kind != SIGNAL:
                    self._replies.put(message)
        self.told.put(None)

    def _send(self, kind: int, fields: dict[int, Any], *body: Any, fds: tuple[int, ...] = ()) -> None:  # noqa: ANN401 - of any type
        with self._sends:
            self._peer.send(fields, *body, fds=fds, kind=kind)

    def _reply(self, to: Message, *body: Any, error: str = "", fds: tuple[int, ...] = ()) -> None:  # noqa: ANN401 - of any type
        fields = {REPLY_TO: to.serial, DESTINATION: to.fields[SENDER], ERROR_NAME: error}
        if not to.flags & NO_REPLY:
            self._send(ERROR if error else RETURN, fields, *body, fds=fds)

    def _answer(self, call: Message) -> None:
        interface, member = call.fields.get(INTERFACE, ""), call.fields[MEMBER]
        script = self.objects.get(call.fields[PATH], {"xml": "<node/>"})
        node = ET.fromstring(script["xml"])  # noqa: S314 - our own
        if interface.startswith("org.freedesktop.DBus."):
            self._answer_about(call, script, node)
            return
        method = node.find(f"interface[@name='{interface}']/method[@name='{member}']")
        answer = script.get("answers", {}).get(member, [])
        types = [out.attrib["type"] for out in method.findall("arg[@direction='out']")] if method is not None else ["?"]
        how = answer if isinstance(answer, dict) else {}
        if "exit" in how:
            self._peer.socket.shutdown(socket.SHUT_RDWR)
            return
        if "error" in how:
            self._reply(call, "s", how["error"][1], error=how["error"][0])
        elif "descriptor" in how:
            with Path(how["descriptor"]).open() as file:
                self._reply(call, "h", 0, fds=(file.fileno(),))
        elif len(answer) == len(types) and not how:
            self._reply(call, "".join(types), *answer)
        elif not how:
            self._reply(call, "s", f"no answer to {member}", error="org.freedesktop.DBus.Error.UnknownMethod")
        self.told.put({"call": member, "arguments": json.loads(json.dumps(call.body))})

    def _answer_about(self, call: Message, script: dict[str, Any], node: ET.Element) -> None:
        """Answer a call of one of the interfaces that every object has."""
        member, values = call.fields[MEMBER], script.get("properties", {})
        known = {
            each.attrib["name"]: (each.attrib["type"], values[each.attrib["name"]])
            for each in node.findall(f"interface[@name='{(call.body or [''])[0]}']/property")
            if each.attrib["name"] in values
        }
        if member == "GetAll":
            self._reply(call, "a{sv}", known)
        elif member == "Get" and call.body[1] in known:
            self._reply(call, "v", known[call.body[1]])
        elif member == "Introspect":
            self._reply(call, "s", script["xml"])
        elif member == "Ping":
            self._reply(call)
        else:
            self._reply(call, "s", f"no {member}", error="org.freedesktop.DBus.Error.UnknownProperty")

    def tell(self, command: str, path: str, *rest: Any) -> None:  # noqa: ANN401 - of any type
        """Do something.

        "set" interface, property, value: change a property, and announce it as a private one. "signal" interface, name,
        signature, values. "answer" method, answer: replace an answer. "call" NAME, path, interface, method, strings:
        call another program, and report an "error" if that refuses.
        """
        if command == "set":
            interface, name, value = rest
            self.objects[path]["properties"][name] = value
            fields = {PATH: path, INTERFACE: "org.freedesktop.DBus.Properties", MEMBER: "PropertiesChanged"}
            self._send(SIGNAL, fields, "sa{sv}as", interface, {}, [name])
        elif command == "signal":
            interface, name, signature, values = rest
            self._send(SIGNAL, {PATH: path, INTERFACE: interface, MEMBER: name}, signature[1:-1], *values)
        elif command == "answer":
            self.objects[path].setdefault("answers", {})[rest[0]] = rest[1]
        else:
            *method, strings = rest
            fields = dict(zip((DESTINATION, PATH, INTERFACE, MEMBER), (path, *method), strict=True))
            self._send(CALL, fields, "s" * len(strings), *strings)
            if (reply := self._replies.get(timeout=PATIENCE_S)).kind == ERROR:
                self.told.put({"error": reply.body[0]})

    def until(self, key: str, value: object = None) -> dict[str, Any]:
        """Wait for a report with this value, and return it. Earlier reports can still be waited for."""
        index = 0
        while True:
            if index == len(self.untaken):
                report = self.told.get(timeout=PATIENCE_S)
                if report is None:
                    raise AssertionError(f"the stand-in ended before it told of {key} {value}: {self.untaken}")
                self.untaken.append(report)
            if key in self.untaken[index] and value in (None, self.untaken[index][key]):
                return self.untaken.pop(index)
            index += 1

    def calls(self) -> list[tuple[str, list[Any]]]:
        """End it. Return the calls that nobody waited for, with their arguments."""
        self.vanish()
        while (report := self.told.get(timeout=PATIENCE_S)) is not None:
            self.untaken.append(report)
        return [(report["call"], report["arguments"]) for report in self.untaken if "call" in report]

    def vanish(self) -> None:
        """Leave the bus, after the calls that have come."""
        with contextlib.suppress(OSError):
            self._peer.socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE_S)
        self._peer.close()


@contextlib.contextmanager
def stand_in(bus: PrivateBus, name: str, objects: dict[str, Any]) -> Iterator[StandIn]:
    """Run a stand-in on the bus under this name, with these objects."""
    running = StandIn(bus, name, objects)
    try:
        yield running
    finally:
        running.vanish()
