# SPDX-License-Identifier: GPL-2.0-or-later
"""happed's interface on the bus is the XML file's; the policies of the bus and of polkit."""

import re
from xml.etree import ElementTree as ET

from happed_wire import DESTINATION, INTERFACE, MEMBER, PATH
from happed_world import NAME, OBJECT, Client
from program import ROOT

XML = (ROOT / "profiles/org.happe.Governor1.xml").read_text()
POLICY = ROOT / "packaging/org.happe.governor1.policy"
BUS_POLICY = ROOT / "packaging/org.happe.Governor1.conf"
SOURCES = sorted((ROOT / "governor/happed/requests").glob("*.cpp"))

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


def test_polkit_and_the_program_have_the_same_actions() -> None:
    prefix = "org.happe.governor1."
    policy = ET.parse(POLICY).getroot()  # noqa: S314 - our own
    defined = {action.attrib["id"] for action in policy.findall("action")}
    source = "".join(path.read_text() for path in SOURCES)
    used = set(re.findall(rf'"({re.escape(prefix)}[a-z-]+)"', source))
    assert defined == used


def test_pkexec_knows_the_commands_of_the_owners_window_by_their_first_word() -> None:
    policy = ET.parse(POLICY).getroot()  # noqa: S314 - our own
    words = {
        action.attrib["id"].rpartition(".")[2]: {note.attrib["key"].rpartition(".")[2]: note.text for note in notes}
        for action in policy.findall("action")
        if (notes := action.findall("annotate"))
    }
    program = "/usr/bin/happectl"
    assert words == {"configure": {"path": program, "argv1": "keys"}}


def test_an_administrators_actions_are_nobody_elses() -> None:
    """For a client of another user, of an inactive session, and of the active session."""
    policy = ET.parse(POLICY).getroot()  # noqa: S314 - our own
    defaults = {
        action.attrib["id"].rpartition(".")[2]: [one.text for one in action.findall("defaults/*")]
        for action in policy.findall("action")
    }
    assert defaults == {
        "hold": ["auth_admin", "auth_admin", "yes"],
        "manage-profiles": ["auth_admin", "auth_admin", "auth_admin"],
        "run-study": ["auth_admin", "auth_admin", "auth_admin_keep"],
        "configure": ["auth_admin", "auth_admin", "auth_admin_keep"],
    }


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
