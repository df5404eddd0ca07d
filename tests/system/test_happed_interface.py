# SPDX-License-Identifier: GPL-2.0-or-later
"""happed's interface on the bus, the XML file and docs/dbus.md agree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from happed_wire import DESTINATION, INTERFACE, MEMBER, PATH
from happed_world import DBUS_ERROR, ERROR, NAME, OBJECT
from program import ROOT

if TYPE_CHECKING:
    from happed_world import Client, World

XML = (ROOT / "profiles/dbus/org.happe.Governor1.xml").read_text()
PAGE = (ROOT / "docs/dbus.md").read_text()
POLICY = ROOT / "packaging/polkit/org.happe.governor1.policy"
BUS_POLICY = ROOT / "packaging/dbus/org.happe.Governor1.conf"
SOURCES = sorted((ROOT / "governor/bus").glob("*.cpp"))

Arguments = list[tuple[str, str, str]]  # direction, type, name


def members(xml: str) -> dict[tuple[str, str], tuple[str, Arguments, dict[str, str]]]:
    """Return each member's type (of a property), its arguments and its annotations."""
    [interface] = ET.fromstring(xml).findall(f"interface[@name='{NAME}']")  # noqa: S314 - our own
    return {
        (member.tag, member.attrib["name"]): (
            member.get("type", "") + member.get("access", ""),
            [
                (argument.get("direction", "out"), argument.attrib["type"], argument.get("name", ""))
                for argument in member.findall("arg")
            ],
            {note.attrib["name"]: note.attrib["value"] for note in member.findall("annotation")},
        )
        for member in interface
    }


def rows(heading: str) -> list[list[str]]:
    """Return the cells of each row in the table below a heading of the page."""
    [section] = re.findall(rf"^#+ {heading}\n(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    table = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in table[2:]]


def first_code(cell: str) -> str:
    """Return the code at the start of a cell."""
    found = re.match(r"`([^`]*)`", cell)
    assert found, cell
    return found[1]


def documented_calls() -> dict[str, tuple[list[tuple[str, str]], str]]:
    """Return each method's arguments (type and name) and its results."""
    calls = {}
    for row in rows("Methods"):
        found = re.fullmatch(r"(\w+)\((.*?)\)(?: -> (.*))?", first_code(row[0]))
        assert found, row
        arguments = [tuple(argument.split(" ")) for argument in found[2].split(", ") if argument]
        calls[found[1]] = ([(kind, name) for kind, name in arguments], found[3] or "")
    return calls


def of_kind(kind: str) -> dict[str, tuple[str, Arguments, dict[str, str]]]:
    """Return the written interface's methods, properties or signals."""
    return {name: member for (tag, name), member in members(XML).items() if tag == kind}


def test_what_is_shown_is_what_is_written(me: Client) -> None:
    answer = me.peer.call(
        {
            PATH: OBJECT,
            INTERFACE: "org.freedesktop.DBus.Introspectable",
            MEMBER: "Introspect",
            DESTINATION: NAME,
        }
    )
    assert members(answer.body[0]) == members(XML)


def test_every_property_has_the_type_that_is_written(me: Client) -> None:
    assert set(me.all()) == set(of_kind("property"))


def test_the_page_explains_each_property_and_no_other() -> None:
    explained = {first_code(row[0]): row[1] + "read" for row in rows("Properties")}
    assert explained == {name: kind for name, (kind, _, _) in of_kind("property").items()}


def test_the_page_says_which_properties_are_private() -> None:
    private = {first_code(row[0]) for row in rows("Properties") if row[2].startswith("private")}
    emits = "org.freedesktop.DBus.Property.EmitsChangedSignal"
    silent = {
        name for name, (_, _, notes) in of_kind("property").items() if notes.get(emits) in ("invalidates", "false")
    }
    assert private == silent


def test_the_page_explains_each_method_with_its_arguments_and_no_other() -> None:
    def returned(arguments: Arguments, *, named: bool) -> str:
        return "".join(f"{kind} {name}" if named else kind for way, kind, name in arguments if way == "out")

    explained = documented_calls()
    written = of_kind("method")
    assert set(explained) == set(written)
    for name, (_, arguments, _) in written.items():
        assert explained[name][0] == [(kind, called) for way, kind, called in arguments if way == "in"], name
        assert explained[name][1] in (returned(arguments, named=True), returned(arguments, named=False)), name


def test_the_page_explains_each_signal() -> None:
    explained = {first_code(row[0]) for row in rows("Signals")} - {"PropertiesChanged"}
    assert explained == {
        f"{name}({', '.join(f'{kind} {called}' for _, kind, called in arguments)})"
        for name, (_, arguments, _) in of_kind("signal").items()
    }


def test_the_page_explains_each_error_that_the_program_can_answer() -> None:
    standard = {"ACCESS_DENIED": "AccessDenied", "INVALID_ARGS": "InvalidArgs", "LIMITS_EXCEEDED": "LimitsExceeded"}
    source = "".join(path.read_text() for path in SOURCES)
    answered = {DBUS_ERROR + standard[name] for name in re.findall(r":\s*return SD_BUS_ERROR_(\w+)", source)}
    answered |= {ERROR + name for name in re.findall(rf'"{re.escape(ERROR)}(\w+)"', source)}
    assert {first_code(row[0]) for row in rows("Errors")} == answered


def test_the_page_polkit_and_the_program_have_the_same_actions() -> None:
    prefix = "org.happe.governor1."
    policy = ET.parse(POLICY).getroot()  # noqa: S314 - our own
    defined = {action.attrib["id"] for action in policy.findall("action")}
    explained = {prefix + first_code(row[0]) for row in rows("polkit")}
    source = "".join(path.read_text() for path in SOURCES)
    used = set(re.findall(rf'"({re.escape(prefix)}[a-z-]+)"', source))
    assert defined == explained == used


def test_pkexec_knows_the_commands_of_the_owners_window_by_their_first_word() -> None:
    policy = ET.parse(POLICY).getroot()  # noqa: S314 - our own
    words = {
        action.attrib["id"].rpartition(".")[2]: {note.attrib["key"].rpartition(".")[2]: note.text for note in notes}
        for action in policy.findall("action")
        if (notes := action.findall("annotate"))
    }
    program = "/usr/bin/happectl"
    assert words == {"configure": {"path": program, "argv1": "keys"}}


def test_polkits_defaults_are_those_of_the_page() -> None:
    # A client of another user, of an inactive session, and of the active session.
    explained = {
        "yes for an active local session, else administrator": ["auth_admin", "auth_admin", "yes"],
        "administrator": ["auth_admin", "auth_admin", "auth_admin"],
        "administrator, kept": ["auth_admin", "auth_admin", "auth_admin_keep"],
    }
    policy = ET.parse(POLICY).getroot()  # noqa: S314 - our own
    for action, default, *_ in rows("polkit"):
        [defaults] = policy.findall(f"action[@id='org.happe.governor1.{first_code(action)}']/defaults")
        assert [one.text for one in defaults] == explained[default], action


def test_methods_that_need_an_action_say_so() -> None:
    actions = {first_code(row[0]) for row in rows("polkit")}
    said = {action for row in rows("Methods") for action in re.findall(r"`([a-z]+(?:-[a-z]+)*)`", row[1])}
    assert said == actions


@pytest.mark.parametrize("row", rows("A run"), ids=lambda row: first_code(row[0]))
def test_the_page_explains_each_field_of_a_run(me: Client, world: World, row: list[str]) -> None:
    field, kind = first_code(row[0]), row[1]
    world.allow("run-study")

    value = {"s": "x", "u": 1, "b": True, "ay": b"x"}[kind]
    name, message = me.refused("StartRun", "a{sv}", {field: (kind, value)})

    assert name == "InvalidArgs"
    assert message != f"{field}: unknown"
    assert not message.endswith("of another type")
    assert not message.startswith(f"{field}: missing")
    assert not message.startswith(f"without {field},")


def test_only_root_may_have_the_name() -> None:
    policies = ET.parse(BUS_POLICY).getroot().findall("policy")  # noqa: S314 - our own
    owners = [policy.attrib for policy in policies for rule in policy.findall("allow[@own]")]
    assert owners == [{"user": "root"}]
    assert [rule.get("own") for policy in policies for rule in policy.findall("allow[@own]")] == [NAME]


def test_everybody_may_ask_it_and_nothing_more() -> None:
    [everybody] = ET.parse(BUS_POLICY).getroot().findall("policy[@context='default']")  # noqa: S314 - our own
    rules = [rule.attrib for rule in everybody]
    assert all(rule["send_destination"] == NAME for rule in rules)
    assert NAME in {rule["send_interface"] for rule in rules}
