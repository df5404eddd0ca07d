# SPDX-License-Identifier: GPL-2.0-or-later
"""Study runs on happed: people who are blinded see no condition, and every trace is complete."""

import json
import os
from typing import Any

import pytest

from happed_t61 import T61
from happed_world import EVERYBODY, ME, MY_NAME, MY_SESSION, PRIVATE, T61_KHZ, Client, Happed, World, somebody
from patience import until
from program import HappeSim
from seals import begin, end

SUBJECT = "subject:p1"
SLEEP = ("/usr/bin/sleep", "600")


def what(condition: str = "T-HAPPE", /, **more: tuple[str, Any]) -> dict[str, tuple[str, Any]]:
    """A run."""
    return {"condition": ("s", condition), "subject": ("s", "p1"), "application": ("s", "torcs"), **more}


OPEN = {"blind": ("b", False)}


@pytest.fixture
def owner(happed: Happed, world: World) -> Client:
    """A client that may run studies while I am at the machine."""
    happed.serves()
    world.allow("run-study", "manage-profiles")
    return happed.client()


def fetched(client: Client, run: str) -> bytes:
    """Stop a run, and return its trace."""
    answer = client.peer.reply(client.send("StopRun", "s", run))
    [descriptor] = answer.descriptors
    with os.fdopen(descriptor, "rb") as trace:
        return trace.read()


def lines(trace: bytes) -> list[Any]:
    """The trace's observations."""
    return [json.loads(line) for line in trace.splitlines()[1:]]


def test_a_run_needs_leave(me: Client) -> None:
    assert me.refused("StartRun", "a{sv}", what())[0] == "AccessDenied"
    assert me.get("Run") == ""


def test_a_run_serves_its_subject_in_my_place(owner: Client) -> None:
    run = owner("StartRun", "a{sv}", what())

    assert owner.get("State") == "run"
    assert owner.get("Run") == run
    assert (owner.get("User"), owner.get("Application")) == (SUBJECT, "torcs")
    fetched(owner, run)
    assert owner.get("State") == "observing"
    assert (owner.get("User"), owner.get("Application"), owner.get("Run")) == (MY_NAME, "desktop", "")


def test_there_is_one_run_at_a_time(owner: Client, happed: Happed) -> None:
    run = owner("StartRun", "a{sv}", what())
    assert happed.client().refused("StartRun", "a{sv}", what()) == ("Busy", f"run {run} is in progress")
    assert owner.refused("Reload")[0] in ("Busy", "AccessDenied")


def test_with_nobody_there_no_run_begins(owner: Client, world: World) -> None:
    world.activate("")
    owner.sees("State", "released")
    assert owner.refused("StartRun", "a{sv}", what())[0] == "Busy"


def test_a_stranger_stops_no_run_without_leave(owner: Client, happed: Happed, world: World) -> None:
    run = owner("StartRun", "a{sv}", what())
    world.allow()
    assert happed.client().refused("StopRun", "s", run)[0] == "AccessDenied"
    assert owner.get("State") == "run"
    fetched(owner, run)  # its owner needs none


def test_a_stranger_with_leave_stops_a_run(owner: Client, happed: Happed) -> None:
    run = owner("StartRun", "a{sv}", what())
    assert fetched(happed.client(), run).startswith(b'{"format":"happe-trace/1"')
    assert owner.get("State") == "observing"


def test_when_its_owner_leaves_the_run_ends_and_its_trace_is_kept(owner: Client, happed: Happed) -> None:
    me = happed.client()
    run = owner("StartRun", "a{sv}", what())
    owner.leave()
    me.sees("State", "observing")
    assert fetched(me, run) == fetched(me, run) != b""


def test_a_trace_can_be_read_and_not_written(owner: Client) -> None:
    run = owner("StartRun", "a{sv}", what())
    [descriptor] = owner.peer.reply(owner.send("StopRun", "s", run)).descriptors
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.write(descriptor, b"forged")
    os.close(descriptor)


def test_a_run_learns_by_the_papers_rules_and_its_trace_replays_to_the_same(owner: Client, happe_sim: HappeSim) -> None:
    owner.listen()
    run = owner("StartRun", "a{sv}", what(**OPEN))
    owner("Feedback", "s", "performance")
    assert owner.heard("KeyCounted") == ["performance"]
    owner("Feedback", "s", "power")
    assert owner.heard("KeyCounted") == ["power"]
    [targets] = [khz for _, khz in owner.get("Targets")]

    trace = fetched(owner, run)

    header = json.loads(trace.splitlines()[0])
    assert (header["mode"], header["feedback"], header["period_us"], header["uafp"]) == (
        "paper",
        "next-sample",
        1_000_000,
        [],
    )
    assert [(line["user"], line["app"]) for line in lines(trace)] == [(SUBJECT, "torcs")] * len(lines(trace))
    replayed = happe_sim.replay(trace)
    assert replayed.returncode == 0, replayed.stderr
    decisions = [json.loads(line) for line in replayed.stdout.splitlines()]
    learned = [decision["learned"] for decision in decisions if "learned" in decision]
    assert len(learned) == 2
    assert owner("GetProfile", "ss", SUBJECT, "torcs") == learned[-1]["uafp_khz"]
    decided = [target["khz"] for decision in decisions for target in decision["targets"]]
    assert targets in (decided or T61_KHZ[:1])


def test_a_trace_tells_when_somebody_was_present(owner: Client, happed: Happed, world: World) -> None:
    run = owner("StartRun", "a{sv}", what())
    trace = happed.folder / "runs" / f"{run}.jsonl"

    def present(*, idle: bool) -> bool:
        world.session(MY_SESSION, IdleHint=("b", idle))
        known = len(lines(trace.read_bytes())) + 1  # the period of the line after the next begins after the change
        until(lambda: len(lines(trace.read_bytes())) > known)
        return bool(lines(trace.read_bytes())[known].get("present", False))

    assert [present(idle=idle) for idle in (False, True, False)] == [True, False, True]
    fetched(owner, run)


def test_training_begins_untaught_and_operating_with_what_was_trained(owner: Client, happed: Happed) -> None:
    taught = [800_000] * 4 + [2_200_000] * 6
    document = {"format": "happe-profile/1", "f_max_khz": 2_300_000}
    profile = {"user": "x", "app": "torcs", "khz": taught}
    owner("ImportProfiles", "ss", SUBJECT, json.dumps({**document, "profiles": [profile]}))

    headers = {}
    for condition in ("O-HAPPE", "B-HAPPE", "T-HAPPE", "O-HAPPE again"):
        run = owner("StartRun", "a{sv}", what(condition.split()[0]))
        headers[condition] = json.loads(fetched(owner, run).splitlines()[0])["uafp"]

    known = [{"user": SUBJECT, "app": "torcs", "khz": taught}]
    assert headers == {"O-HAPPE": known, "B-HAPPE": known, "T-HAPPE": [], "O-HAPPE again": []}
    assert happed.client()("ListProfiles", "s", "") == []  # my own profiles are another matter


def test_a_run_of_every_application_learns_for_each_that_is_in_front(
    owner: Client, happed: Happed, happe_sim: HappeSim
) -> None:
    everything = what("O-HAPPE", **OPEN)
    del everything["application"]
    agent = happed.client()
    owner.listen()
    run = owner("StartRun", "a{sv}", everything)
    trace = happed.folder / "runs" / f"{run}.jsonl"
    with somebody(ME, *SLEEP) as process:
        for application in ("desktop", "sleep"):
            if application == "sleep":
                agent("SetFocus", "hs", 0, "", fds=(process,))
            until(lambda: (lines(trace.read_bytes()) or [{}])[-1].get("app") == application)  # noqa: B023 - in this turn
            owner("Feedback", "s", "performance")
            assert owner.heard("KeyCounted") == ["performance"]
    learned = {app: owner("GetProfile", "ss", SUBJECT, app) for app, _ in owner("ListProfiles", "s", SUBJECT)}
    assert set(learned) == {"desktop", "sleep"}
    replayed = happe_sim.replay(fetched(owner, run))
    decisions = [json.loads(line) for line in replayed.stdout.splitlines()]
    assert {d["learned"]["app"]: d["learned"]["uafp_khz"] for d in decisions if "learned" in d} == learned

    again = owner("StartRun", "a{sv}", everything)
    begins = {each["app"]: each["khz"] for each in json.loads(fetched(owner, again).splitlines()[0])["uafp"]}
    assert begins == learned
    everything["condition"] = ("s", "T-HAPPE")
    training = owner("StartRun", "a{sv}", everything)
    assert json.loads(fetched(owner, training).splitlines()[0])["uafp"] == []
    assert owner("ListProfiles", "s", SUBJECT) == []


def test_a_subject_of_my_name_is_not_me(owner: Client, happed: Happed) -> None:
    me = happed.client()
    me("Feedback", "s", "performance")
    mine = until(lambda: me("ListProfiles", "s", ""))
    everything = what(subject=("s", MY_NAME))
    del everything["application"]
    fetched(owner, owner("StartRun", "a{sv}", everything))
    assert me("ListProfiles", "s", "") == mine


@pytest.mark.parametrize("uid", EVERYBODY)
def test_in_a_blind_run_nobody_but_its_owner_sees_what_is_decided(owner: Client, happed: Happed, uid: int) -> None:
    other = happed.client(uid)
    other.listen()
    run = owner("StartRun", "a{sv}", what())
    owner("Feedback", "s", "performance")
    other.heard("KeyCounted")
    owner.sees("User", SUBJECT)

    assert all(owner.get(name) for name in PRIVATE)
    assert not any(other.get(name) for name in PRIVATE)
    seen = other.all()
    assert not any(seen[name] for name in PRIVATE)
    fetched(owner, run)
    assert other.get("User") == MY_NAME


def test_while_a_blind_run_goes_on_no_signal_tells_of_a_change(owner: Client, happed: Happed) -> None:
    me = happed.client()
    run = owner("StartRun", "a{sv}", what())
    me.listen()
    owner("Feedback", "s", "performance")
    me.heard("KeyCounted")
    owner("Feedback", "s", "power")
    me.heard("KeyCounted")

    assert me.heard_so_far() == []
    fetched(owner, run)


def test_what_a_subject_has_learned_is_not_seen_when_the_run_has_ended(owner: Client, happed: Happed) -> None:
    me = happed.client()
    me.listen()
    run = owner("StartRun", "a{sv}", what())
    owner("Feedback", "s", "performance")
    me.heard("KeyCounted")
    subjects = owner.get("Profile")

    fetched(owner, run)

    assert max(subjects) > 800_000
    assert me.get("Profile") != subjects


def test_a_blind_run_that_nobody_is_left_at_stays_blind(owner: Client, happed: Happed, world: World) -> None:
    me = happed.client()
    run = owner("StartRun", "a{sv}", what())
    world.session(MY_SESSION, LockedHint=("b", True))
    me.sees("State", "released")
    assert not any(me.get(name) for name in PRIVATE)
    world.session(MY_SESSION, LockedHint=("b", False))
    me.sees("State", "run")
    assert not any(me.get(name) for name in PRIVATE)
    fetched(owner, run)


READING: list[tuple[Any, ...]] = [
    ("ListProfiles", "s", SUBJECT),
    ("GetProfile", "ss", SUBJECT, "torcs"),
    ("ListEvents", "ssxu", SUBJECT, "torcs", 0, 10),
    ("ExportProfiles", "s", SUBJECT),
    ("ResetProfile", "ss", SUBJECT, "torcs"),
]


@pytest.mark.parametrize("uid", EVERYBODY)
def test_of_a_blind_runs_subject_nobody_but_its_owner_reads_profiles(owner: Client, happed: Happed, uid: int) -> None:
    owner.listen()
    other = happed.client(uid)
    run = owner("StartRun", "a{sv}", what())
    owner("Feedback", "s", "performance")
    owner.heard("KeyCounted")

    assert [other.refused(*call)[0] for call in READING] == ["AccessDenied"] * len(READING)
    assert other("ListProfiles", "s", "subject:p2") == []
    [[_, khz]] = owner("ListProfiles", "s", SUBJECT)
    assert khz == owner("GetProfile", "ss", SUBJECT, "torcs")

    fetched(owner, run)
    assert other("GetProfile", "ss", SUBJECT, "torcs") == khz


def test_in_an_open_run_its_subjects_profiles_are_read_by_who_has_leave(owner: Client, happed: Happed) -> None:
    owner("StartRun", "a{sv}", what(**OPEN))
    assert happed.client()("ListProfiles", "s", SUBJECT) == []


def test_while_a_run_goes_on_its_subjects_profiles_stay_as_the_run_makes_them(owner: Client) -> None:
    document = '{"format":"happe-profile/1","f_max_khz":2300000,"profiles":[]}'
    owner("StartRun", "a{sv}", what())
    assert owner.refused("ResetProfile", "ss", SUBJECT, "torcs") == ("Busy", f"a run of {SUBJECT} is in progress")
    assert owner.refused("ImportProfiles", "ss", SUBJECT, document)[0] == "Busy"
    assert owner.refused("Undo", "ssu", "", "", 1) == ("Busy", "a run is in progress: undo after it has ended")
    assert owner("ImportProfiles", "ss", "", document) == 0


def test_a_press_in_a_runs_last_moment_teaches_nobody_after_it(owner: Client) -> None:
    run = owner("StartRun", "a{sv}", what())
    owner("Feedback", "s", "performance")
    fetched(owner, run)
    until(lambda: owner.get("Sample"), "a turn after the run")
    assert owner("ListProfiles", "s", "") == []


def test_an_open_run_is_seen_by_the_user_who_is_served(owner: Client, happed: Happed) -> None:
    me = happed.client()
    run = owner("StartRun", "a{sv}", what(**OPEN))
    assert me.get("User") == SUBJECT
    fetched(owner, run)


def test_ondemand_has_its_tunables_and_shows_the_indicator_only_if_told(experimenter: Client, capped_t61: T61) -> None:
    run = begin(experimenter, "ondemand", sampling_rate_us=20000, up_threshold=80)
    assert capped_t61["scaling_governor"] == "ondemand"
    assert (capped_t61.tunable("sampling_rate"), capped_t61.tunable("up_threshold")) == ("20000", "80")
    assert experimenter.get("Indicator") is False
    end(experimenter, run)
    assert experimenter.get("Indicator") is True
    until(lambda: capped_t61["scaling_max_freq"] == "800000", "HAPPE governs again")
    run = begin(experimenter, "ondemand", indicator=True)
    assert experimenter.get("Indicator") is True
    end(experimenter, run)
