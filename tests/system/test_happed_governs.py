# SPDX-License-Identifier: GPL-2.0-or-later
"""happed governs a T61 that is a folder (happed_t61)."""

import subprocess
import time
from typing import Any

from happed_t61 import T61
from happed_world import MY_SESSION, NAME, Client, Happed, World
from patience import PATIENCE_S, until
from seals import end

EX_TEMPFAIL = 75


def what(condition: str) -> dict[str, tuple[str, Any]]:
    """A run."""
    return {"condition": ("s", condition), "subject": ("s", "p1"), "application": ("s", "torcs")}


def test_it_governs_the_ladder_that_it_finds(governing: Client) -> None:
    assert governing.get("State") == "governing"
    assert governing.get("Backend") == "setspeed"
    assert governing.get("Ladders") == [(0, [0, 1], [800_000, 1_200_000, 1_600_000, 2_200_000, 2_300_000])]


def test_what_is_found_is_on_the_disk_before_it_is_changed(governing: Client, stopped: Happed) -> None:
    assert governing.get("State") == "governing"
    assert '"powersave"' in (stopped.folder / "found.json").read_text()


def test_a_second_one_leaves_the_machine_to_the_first(governing: Client, stopped: Happed, t61: T61) -> None:
    found = (stopped.folder / "found.json").read_text()
    second = subprocess.run(
        stopped.command(), env=stopped.environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert (second.returncode, "another happed runs" in second.stderr) == (EX_TEMPFAIL, True)
    assert (stopped.folder / "found.json").read_text() == found
    assert (governing.get("State"), t61["scaling_governor"]) == ("governing", "userspace")


def test_it_tells_each_user_how_long_the_cpu_ran_at_which_speed(governing: Client) -> None:
    since, times = until(lambda: (today := governing("TimeSpent"))[1] and today, "a period has passed")
    assert since / 1e6 <= time.time()
    assert {khz for khz, _, _ in times} <= {800_000, 1_200_000, 1_600_000, 2_200_000, 2_300_000}
    assert all(0 <= percent <= 100 for _, percent, _ in times)
    assert sum(milliseconds for _, _, milliseconds in times) > 0


def test_a_press_is_a_frequency_that_is_written(stopped: Happed, t61: T61) -> None:
    stopped.configure("period_ms = 10000\n")  # the next turn is far away
    me = stopped.start().serves()

    me("Feedback", "s", "performance")

    until(lambda: t61["scaling_setspeed"] == "1600000")
    assert t61["scaling_governor"] == "userspace"
    assert me.get("Targets") == [(0, 1_600_000)]
    [event] = me("ListEvents", "ssxu", "", "desktop", 0, 10)
    assert event[7] == 1_200_000  # what it ran at

    me("Undo", "ssu", "", "", 1)
    assert t61["scaling_governor"] == "userspace"  # the governor stays until the next turn sets the frequency


def test_told_to_end_it_gives_back_what_it_found(governing: Client, stopped: Happed, t61: T61) -> None:
    assert governing.get("State") == "governing"
    assert stopped.stop() == 0
    assert set(t61.changed()) <= {"scaling_setspeed"}  # the kernel uses it only while the governor is userspace
    assert not (stopped.folder / "found.json").exists()


def test_killed_it_leaves_what_it_found_to_be_restored(governing: Client, stopped: Happed, t61: T61) -> None:
    assert governing.get("State") == "governing"
    stopped.kill()
    assert t61["scaling_governor"] == "userspace"

    for _ in range(2):  # a second restore does no harm
        subprocess.run(
            [*stopped.command(), "--restore"],
            env=stopped.environment,
            check=True,
            timeout=PATIENCE_S,
        )
        assert set(t61.changed()) <= {"scaling_setspeed"}
        assert not (stopped.folder / "found.json").exists()


def test_killed_and_started_again_it_knows_what_was_there_before(governing: Client, stopped: Happed, t61: T61) -> None:
    assert governing.get("State") == "governing"
    stopped.kill()
    stopped.start().serves()
    until(lambda: t61["scaling_governor"] == "userspace")
    assert stopped.stop() == 0
    assert t61["scaling_governor"] == "powersave"


def test_sleep_waits_for_the_machine_to_be_given_back(governing: Client, world: World, t61: T61) -> None:
    assert governing.get("State") == "governing"
    world.prepare_for_sleep(asleep=True)
    until(lambda: not world.inhibitors())
    assert t61["scaling_governor"] == "powersave"
    world.prepare_for_sleep(asleep=False)
    until(lambda: t61["scaling_governor"] == "userspace")


def test_another_program_that_insists_is_given_way_to(governing: Client, world: World, t61: T61) -> None:
    def insist() -> bool:
        if t61["scaling_governor"] == "userspace":
            t61["scaling_governor"] = "powersave"
            t61["scaling_setspeed"] = "<unsupported>"  # as the kernel shows it then
        return bool(governing.get("State") == "contested")

    until(insist, "happed gives up")
    assert governing.get("Reason")
    assert t61["scaling_governor"] == "powersave"

    world.allow("configure")
    governing("Reload")
    until(lambda: t61["scaling_governor"] == "userspace", "it tries again when told to")


def test_a_runs_frequency_is_given_back_while_nobody_is_there_and_then_set_again(
    governing: Client, world: World, t61: T61
) -> None:
    def lent() -> bool:
        return (t61["scaling_governor"], t61["scaling_setspeed"]) == ("userspace", "2200000")

    world.allow("run-study", "hold")
    governing("StartRun", "a{sv}", what("fixed-4"))
    assert lent()

    world.session(MY_SESSION, LockedHint=("b", True))
    governing.sees("State", "released")
    assert t61["scaling_governor"] == "powersave"
    world.session(MY_SESSION, LockedHint=("b", False))
    governing.sees("State", "run")
    assert lent()

    cookie = governing("Hold", "ss", "make", "")
    assert t61["scaling_governor"] == "powersave"
    governing("Release", "u", cookie)
    assert lent()

    world.prepare_for_sleep(asleep=True)
    until(lambda: not world.inhibitors())
    assert t61["scaling_governor"] == "powersave"
    world.prepare_for_sleep(asleep=False)
    until(lent)


def test_a_runs_frequency_stays_when_somebody_changes_profiles(governing: Client, world: World, t61: T61) -> None:
    world.allow("run-study")
    governing("StartRun", "a{sv}", what("fixed-4"))
    document = '{"format":"happe-profile/1","f_max_khz":2300000,"profiles":[]}'

    assert governing("ImportProfiles", "ss", "", document) == 0

    assert (t61["scaling_governor"], t61["scaling_setspeed"]) == ("userspace", "2200000")


def test_told_to_end_in_a_run_it_gives_back_what_it_found(
    governing: Client, stopped: Happed, world: World, t61: T61
) -> None:
    world.allow("run-study")
    governing("StartRun", "a{sv}", what("fixed-4"))
    assert stopped.stop() == 0
    assert set(t61.changed()) <= {"scaling_setspeed"}
    assert not (stopped.folder / "found.json").exists()


def test_to_observe_is_to_give_the_machine_back_and_to_go_on(
    governing: Client, stopped: Happed, world: World, t61: T61
) -> None:
    world.allow("configure")
    governing.listen()
    stopped.configure('mode = "observe"\nperiod_ms = 100\n')

    governing("Reload")

    assert t61["scaling_governor"] == "powersave"
    assert (governing.get("State"), governing.get("Backend")) == ("observing", "observe")
    assert governing.changed("Backend") == "observe"
    stopped.configure("period_ms = 100\n")
    governing("Reload")
    until(lambda: t61["scaling_governor"] == "userspace")
    assert (governing.get("State"), governing.get("Backend")) == ("governing", "setspeed")


def test_another_ladder_after_sleep_is_the_one_that_is_governed(
    governing: Client, stopped: Happed, world: World, t61: T61
) -> None:
    held = stopped.client()
    before = world.admin.bus("GetNameOwner", "s", NAME)
    world.prepare_for_sleep(asleep=True)
    governing.sees("State", "released")
    t61["scaling_available_frequencies"] = "1600000 1200000 800000 "
    t61["cpuinfo_max_freq"] = "1600000"

    world.prepare_for_sleep(asleep=False)

    held.sees("Ladders", [(0, [0, 1], [800_000, 1_200_000, 1_600_000])])
    until(lambda: t61["scaling_governor"] == "userspace")
    assert world.admin.bus("GetNameOwner", "s", NAME) == before


def test_a_run_begins_on_the_ladder_that_the_machine_has_then(governing: Client, world: World, t61: T61) -> None:
    t61["scaling_available_frequencies"] = "1600000 1200000 800000 "  # boost was switched off
    t61["cpuinfo_max_freq"] = "1600000"
    world.allow("run-study")

    run = governing("StartRun", "a{sv}", what("O-HAPPE"))

    [header, *_] = end(governing, run)
    assert header["ladders_khz"] == {"0": [800_000, 1_200_000, 1_600_000]}
    assert governing.get("State") == "governing"


def test_without_cpufreq_it_says_what_to_do_and_does_not_start_again(stopped: Happed) -> None:
    stopped.configure("")
    assert stopped.launch().wait(PATIENCE_S) == 69
    assert 'set mode = "observe"' in stopped.log
