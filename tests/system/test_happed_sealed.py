# SPDX-License-Identifier: GPL-2.0-or-later
"""Sealed runs on happed: during a run only the daemon knows the condition. Its owner and root do not."""

import json
import os
import random
import stat
from typing import Any

import pytest

import seals
from happed_t61 import T61
from happed_wire import BusError
from happed_world import EVERYBODY, IS_ROOT, MY_SESSION, OTHER, PRIVATE, Client, Happed, World
from patience import spend, until
from program import HappeSim
from seals import begin, end, facts, key_of, pressed

pytestmark = pytest.mark.slow

UNOPENED = ("InvalidArgs", "sealed: does not open with this laptop's key")
NOT_HERE = ("Failed", "this run cannot begin on this machine; the reason stays secret because the run is sealed")
SUBJECT = f"subject:{seals.SUBJECT}"


@pytest.fixture
def t61(capped_t61: T61) -> T61:
    """The machine, whose kernel has ondemand."""
    return capped_t61


@pytest.fixture
def owner(experimenter: Client) -> Client:
    """The client that starts runs. happed serves its user before and after."""
    return experimenter


def refused(owner: Client, box: bytes, *names: str) -> tuple[str, str]:
    """Try to start a run, and return the error."""
    return owner.refused("StartRun", "a{sv}", seals.what(box, *names))


# The laptop's key


def test_everybody_may_know_the_public_key_and_nobody_else_the_secret_one(happed: Happed) -> None:
    keys = {key_of(happed.client(uid)) for uid in EVERYBODY}
    [key] = keys
    file = happed.folder / "device.key"
    assert len(key) == len(file.read_bytes()) == 32
    assert key != file.read_bytes()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_key_that_was_told_outlives_any_kill(stopped: Happed) -> None:
    chance = random.Random(6)
    for _ in range(12):
        client = stopped.start().client()
        call = client.send("DeviceKey")
        spend(chance.random() * 0.004)
        stopped.kill()
        try:
            told = client.peer.reply(call).body[0]
        except (BusError, OSError, EOFError):
            told = None
        client.leave()
        now = list(key_of(stopped.start().client()))
        assert told in (None, now)
        stopped.kill()
        (stopped.folder / "device.key").unlink()


# # happed applies the condition


def test_that_the_indicator_is_on_the_screen_is_announced(owner: Client, happed_watcher: Client) -> None:
    run = begin(owner, "O-HAPPE")
    assert happed_watcher.changed("Indicator") is False
    end(owner, run)
    assert happed_watcher.changed("Indicator") is True
    run = begin(owner, "B-HAPPE")
    end(owner, run)
    told = [body[1] for member, body in happed_watcher.heard_so_far() if member == "PropertiesChanged"]
    assert told
    assert not any("Indicator" in changes for changes in told)


def test_sham_keys_are_recorded_and_teach_nobody(owner: Client, happe_sim: HappeSim) -> None:
    run = begin(owner, "O-HAPPE", keys="sham")
    pressed(owner, "performance")
    trace = end(owner, run)

    assert trace[0]["keys"] == "sham"
    assert [press["key"] for line in trace[1:] for press in line["keys"]] == ["performance"]
    told = facts(owner, run)
    assert (told["learned"], told["profile_after"]) == ([], told["profile_before"])
    replayed = happe_sim.replay("".join(json.dumps(line) + "\n" for line in trace).encode())
    assert replayed.returncode == 0, replayed.stderr
    assert b"learned" not in replayed.stdout
    assert owner.refused("GetProfile", "ss", SUBJECT, seals.APPLICATION)[0] == "NotFound"


def test_a_kernels_conditions_keys_are_recorded_too(owner: Client) -> None:
    run = begin(owner, "ondemand")
    pressed(owner, "power")
    trace = end(owner, run)
    assert [press["key"] for line in trace[1:] for press in line["keys"]] == ["power"]
    assert facts(owner, run)["learned"] == []


def test_a_runs_first_press_counts_however_soon_after_the_last_one_of_the_run_before(owner: Client) -> None:
    for waits_s in (0.7, 0.0):
        run = begin(owner, "T-HAPPE")
        spend(waits_s)
        pressed(owner, "performance")
        end(owner, run)
        [lesson] = facts(owner, run)["learned"]
        assert lesson["key"] == "performance"


# # Nobody learns the condition


@pytest.fixture
def happed_watcher(owner: Client, stopped: Happed) -> Client:
    """Start a client that listens."""
    assert owner.get("State") == "governing"
    watcher = stopped.client()
    watcher.listen()
    return watcher


def seen_of(run: str, clients: list[Client], log: str) -> list[Any]:
    """Return all that these clients and readers of the log see during a run, except its code."""
    calls: list[tuple[Any, ...]] = [
        ("ListProfiles", "s", SUBJECT),
        ("GetProfile", "ss", SUBJECT, seals.APPLICATION),
        ("ListEvents", "ssxu", SUBJECT, seals.APPLICATION, 0, 10),
        ("ExportProfiles", "s", SUBJECT),
        ("ResetProfile", "ss", SUBJECT, seals.APPLICATION),
        ("ImportProfiles", "ss", SUBJECT, "{}"),
        ("RunFacts", "s", run),
        ("StartRun", "a{sv}", seals.what(b"x" * 560)),
    ]
    shown = [client.all() for client in clients]
    for properties in shown:
        assert not any(properties[name] for name in PRIVATE)
    signals = [client.heard_so_far() for client in clients]
    refusals = [client.refused(*call) for client in clients for call in calls]
    lines = [line for line in log.splitlines() if "/keys: No such file" not in line]  # once, soon after the start
    seen: list[Any] = json.loads(json.dumps([shown, signals, refusals, lines]).replace(run, "RUN"))
    return seen


@pytest.mark.parametrize("indicator", [False, True])
def test_all_conditions_look_alike_to_everybody_while_they_run(
    owner: Client, stopped: Happed, world: World, *, indicator: bool
) -> None:
    world.allow("run-study", "manage-profiles")
    conditions: list[tuple[str, dict[str, Any]]] = [
        ("ondemand", {"sampling_rate_us": 20000, "up_threshold": 80}),
        ("fixed-2", {}),
        ("O-HAPPE", {}),
        ("O-HAPPE", {"keys": "sham"}),
        ("B-HAPPE" if indicator else "T-HAPPE", {}),
        ("L-HAPPE", {}),
    ]
    watchers = [owner, *(stopped.client(uid) for uid in EVERYBODY)]
    for watcher in watchers[1:]:
        watcher.listen()
    told = []
    for condition, changes in conditions:
        before = len(stopped.log)
        for watcher in watchers:
            watcher.heard_so_far()
        run = begin(owner, condition, **changes, indicator=indicator)
        pressed(owner, "performance")
        for watcher in watchers[1:]:
            watcher.heard("KeyCounted")
        told.append(seen_of(run, watchers, stopped.log[before:]))
        names = {path.name.replace(run, "RUN") for path in (stopped.folder / "runs").iterdir() if run in path.name}
        assert names == {"RUN.jsonl", "RUN.json"}
        end(owner, run)
    assert told[1:] == told[:1] * (len(conditions) - 1)
    assert told[0][0][0]["Indicator"] is indicator


def test_when_it_has_ended_nothing_of_it_is_left_on_the_bus(owner: Client, stopped: Happed) -> None:
    run = begin(owner, "O-HAPPE")
    pressed(owner, "performance")
    end(owner, run)
    assert owner.get("State") == "governing"
    shown = owner.all()
    assert (shown["Run"], shown["Indicator"]) == ("", True)
    assert SUBJECT not in json.dumps(shown)
    for word in ("HAPPE", "kHz", seals.SUBJECT, seals.RUN, seals.STUDY, "torcs"):
        assert word not in stopped.log


def test_what_does_not_open_is_told_in_the_same_words(owner: Client, stopped: Happed) -> None:
    key = key_of(owner)
    good = seals.seal(key, seals.padded(seals.document("fixed-2")))
    other = seals.seal(os.urandom(31) + b"\x01", seals.padded(seals.document()))
    for box in (other, good[:-1] + bytes([good[-1] ^ 1]), bytes([good[0] ^ 1]) + good[1:], bytes(560)):
        assert refused(owner, box) == UNOPENED
    for box in (b"", good[:-1], good + b"\0"):
        assert refused(owner, box) == ("InvalidArgs", "sealed: not 560 bytes")
    assert owner.get("State") == "governing"
    assert not list((stopped.folder / "runs").glob("*"))


def test_a_document_of_another_run_or_study_is_refused(owner: Client) -> None:
    box = seals.seal(key_of(owner), seals.padded(seals.document()))
    other = ("InvalidArgs", "sealed: belongs to another study or run")
    assert refused(owner, box, seals.STUDY, "0ZK3M9QA") == other
    assert refused(owner, box, "paper", seals.RUN) == other


def test_a_condition_that_this_machine_lacks_is_told_of_no_condition(owner: Client, stopped: Happed, t61: T61) -> None:
    """A ladder of five entries has no ninth, and happed cannot set a governor without its tunables."""
    (t61.policy.parent / "ondemand/up_threshold").unlink()
    for condition, changes in (("fixed-9", {}), ("ondemand", {"up_threshold": 80})):
        box = seals.seal(key_of(owner), seals.padded(seals.document(condition, **changes)))
        assert refused(owner, box) == NOT_HERE
        assert (owner.get("State"), owner.get("Run"), owner.get("Indicator")) == ("governing", "", True)
    assert "ondemand" not in stopped.log
    assert "up_threshold" not in stopped.log
    until(lambda: t61["scaling_max_freq"] == "800000", "HAPPE governs again")


def test_where_nothing_is_governed_no_sealed_run_begins_whatever_it_is(me: Client, world: World) -> None:
    world.allow("run-study")
    for condition in ("ondemand", "O-HAPPE"):
        box = seals.seal(key_of(me), seals.padded(seals.document(condition)))
        assert refused(me, box)[0] == "Failed"


def test_a_sealed_run_is_described_by_its_seal_alone(owner: Client) -> None:
    box = seals.seal(key_of(owner), seals.padded(seals.document()))
    for field, value in (("condition", ("s", "O-HAPPE")), ("blind", ("b", False)), ("indicator", ("b", True))):
        message = owner.refused("StartRun", "a{sv}", {**seals.what(box), field: value})
        assert message == ("InvalidArgs", f"{field}: not allowed with a sealed condition")
    for missing in ("sealed", "study", "run"):
        given = {name: value for name, value in seals.what(box).items() if name != missing}
        message = owner.refused("StartRun", "a{sv}", given)
        assert message == ("InvalidArgs", f"{missing}: missing; a sealed run needs it")


def test_who_fights_over_a_sealed_run_is_told_of_it_without_its_frequencies(
    owner: Client, stopped: Happed, t61: T61
) -> None:
    run = begin(owner, "ondemand")

    def insist() -> bool:
        if t61["scaling_governor"] == "ondemand":
            t61["scaling_governor"] = "interact"  # as long as the old value, because the file is plain
        return bool(owner.get("State") == "contested")

    until(insist, "happed gives up")
    assert owner.get("Reason") == "another program governs"
    assert "scaling" not in stopped.log
    end(owner, run)
    # On a busy computer happed sees more than one fight: the other program may undo a write before happed has read it.
    *fights, last, given_up = facts(owner, run)["interruptions"]
    assert ({each["reason"] for each in [*fights, last]}, given_up["reason"]) == ({"other"}, "contested")
    assert 'scaling_governor was set to "interact"' in last["detail"]


def test_a_limit_of_a_sealed_run_is_in_its_facts_alone(owner: Client, stopped: Happed, t61: T61) -> None:
    run = begin(owner, "fixed-4")
    until(lambda: t61["scaling_max_freq"] == "2200000", "the run's frequency is set")
    t61["scaling_max_freq"] = "1600000"
    until(lambda: _knows_a_limit(stopped), "happed has seen the limit")
    assert owner.get("Limits") == []
    assert "limits policy" not in stopped.log
    end(owner, run)
    [limited] = facts(owner, run)["interruptions"]
    assert limited["detail"].endswith("limits policy 0 to the range 800000 to 1600000 kHz")


def _knows_a_limit(happed: Happed) -> bool:
    """Say whether happed has stored a limit in the file of the state that it found."""
    return "unknown_max_khz" in (happed.folder / "found.json").read_text()


# # The results for the owner


def test_the_facts_are_there_when_the_run_has_ended_and_no_sooner(owner: Client, stopped: Happed, world: World) -> None:
    run = begin(owner, "ondemand", up_threshold=80)
    assert owner.refused("RunFacts", "s", run) == ("Busy", f"run {run} is in progress")
    trace = end(owner, run)
    world.allow()
    again = stopped.client()  # as after a crash: the same user with another bus name, and without polkit's permission

    assert facts(again, run) == facts(owner, run)
    assert end(again, run) == trace
    machine = facts(owner, run)["machine"]
    assert (machine["driver"], machine["backend"], machine["governor"]) == ("acpi-cpufreq", "cap", "ondemand")
    assert machine["tunables"] == {"sampling_rate": "10000", "up_threshold": "80"}
    world.allow("run-study")
    assert owner.refused("RunFacts", "s", "0123456789abcdef") == ("NotFound", "no such run")


def test_trace_and_facts_outlive_the_daemon(owner: Client, stopped: Happed) -> None:
    run = begin(owner, "O-HAPPE")
    trace, kept = end(owner, run), facts(owner, run)
    stopped.kill()
    again = stopped.start().client()
    assert (end(again, run), facts(again, run)) == (trace, kept)


def test_a_run_that_outlived_its_daemon_has_a_trace_and_no_facts(owner: Client, stopped: Happed) -> None:
    run = begin(owner, "O-HAPPE")
    stopped.kill()
    again = stopped.start().client()
    assert end(again, run)[0]["format"] == "happe-trace/1"
    assert again.refused("RunFacts", "s", run)[0] == "NotFound"


def test_a_run_whose_owner_leaves_has_facts(owner: Client, stopped: Happed) -> None:
    run = begin(owner, "O-HAPPE")
    me = stopped.client()
    owner.leave()
    me.sees("State", "governing")
    assert facts(me, run)["ended_us"] > facts(me, run)["started_us"]


def test_another_user_neither_stops_nor_fetches_it_whatever_polkit_says(owner: Client, stopped: Happed) -> None:
    strangers = [stopped.client(uid) for uid in ([OTHER] if IS_ROOT else [])]
    run = begin(owner, "O-HAPPE")
    assert all(stranger.refused("StopRun", "s", run)[0] == "AccessDenied" for stranger in strangers)
    assert owner.get("Run") == run
    trace = end(owner, run)
    for stranger in strangers:
        assert stranger.refused("StopRun", "s", run)[0] == "AccessDenied"
        assert stranger.refused("RunFacts", "s", run)[0] == "AccessDenied"
    for root in [stopped.client(0)] if IS_ROOT else []:
        assert end(root, run) == trace


def test_what_came_between_is_in_the_facts(owner: Client, world: World) -> None:
    run = begin(owner, "fixed-2")
    world.session(MY_SESSION, LockedHint=("b", True))
    owner.sees("State", "released")
    world.session(MY_SESSION, LockedHint=("b", False))
    owner.sees("State", "run")
    world.prepare_for_sleep(asleep=True)
    owner.sees("State", "released")
    end(owner, run)
    world.prepare_for_sleep(asleep=False)

    kept = facts(owner, run)
    locked, suspended = kept["interruptions"]
    assert (locked["reason"], suspended["reason"]) == ("locked", "suspended")
    assert kept["started_us"] <= locked["t_us"] < locked["until_us"] <= suspended["t_us"] <= kept["ended_us"]
    assert "until_us" not in suspended
