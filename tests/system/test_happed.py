# SPDX-License-Identifier: GPL-2.0-or-later
"""happed from outside: whom it serves, and who may see and ask what."""

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from happed_world import (
    ME,
    MY_NAME,
    MY_SESSION,
    OTHER_NAME,
    PRIVATE,
    T61_KHZ,
    Client,
    Happed,
    World,
    somebody,
)
from patience import until

SLEEP = ("/usr/bin/sleep", "600")
DOCUMENT = json.dumps(
    {
        "format": "happe-profile/1",
        "f_max_khz": 2_300_000,
        "profiles": [{"user": "bob", "app": "torcs", "khz": [800_000] * 4 + [2_200_000] * 6}],
    }
)

ABOUT_BOB: dict[str, tuple[Any, ...]] = {
    "ListProfiles": ("s", "bob"),
    "GetProfile": ("ss", "bob", "torcs"),
    "ListEvents": ("ssxu", "bob", "torcs", 0, 10),
    "ResetProfile": ("ss", "bob", "torcs"),
    "Undo": ("ssu", "bob", "torcs", 1),
    "ExportProfiles": ("s", "bob"),
    "ImportProfiles": ("ss", "bob", DOCUMENT),
}


@pytest.fixture
def process() -> Iterator[int]:
    """A process of mine, as a pidfd."""
    with somebody(ME, *SLEEP) as pidfd:
        yield pidfd


# Profiles


def test_what_a_press_teaches_is_its_users_profile_of_the_application(me: Client) -> None:
    me("Feedback", "s", "performance")

    [[application, khz]] = until(lambda: me("ListProfiles", "s", ""))

    assert application == "desktop"
    assert len(khz) == 10
    assert set(khz) <= set(T61_KHZ)
    assert me("GetProfile", "ss", MY_NAME, "desktop") == khz == me.get("Profile")


def test_an_undo_takes_the_lesson_back_at_once_and_only_once(me: Client) -> None:
    me("Feedback", "s", "performance")
    until(lambda: me("ListProfiles", "s", ""))
    [lesson] = me("ListEvents", "ssxu", "", "desktop", 0, 10)

    assert me("Undo", "ssu", "", "", 3) == [("desktop", lesson)]

    me.sees("Profile", [800_000] * 10)
    assert me("GetProfile", "ss", "", "desktop") == [800_000] * 10
    assert [(event[2], event[-1]) for event in me("ListEvents", "ssxu", "", "desktop", 0, 10)] == [
        ("performance", 0),
        ("undo", lesson[0]),
    ]
    assert me.refused("Undo", "ssu", "", "", 1) == ("NotFound", "no lesson is left to undo")
    for most in (0, 1001):
        assert me.refused("Undo", "ssu", "", "", most)[0] == "InvalidArgs"


def test_an_import_is_mine_whatever_user_it_names_and_an_export_returns_it(me: Client) -> None:
    assert me("ImportProfiles", "ss", "", DOCUMENT) == 1

    [profile] = json.loads(me("ExportProfiles", "s", ""))["profiles"]

    assert profile == {"user": MY_NAME, "app": "torcs", "khz": [800_000] * 4 + [2_200_000] * 6}


@pytest.mark.parametrize("member", ABOUT_BOB)
def test_without_polkits_leave_another_users_profiles_are_closed(me: Client, world: World, member: str) -> None:
    world.allow("hold", "run-study", "configure")
    name, message = me.refused(member, *ABOUT_BOB[member])
    assert (name, message) == ("AccessDenied", "polkit does not allow org.happe.governor1.manage-profiles")


@pytest.mark.parametrize("member", ABOUT_BOB)
def test_with_polkits_leave_another_users_profiles_are_open(me: Client, world: World, member: str) -> None:
    world.allow("manage-profiles")
    me("ImportProfiles", "ss", "bob", DOCUMENT)

    if member == "Undo":
        assert me.refused(member, *ABOUT_BOB[member])[0] == "NotFound", "an import teaches nothing"
    else:
        me(member, *ABOUT_BOB[member])

    assert (me("ListProfiles", "s", "bob") == []) == (member == "ResetProfile")


def test_without_polkit_another_users_profiles_are_closed_and_ones_own_are_open(me: Client, world: World) -> None:
    world.stop_mock("polkitd")
    for member, arguments in ABOUT_BOB.items():
        name, message = me.refused(member, *arguments)
        assert name == "AccessDenied"
        assert message.startswith("polkit cannot be asked: ")
    assert me("ListProfiles", "s", MY_NAME) == []


# Whom happed serves


def test_the_active_sessions_user_is_served(me: Client) -> None:
    assert me.get("State") == "observing"
    assert me.get("Reason") == ""
    assert me.get("User") == MY_NAME
    assert me.get("Application") == "desktop"
    assert me.get("Backend") == "observe"
    until(lambda: me.get("Sample") and me.get("Targets"))


LEAVES: dict[str, Callable[[World], None]] = {
    "the active session is locked": lambda world: world.session(MY_SESSION, LockedHint=("b", True)),
    "the active session is of class greeter": lambda world: world.session(MY_SESSION, Class=("s", "greeter")),
    "no session is active": lambda world: world.activate(""),
    "the machine is going to sleep": lambda world: world.prepare_for_sleep(asleep=True),
}


@pytest.mark.parametrize("reason", LEAVES)
def test_nobody_is_served_when_nobody_is_there_and_the_reason_is_told(me: Client, world: World, reason: str) -> None:
    until(lambda: me.get("Sample"))
    me.listen()

    LEAVES[reason](world)

    me.sees("State", "released")
    assert me.get("Reason") == reason
    assert [me.get(name) for name in PRIVATE] == [[], "", "", [], []]
    assert me.changed("State") == "released"


@pytest.mark.parametrize("name", PRIVATE)
def test_private_properties_are_empty_for_who_is_not_served(me: Client, world: World, name: str) -> None:
    until(lambda: me.get(name))

    world.activate("other")

    until(lambda: not me.get(name), f"{name} is hidden")
    assert not me.all()[name]


def test_private_properties_never_travel_in_signals(me: Client, world: World, process: int) -> None:
    me.listen()
    me("SetFocus", "hs", 0, "", fds=(process,))
    me("Feedback", "s", "performance")
    me.heard("KeyCounted")
    until(lambda: me("ListProfiles", "s", ""))
    world.activate("")
    me.sees("State", "released")

    told = [body for member, body in me.heard_so_far() if member == "PropertiesChanged"]

    assert told
    for _, values, invalidated in told:
        assert not set(values) & set(PRIVATE)
        assert "Sample" not in invalidated
    assert {"Application"} <= {name for _, _, invalidated in told for name in invalidated}


# Focus


def test_the_process_in_front_decides_the_application_until_its_teller_leaves(happed: Happed, process: int) -> None:
    me, agent = happed.serves(), happed.client()

    assert agent("SetFocus", "hs", 0, "a hint", fds=(process,)) == "sleep"

    assert me.get("Application") == "sleep"
    agent.leave()
    me.sees("Application", "desktop")


def test_the_focus_is_cleared_by_who_set_it_alone(happed: Happed, process: int) -> None:
    me, agent = happed.serves(), happed.client()
    agent("SetFocus", "hs", 0, "", fds=(process,))

    assert me.refused("ClearFocus")[0] == "NotFound"
    assert me.get("Application") == "sleep"
    agent("ClearFocus")
    assert me.get("Application") == "desktop"


def test_who_is_not_at_the_machine_says_nothing_of_it(me: Client, world: World, process: int) -> None:
    world.activate("other")
    until(lambda: me.get("User") == "", f"{OTHER_NAME} is served")

    assert me.refused("SetFocus", "hs", 0, "", fds=(process,))[0] == "NotActive"
    assert me.refused("Feedback", "s", "performance")[0] == "NotActive"
    assert me.refused("SetIdle", "b", 0)[0] == "NotActive"


def test_another_users_process_is_not_in_front(me: Client) -> None:
    init = os.pidfd_open(1)
    assert me.refused("SetFocus", "hs", 0, "", fds=(init,)) == ("AccessDenied", "process: it is another user's")
    os.close(init)


# Holds


def test_while_a_program_holds_it_off_nobody_is_served(me: Client, world: World) -> None:
    world.allow("hold")
    me.listen()

    cookie = me("Hold", "ss", "make", "compiling")

    assert me.get("State") == "held"
    assert me.get("Reason") == "held by make: compiling"
    assert me.get("Holds") == [("make", "compiling")]
    assert me.changed("Holds") == [("make", "compiling")]
    me("Release", "u", cookie)
    assert me.get("State") == "observing"


def test_a_hold_is_dropped_with_its_holder(happed: Happed, world: World) -> None:
    world.allow("hold")
    me, holder = happed.serves(), happed.client()
    holder("Hold", "ss", "make", "")
    holder.leave()
    me.sees("State", "observing")


def test_a_hold_is_released_by_its_holder_alone(happed: Happed, world: World) -> None:
    world.allow("hold")
    me, stranger = happed.serves(), happed.client()
    cookie = me("Hold", "ss", "make", "")
    assert stranger.refused("Release", "u", cookie)[0] == "NotFound"
    assert me.get("State") == "held"


def test_a_caller_holds_sixteen_times_at_most(me: Client, world: World) -> None:
    world.allow("hold")
    cookies = {me("Hold", "ss", "make", "") for _ in range(16)}
    assert len(cookies) == 16
    assert me.refused("Hold", "ss", "make", "")[0] == "LimitsExceeded"
    me("Release", "u", cookies.pop())
    me("Hold", "ss", "make", "")


def test_polkit_may_refuse_a_hold(me: Client) -> None:
    assert me.refused("Hold", "ss", "make", "")[0] == "AccessDenied"
    assert me.get("State") == "observing"


def test_who_vanishes_while_polkit_thinks_leaves_no_hold(happed: Happed, world: World) -> None:
    world.allow("hold")
    world.polkit("SimulateHang", "b", 1)
    me, holder = happed.serves(), happed.client()
    holder.send("Hold", "ss", "make", "")
    until(lambda: world.polkit("HaveHangingCalls", ""))

    holder.leave()
    world.polkit("ReleaseHangingCalls", "")

    me.get("Version")
    assert me.get("Holds") == []
    assert me.get("State") == "observing"


def test_who_floods_polkit_is_refused_and_others_are_not(happed: Happed, world: World) -> None:
    world.polkit("SimulateHang", "b", 1)
    me, flood = happed.serves(), happed.client()
    calls = [flood.send("Hold", "ss", "flood", "") for _ in range(40)]

    refused = [flood.refused_later(call) for call in calls[24:]]

    assert set(refused) == {("LimitsExceeded", "too many of your calls wait for polkit")}
    assert me("ListProfiles", "s", "") == []
    world.polkit("ReleaseHangingCalls", "")
    assert {flood.refused_later(call)[0] for call in calls[:24]} == {"AccessDenied"}
