# SPDX-License-Identifier: GPL-2.0-or-later
"""happed from its start to its end: configuration, keys, a bus that ends, a full disk, and kills."""

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from happed_world import (
    KEY_PROG1,
    KEY_PROG2,
    MY_NAME,
    NAME,
    QUICK,
    Client,
    Happed,
    Keyboards,
    World,
    press,
    running_world,
)
from patience import PATIENCE_S, until
from seals import end, facts

pytestmark = pytest.mark.slow

KEY_F12 = 88
EX_OK, EX_IOERR, EX_TEMPFAIL, EX_CONFIG = 0, 74, 75, 78
RUN = {
    "condition": ("s", "O-HAPPE"),
    "subject": ("s", "p1"),
    "application": ("s", "torcs"),
    "blind": ("b", False),
}


# Configuration


def test_a_reload_needs_leave(me: Client) -> None:
    assert me.refused("Reload")[0] == "AccessDenied"


def test_a_fifo_in_place_of_the_configuration_is_refused(stopped: Happed, world: World) -> None:
    """To open it would wait for its writer."""
    file = stopped.folder / "happe.toml"
    why = f"{file}: not a regular file"
    me = stopped.start().serves()
    world.allow("configure")
    file.unlink()
    os.mkfifo(file)
    assert me.refused("Reload") == ("Failed", why)
    assert stopped.stop() == EX_OK
    assert stopped.launch().wait(PATIENCE_S) == EX_CONFIG
    assert why in stopped.log


@pytest.mark.parametrize("how", ["Reload", "SIGHUP"])
def test_a_bad_configuration_changes_nothing_and_is_named_with_its_line(happed: Happed, world: World, how: str) -> None:
    me = happed.serves()
    world.allow("configure")
    before = me.get("Settings")
    happed.configure('mode = "observe"\n\nperiod = 200\n')

    if how == "Reload":
        name, message = me.refused("Reload")
        assert name == "Failed"
    else:
        happed.hang_up()
        message = until(lambda: "stays in force" in happed.log and happed.log)

    assert f"{happed.folder}/happe.toml:3: " in message
    assert me.get("Settings") == before
    assert me.get("State") == "observing"


def test_a_configuration_that_this_machine_cannot_have_changes_nothing(happed: Happed, world: World) -> None:
    world.allow("configure")
    me = happed.serves()
    happed.configure("period_ms = 200\n")  # to govern, where there is no cpufreq

    name, _ = me.refused("Reload")

    assert name == "Failed"
    assert me.get("Settings")["mode"] == "observe"
    me.sees("State", "observing")


def test_another_calibration_is_another_machine_and_drops_no_hold(happed: Happed, world: World) -> None:
    world.allow("configure", "hold")
    me = happed.serves()
    cookie = me("Hold", "ss", "make", "")
    happed.configure(QUICK + "[calibration]\n2300000 = 2400000\n")
    before = world.admin.bus("GetNameOwner", "s", NAME)

    me("Reload")

    assert "2300000" in str(me.get("Settings")["calibration"])
    assert world.admin.bus("GetNameOwner", "s", NAME) == before
    assert (me.get("State"), me.get("Holds")) == ("held", [("make", "")])
    me("Release", "u", cookie)
    me.sees("State", "observing")


def test_sighup_applies_the_configuration(happed: Happed) -> None:
    me = happed.serves()
    me.listen()
    happed.configure(QUICK + 'feedback = "next-sample"\n')
    happed.hang_up()
    assert me.changed("Settings")["feedback"] == "next-sample"


def test_without_a_place_for_its_database_it_may_start_again(stopped: Happed) -> None:
    (stopped.folder / "p.db").mkdir()
    assert stopped.launch().wait(PATIENCE_S) == EX_IOERR
    assert "p.db" in stopped.log


# Keys


@pytest.fixture
def keyboards(stopped: Happed) -> Iterator[Keyboards]:
    """Start a helper that hands out keyboards."""
    helper = Keyboards(stopped.folder / "keys")
    yield helper
    helper.close()


def test_a_press_that_a_keyboard_and_a_program_tell_of_counts_once(stopped: Happed, keyboards: Keyboards) -> None:
    stopped.configure('mode = "observe"\nfeedback = "immediate"\nperiod_ms = 10000\n')
    me = stopped.start().serves()
    me.listen()
    question, keyboard = keyboards.hand_out()
    assert question == "happe-keys 1 open all KEY_PROG1 KEY_PROG2"
    me.sees("Keyboards", 1)
    press(keyboard, KEY_PROG2, seconds_ago=-int(PATIENCE_S))  # a slow test, too, is within the second after it
    assert me.heard("KeyCounted") == ["power"]
    me("Feedback", "s", "power")
    me("Feedback", "s", "performance")
    assert me.heard("KeyCounted") == ["performance"]
    os.close(keyboard)


def test_a_key_is_learned_through_the_helper(stopped: Happed, world: World, keyboards: Keyboards) -> None:
    me = stopped.start().serves()
    world.allow("configure")
    keyboards.answer(b"end")
    call = me.send("LearnKey", "u", 5000)
    stranger = stopped.client()

    assert stranger.refused("LearnKey", "u", 5000)[0] == "Busy"
    assert keyboards.answer(b"key KEY_F12", b"end") == "happe-keys 1 learn 5000"

    assert me.peer.reply(call).body == ["KEY_F12"]
    assert keyboards_free_again(stranger, keyboards) == "NotFound"


def test_the_key_of_who_left_is_learned_no_longer(stopped: Happed, world: World, keyboards: Keyboards) -> None:
    stopped.start().serves()
    world.allow("configure")
    keyboards.answer(b"end")
    asker = stopped.client()
    asker.send("LearnKey", "u", 60_000)
    helper, _ = keyboards.listener.accept()
    helper.settimeout(PATIENCE_S)
    assert helper.recv(100) == b"happe-keys 1 learn 60000"

    asker.leave()

    with helper:
        assert helper.recv(100) == b""
    assert keyboards_free_again(stopped.client(), keyboards) == "NotFound"


def keyboards_free_again(client: Client, keyboards: Keyboards) -> str:
    """Ask happed to learn a key once more, press nothing, and return the error."""
    call = client.send("LearnKey", "u", 1)
    keyboards.answer(b"end")
    return client.refused_later(call)[0]


# The bus, logind and polkit come and go


def test_logind_comes_back_and_is_asked_again(happed: Happed, world: World) -> None:
    me = happed.serves()
    world.stop_mock("logind")
    me.sees("Reason", "no session is active")
    world.start_logind()
    world.as_before()
    me.sees("User", MY_NAME)
    until(world.inhibitors, "sleep is delayed again")


def test_a_logind_that_ended_while_the_machine_slept_does_not_leave_it_asleep(happed: Happed, world: World) -> None:
    """The new logind announces no waking, because it knows of no sleep."""
    me = happed.serves()
    world.prepare_for_sleep(asleep=True)
    me.sees("Reason", "the machine is going to sleep")
    world.stop_mock("logind")
    world.start_logind()
    world.as_before()
    me.sees("User", MY_NAME)


def test_a_bus_that_starts_again_has_happed_again(happed_program: Path, tmp_path: Path) -> None:
    with running_world() as world:
        world.as_before()
        happed = Happed(happed_program, world, tmp_path).start()
        me = happed.serves()
        world.allow("run-study")
        me("Feedback", "s", "performance")
        learned = until(lambda: me("ListProfiles", "s", ""))
        run = me("StartRun", "a{sv}", RUN)

        world.restart_bus()

        until(lambda: world.there(NAME), "happed is back")
        me = happed.serves()
        assert me("ListProfiles", "s", "") == learned
        world.allow("run-study")
        [trace] = me.peer.reply(me.send("StopRun", "s", run)).descriptors
        assert os.read(trace, 20) == b'{"format":"happe-tra'
        os.close(trace)
        assert happed.stop() == EX_OK
        happed.close()


def test_without_a_bus_it_still_ends_when_told(happed_program: Path, tmp_path: Path) -> None:
    with running_world() as world:
        world.as_before()
        happed = Happed(happed_program, world, tmp_path).start()
        happed.serves()
        world.bus.stop()
        until(lambda: "cannot reach the system bus" in happed.log, "it says what it waits for")
        before = time.monotonic()
        assert happed.stop() == EX_OK
        assert time.monotonic() - before < 5
        happed.close()


# Ends


def test_of_a_damaged_database_the_copy_is_taken_and_told(happed: Happed) -> None:
    me = happed.serves()
    me("Feedback", "s", "performance")
    profiles = until(lambda: me("ListProfiles", "s", ""))
    assert me.get("Database") == ""
    assert happed.stop() == EX_OK
    with (happed.folder / "p.db").open("r+b") as database:
        database.write(b"rubbish" * 500)

    happed.start()

    me = happed.serves()
    assert me("ListProfiles", "s", "") == profiles
    told = me.get("Database")
    assert "was set aside as" in told
    assert "; HAPPE goes on with the copy of 20" in told
    assert f"happed: {told}\n" in happed.log


def test_a_run_has_the_presses_since_it_began_and_says_that_a_keyboard_went(
    stopped: Happed, world: World, keyboards: Keyboards
) -> None:
    me = stopped.start().serves()
    me.listen()
    world.allow("run-study")
    _, keyboard = keyboards.hand_out()
    me.sees("Keyboards", 1)
    run = me("StartRun", "a{sv}", RUN)
    press(keyboard, KEY_PROG1, seconds_ago=5)  # delivered late
    press(keyboard, KEY_PROG2)
    assert me.heard("KeyCounted") == ["power"]
    os.close(keyboard)
    me.sees("Keyboards", 0)

    trace, kept = end(me, run), facts(me, run)

    [pressed] = [key for line in trace[1:] for key in line["keys"]]
    assert pressed["key"] == "power"
    assert pressed["t_us"] >= kept["started_us"]
    assert [each["reason"] for each in kept["interruptions"]] == ["keyboard-lost"]


def test_a_profile_that_cannot_be_read_can_be_forgotten(stopped: Happed) -> None:
    me = stopped.start().serves()
    me("Feedback", "s", "performance")
    until(lambda: me("ListProfiles", "s", ""))
    assert stopped.stop() == EX_OK
    with contextlib.closing(sqlite3.connect(stopped.folder / "p.db")) as connection, connection:
        connection.execute("DROP TRIGGER uafp_update_is_monotonic")
        connection.execute("UPDATE uafp SET khz_9 = 1")
    me = stopped.start().serves()
    assert "erase it to start it again" in me.refused("GetProfile", "ss", "", "desktop")[1]

    me("ResetProfile", "ss", "", "desktop")

    assert me("ListProfiles", "s", "") == []
