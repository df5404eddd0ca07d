# SPDX-License-Identifier: GPL-2.0-or-later
"""happed among clients that send wrong messages, or too many."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from happed_wire import DESTINATION, INTERFACE, MEMBER, PATH, BusError
from happed_world import DBUS_ERROR, MY_NAME, NAME, OBJECT, Client, Happed, World
from patience import until

RUN = {"condition": ("s", "O-HAPPE"), "subject": ("s", "p1"), "application": ("s", "torcs")}
LONG = "x" * 256
HUGE = "x" * 1_000_000
MAY_ALL = ("hold", "manage-profiles", "run-study", "configure")


def profiles(*entries: dict[str, Any], **more: object) -> str:
    """Return a document of profiles."""
    return json.dumps({"format": "happe-profile/1", "f_max_khz": 2_300_000, "profiles": entries, **more})


def memory_kib(pid: int) -> int:
    """Return a process's resident memory."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1])


def descriptors(pid: int) -> int:
    """Return how many descriptors a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (("Feedback", "s", ""), "InvalidArgs"),
        (("Feedback", "s", "Performance"), "InvalidArgs"),
        (("Feedback", "s", HUGE), "LimitsExceeded"),
        (("Hold", "ss", "", "reason"), "InvalidArgs"),
        (("Hold", "ss", "make", HUGE), "LimitsExceeded"),
        (("Release", "u", 0), "NotFound"),
        (("Release", "u", 2**32 - 1), "NotFound"),
        (("ListProfiles", "s", LONG), "LimitsExceeded"),
        (("GetProfile", "ss", "", ""), "InvalidArgs"),
        (("GetProfile", "ss", "", "nothing"), "NotFound"),
        (("ListEvents", "ssxu", HUGE, "torcs", 0, 1), "LimitsExceeded"),
        (("ResetProfile", "ss", "", "'; drop table profile; --"), "NotFound"),
        (("ImportProfiles", "ss", "", "x" * (16 << 20)), "LimitsExceeded"),
        (("StopRun", "s", ""), "NotFound"),
        (("StopRun", "s", "../../../../etc/passwd"), "NotFound"),
        (("StopRun", "s", "0123456789abcdef"), "NotFound"),
        (("LearnKey", "u", 0), "InvalidArgs"),
        (("LearnKey", "u", 60_001), "InvalidArgs"),
    ],
)
def test_values_out_of_range_are_refused_by_name(me: Client, world: World, call: tuple[Any, ...], error: str) -> None:
    world.allow(*MAY_ALL)
    name, message = me.refused(*call)
    assert name == error
    assert 0 < len(message) < 1000
    assert me.get("State") == "observing"


@pytest.mark.parametrize(
    "document",
    [
        "",
        "null",
        "{",
        "[" * 500_000,
        '{"a":' * 150_000,
        profiles({"user": "a", "app": "b", "khz": [1]}),
        profiles({"user": "a", "app": "b", "khz": [2] * 9 + [1]}),
        profiles({"user": "a", "app": "", "khz": [800_000] * 10}),
        profiles({"user": "a", "app": LONG, "khz": [800_000] * 10}),
        profiles({"user": "a", "app": "b", "khz": [-1] * 10}),
        profiles({"user": "a", "app": "b", "khz": [1e400] * 10}),
        profiles({"user": "a", "app": "b", "khz": [800_000] * 10}, more=1),
        profiles({"user": "a", "app": "b", "khz": [800_000] * 10}, f_max_khz=2_200_000),
        profiles(*[{"user": user, "app": "b", "khz": [800_000] * 10} for user in ("a", "a")]),
        '{"format":"happe-profile/1","format":"happe-profile/1","f_max_khz":2300000,"profiles":[]}',
        '{"' + HUGE + '":1}',
        '{"' + "é" * 1000 + '":1}',
        '{"x' + "é" * 1000 + '":1}',
    ],
    ids=lambda document: document[:40],
)
def test_a_bad_document_is_refused_whole_and_says_where(me: Client, document: str) -> None:
    name, message = me.refused("ImportProfiles", "ss", "", document)
    assert name == "InvalidArgs"
    assert message.startswith("document: ")
    assert len(message) < 1000
    assert me("ListProfiles", "s", "") == []


def test_more_profiles_than_a_user_keeps_are_refused_whole(me: Client) -> None:
    many = [{"user": "a", "app": str(number), "khz": [800_000] * 10} for number in range(1001)]
    assert me.refused("ImportProfiles", "ss", "", profiles(*many))[0] == "LimitsExceeded"
    assert me("ListProfiles", "s", "") == []
    assert me("ImportProfiles", "ss", "", profiles(*many[:1000])) == 1000


def test_two_profiles_that_become_one_by_their_new_user_are_refused(me: Client) -> None:
    document = profiles(*[{"user": user, "app": "torcs", "khz": [800_000] * 10} for user in ("alice", "bob")])
    name, _ = me.refused("ImportProfiles", "ss", "", document)
    assert name == "InvalidArgs"
    assert me("ListProfiles", "s", "") == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colour": ("s", "red")}, "colour: unknown"),
        ({HUGE: ("s", "red")}, "x" * 255 + ": unknown"),
        ({"condition": ("u", 1)}, "condition: not a string of 1 to 255 bytes"),
        ({"condition": ("s", "")}, "condition: not a string of 1 to 255 bytes"),
        ({"subject": ("s", LONG)}, "subject: not a string of 1 to 255 bytes"),
        ({"subject": ("s", "x" * 241)}, "subject: not 1 to 240 bytes"),
        ({"application": ("as", ["torcs"])}, "application: not a string of 1 to 255 bytes"),
        ({"blind": ("u", 1)}, "blind: of another type"),
        ({"sampling_rate_us": ("i", 1)}, "sampling_rate_us: of another type"),
        ({"up_threshold": ("u", 80)}, "sampling_rate_us, up_threshold: only ondemand has them"),
        ({"condition": ("s", "ondemand"), "up_threshold": ("u", 101)}, "up_threshold: not 1 to 100"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_run_is_asked_for_as_documented_or_not_at_all(
    me: Client, world: World, changes: dict[str, Any], message: str
) -> None:
    world.allow("run-study")
    assert me.refused("StartRun", "a{sv}", {**RUN, **changes}) == ("InvalidArgs", message)
    assert me.get("Run") == ""


def test_what_is_not_there_cannot_be_called(me: Client) -> None:
    assert me.refused("Shutdown")[0] == "UnknownMethod"
    properties = {PATH: OBJECT, INTERFACE: "org.freedesktop.DBus.Properties", DESTINATION: NAME}
    for member, signature, values in (
        ("Get", "ss", (NAME, "Password")),
        ("Set", "ssv", (NAME, "State", ("s", "held"))),
        ("Set", "ssv", (NAME, "User", ("s", "root"))),
    ):
        with pytest.raises(BusError) as refusal:
            me.peer.call({**properties, MEMBER: member}, signature, *values)
        assert refusal.value.name in (DBUS_ERROR + "UnknownProperty", DBUS_ERROR + "PropertyReadOnly")
    assert me.get("User") == MY_NAME


def test_descriptors_nobody_asked_for_are_closed(happed: Happed, me: Client) -> None:
    before = descriptors(happed.pid)
    with Path("/dev/null").open() as null:
        for _ in range(20):
            me.refused("Feedback", "s", "", fds=(null.fileno(),) * 10)
            me.refused("Release", "u", 1, fds=(null.fileno(),) * 10)
    me.get("Version")
    assert descriptors(happed.pid) <= before


def test_clients_that_come_and_go_leave_no_memory_and_no_descriptor_behind(happed: Happed, world: World) -> None:
    world.allow("hold")
    me = happed.serves()

    def come_and_go(times: int) -> None:
        for _ in range(times):
            with Client(world.address) as one:
                one("Hold", "ss", "x" * 255, "y" * 255)
                one.get("User")
        until(lambda: me.get("Holds") == [])

    come_and_go(300)  # more than happed remembers
    before, open_before = memory_kib(happed.pid), descriptors(happed.pid)
    come_and_go(600)

    assert memory_kib(happed.pid) - before < 512
    assert descriptors(happed.pid) <= open_before


def test_huge_messages_leave_no_memory_behind(happed: Happed, me: Client) -> None:
    for _ in range(3):
        me.refused("ImportProfiles", "ss", "", "[" * (16 << 20))
    until(lambda: memory_kib(happed.pid) < 32 << 10, "the memory of huge messages is returned")


def test_a_flood_of_presses_is_one_series_and_keeps_the_time(me: Client) -> None:
    me.listen()
    calls = [me.send("Feedback", "s", "performance") for _ in range(5000)]
    until(lambda: me("ListProfiles", "s", ""))
    assert len(me("ListEvents", "ssxu", "", "desktop", 0, 100)) == 1
    assert [body for member, body in me.heard_so_far() if member == "KeyCounted"] == [["performance"]]
    refusals = set()
    for call in calls:
        try:
            me.peer.reply(call)
        except BusError as refusal:
            refusals.add(refusal.name)
    assert refusals == {DBUS_ERROR + "LimitsExceeded"}, "no person presses so often"
