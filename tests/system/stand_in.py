# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for programs on the bus: serves the objects of a script, and reports each call.

usage: /usr/bin/python3 stand_in.py SCRIPT.json      (run by Debian's Python, which has gi)

The script: {"name": "org.x.Y", "objects": {"/path": {"xml": "...", "properties": {...}, "answers": {"Method": ...}}}}.
An answer is the list of values returned; {"error": [name, message]}; {"descriptor": path}, a file opened for reading;
{"silent": true}; or {"exit": true}. Prints a JSON line for "ready" and each call; takes commands as JSON lines on its
standard input: ["set", path, interface, property, value] changes and announces a property, ["signal", path, interface,
name, signature, values] emits a signal (variants: [type, value]), ["answer", path, method, answer] replaces an answer,
["call", name, path, interface, method, strings] calls another program, and prints an "error" if that refuses.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from gi.repository import Gio, GLib

# ruff: noqa: ANN401 - gi's objects have no types

SCRIPT = json.loads(Path(sys.argv[1]).read_text())
LOOP = GLib.MainLoop()


def tell(**what: object) -> None:
    """Print a line for the test."""
    print(json.dumps(what), flush=True)


def variants(table: dict[str, Any]) -> dict[str, Any]:
    """Turn a table of [type, value] into one of variants. A value of the type "text" is in GLib's own notation."""
    return {
        key: GLib.Variant.parse(None, value, None, None) if kind == "text" else GLib.Variant(kind, value)
        for key, (kind, value) in table.items()
    }


def in_type(signature: str, value: Any) -> Any:
    """Turn a table into one of variants, and [type, value] into a variant, if the signature wants that."""
    if signature == "a{sv}":
        return variants(value)
    return GLib.Variant(*value) if signature == "v" else value


class Served:
    """An object on the bus."""

    def __init__(self, connection: Any, path: str, script: dict[str, Any]) -> None:
        """Serve an object at this path."""
        self.connection = connection
        self.path = path
        self.properties = script.get("properties", {})
        self.answers = script.get("answers", {})
        self.interfaces = {i.name: i for i in Gio.DBusNodeInfo.new_for_xml(script["xml"]).interfaces}
        for interface in self.interfaces.values():
            connection.register_object(path, interface, self.call, self.get, None)

    def call(self, *arguments: Any) -> None:
        """Answer a method call, and report it when the answer is on its way."""
        _connection, _sender, _path, interface, method, parameters, invocation = arguments
        self.answer(interface, method, invocation)
        self.connection.flush_sync()
        tell(call=method, arguments=parameters.unpack())

    def answer(self, interface: str, method: str, invocation: Any) -> None:
        """Answer as the script says."""
        answer = self.answers.get(method, [])
        if isinstance(answer, list):
            types = [a.signature for a in self.interfaces[interface].lookup_method(method).out_args]
            values = [in_type(t, v) for t, v in zip(types, answer, strict=False)]
            invocation.return_value(GLib.Variant(f"({''.join(types)})", tuple(values)))
        elif "error" in answer:
            invocation.return_dbus_error(*answer["error"])
        elif "descriptor" in answer:
            descriptors = Gio.UnixFDList.new()
            file = os.open(answer["descriptor"], os.O_RDONLY)
            handle = descriptors.append(file)
            os.close(file)
            invocation.return_value_with_unix_fd_list(GLib.Variant("(h)", (handle,)), descriptors)
        elif "exit" in answer:
            os._exit(0)

    def get(self, *arguments: Any) -> Any:
        """Return a property."""
        interface, name = arguments[-2:]
        return self.variant(interface, name)

    def variant(self, interface: str, name: str) -> Any:
        """Return a property's value in its type. Scripts give values of a{sv} as [type, value], and a{uu} as pairs."""
        signature = self.interfaces[interface].lookup_property(name).signature
        value = self.properties[name]
        if signature == "a{sv}":
            value = {key: GLib.Variant(kind, dict(e) if kind == "a{uu}" else e) for key, (kind, e) in value.items()}
        elif signature.startswith("("):
            value = tuple(value)
        elif signature.startswith("a("):
            value = [tuple(entry) for entry in value]
        return GLib.Variant(signature, value)

    def set(self, interface: str, name: str, value: object) -> None:
        """Change a property and announce it, as docs/dbus.md says for private properties."""
        self.properties[name] = value
        body = GLib.Variant("(sa{sv}as)", (interface, {}, [name]))
        self.connection.emit_signal(None, self.path, "org.freedesktop.DBus.Properties", "PropertiesChanged", body)


def call(connection: Any, method: list[str], strings: list[str]) -> None:
    """Call another program with strings: by its name, path, interface and method."""
    body = GLib.Variant(f"({'s' * len(strings)})", tuple(strings))
    try:
        connection.call_sync(*method, body, None, Gio.DBusCallFlags.NONE, -1, None)
    except GLib.Error as refusal:
        tell(error=refusal.message)


def obey(served: dict[str, Served], line: str) -> None:
    """Run a command of the test."""
    command, path, *rest = json.loads(line)
    if command == "call":
        call(next(iter(served.values())).connection, [path, *rest[:-1]], rest[-1])
    elif command == "set":
        served[path].set(*rest)
    elif command == "answer":
        served[path].answers[rest[0]] = rest[1]
    else:
        interface, name, signature, values = rest
        if "{sv}" in signature:  # empty tables
            pass
        elif "v" in signature:  # among basic types
            values = [GLib.Variant(*v) if kind == "v" else v for kind, v in zip(signature[1:-1], values, strict=True)]
        body = GLib.Variant(signature, tuple(values))
        next(iter(served.values())).connection.emit_signal(None, path, interface, name, body)
    tell(done=command)


def main() -> None:
    """Serve until standard input ends."""
    connection = Gio.DBusConnection.new_for_address_sync(
        os.environ["DBUS_SYSTEM_BUS_ADDRESS"],
        Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION,
        None,
        None,
    )
    served = {path: Served(connection, path, script) for path, script in SCRIPT["objects"].items()}

    def read(*_: object) -> bool:
        line = sys.stdin.readline()
        if line:
            obey(served, line)
        else:
            LOOP.quit()
        return bool(line)

    GLib.io_add_watch(sys.stdin.fileno(), GLib.PRIORITY_DEFAULT, GLib.IOCondition.IN | GLib.IOCondition.HUP, read)
    Gio.bus_own_name_on_connection(
        connection, SCRIPT["name"], Gio.BusNameOwnerFlags.NONE, lambda *_: tell(ready=True), None
    )
    LOOP.run()


main()
