# SPDX-License-Identifier: GPL-2.0-or-later
"""happed on mains and on battery: it sets the energy performance preference, steps aside, and records both in runs."""

import socket
import subprocess

import pytest

from happed_t61 import T61, Machine, machine_of_today
from happed_world import Happed, World
from patience import PATIENCE_S, spend, until
from seals import end, facts
from test_happed_governs import what

EPP = "energy_performance_preference"
FOUND = "balance_performance"
OF_EACH_SOURCE = f'period_ms = 100\nmains.epp = "{FOUND}"\nbattery.epp = "power"\n'


class Charger:
    """A laptop's battery and charger, and the kernel's messages about them."""

    def __init__(self, happed: Happed) -> None:
        """Unplugged."""
        self.mock = happed.folder / "mock"
        self.supplies = self.mock / "sys/class/power_supply"
        for name, kind in (("AC", "Mains"), ("BAT0", "Battery")):
            (self.supplies / name).mkdir(parents=True)
            (self.supplies / name / "type").write_text(kind + "\n")
        self.plug(plugged=False)

    def plug(self, *, plugged: bool, told: bool = True) -> None:
        """Plug it in or out, and let umockdev send the kernel's message if it is `told`."""
        (self.supplies / "AC/online").write_text(f"{plugged:d}\n")
        (self.supplies / "BAT0/status").write_text("Charging\n" if plugged else "Discharging\n")
        for hears in self.mock.glob("event[0-9]*") if told else ():
            with socket.socket(socket.AF_UNIX, socket.SOCK_RAW) as tells:
                tells.sendto(b"change@/devices/AC\0ACTION=change\0SUBSYSTEM=power_supply\0", str(hears))


@pytest.fixture
def charger(stopped: Happed) -> Charger:
    """An unplugged laptop; umockdev has a folder for /sys."""
    return Charger(stopped)


@pytest.fixture
def laptop(stopped: Happed, charger: Charger) -> Machine:
    """A laptop with intel_pstate, on its battery."""
    assert charger.supplies
    return machine_of_today("intel-pstate-8", stopped.cpus, scaling_cur_freq="400000")


def has(machine: Machine, epp: str) -> None:
    """Wait until every policy has this preference."""
    until(lambda: machine.of_all(EPP) == {epp}, f"{epp}, it is {machine.of_all(EPP)}")


def test_each_source_of_power_has_its_preference(stopped: Happed, laptop: Machine, charger: Charger) -> None:
    laptop.policies[3].joinpath(EPP).write_text("128\n")  # a number that a person wrote
    stopped.configure(OF_EACH_SOURCE)
    me = stopped.start().serves()
    has(laptop, "power")
    assert (me.get("Source"), me.get("Epp"), me.get("State")) == ("battery", "power", "governing")
    charger.plug(plugged=True)
    has(laptop, FOUND)
    me.sees("Epp", FOUND)
    assert me.get("Source") == "mains"
    charger.plug(plugged=False)
    has(laptop, "power")
    stopped.kill()
    assert laptop.of_all(EPP) == {"power"}
    for _ in range(2):
        subprocess.run([*stopped.command(), "--restore"], env=stopped.environment, check=True, timeout=PATIENCE_S)
        assert [policy.joinpath(EPP).read_text().split()[0] for policy in laptop.policies[2:4]] == [FOUND, "128"]


def test_on_mains_it_may_step_aside(stopped: Happed, laptop: Machine, charger: Charger, world: World) -> None:
    before = laptop.found()
    stopped.configure("period_ms = 100\nmains.govern = false\n")
    me = stopped.start().serves()
    until(lambda: laptop.of_all("scaling_max_freq") == {"400000"}, "HAPPE governs")
    charger.plug(plugged=True)
    me.sees("State", "released")
    assert me.get("Reason") == "the laptop is plugged in, and mains.govern is false"
    assert laptop.found() == before
    world.allow("run-study")
    run = me("StartRun", "a{sv}", what("O-HAPPE"))
    me.sees("State", "run")
    me("StopRun", "s", run)
    me.sees("State", "released")
    charger.plug(plugged=False)
    me.sees("State", "governing")
    (charger.supplies / "BAT0/type").write_text("\xff" * 5000)  # a file that makes no sense
    charger.plug(plugged=True)
    me.sees("Source", "")
    assert me.get("State") == "governing"


def test_after_sleep_it_looks_again(stopped: Happed, charger: Charger, world: World) -> None:
    me = stopped.start().serves()
    assert me.get("Source") == "battery"
    for plugged in (True, False):
        world.prepare_for_sleep(asleep=True)
        me.sees("State", "released")
        charger.plug(plugged=plugged, told=False)
        world.prepare_for_sleep(asleep=False)
        me.sees("Source", "mains" if plugged else "battery")


def test_no_run_begins_on_mains_while_another_program_governs(
    stopped: Happed, charger: Charger, t61: T61, world: World
) -> None:
    """Only a run under HAPPE could begin, so a refused sealed run would reveal its condition."""

    def insist() -> bool:
        if t61["scaling_governor"] == "userspace":
            t61["scaling_governor"] = "powersave"
            t61["scaling_setspeed"] = "<unsupported>"  # as the kernel shows it then
            me("Feedback", "s", "performance")  # ends the period
        return bool(me.get("State") == "contested")

    stopped.configure("period_ms = 10000\nmains.govern = false\n")  # happed tries again only after 30 periods
    me = stopped.start().serves()
    me("Feedback", "s", "performance")
    until(insist, "happed gives up")
    charger.plug(plugged=True)
    me.sees("Source", "mains")
    world.allow("run-study")
    for condition in ("fixed-4", "O-HAPPE"):
        name, message = me.refused("StartRun", "a{sv}", what(condition))
        assert (name, "another program" in message) == ("Busy", True)


def test_a_run_has_its_own_preference_and_records_it_with_the_source(
    stopped: Happed, laptop: Machine, charger: Charger, world: World
) -> None:
    stopped.configure(OF_EACH_SOURCE)
    me = stopped.start().serves()
    has(laptop, "power")
    world.allow("run-study")
    run = me("StartRun", "a{sv}", what("O-HAPPE") | {"epp": ("s", "performance")})
    has(laptop, "performance")
    assert me.get("Epp") == ""
    charger.plug(plugged=True)
    me.sees("Source", "mains")
    assert laptop.of_all(EPP) == {"performance"}
    trace = stopped.folder / f"runs/{run}.jsonl"
    until(lambda: '"source":"mains"' in trace.read_text(), "a line of the trace on mains")
    header, *lines = end(me, run)
    assert header["epp"] == "performance"
    assert {line["source"] for line in lines} <= {"battery", "mains"}
    record = facts(me, run)
    assert record["machine"]["epp"] == "performance"
    assert [(each["reason"], each["detail"]) for each in record["interruptions"]] == [("power", "mains")]
    has(laptop, FOUND)


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (("energy_performance_available_preferences", ""), "has no energy performance preference, so"),
        (
            ("energy_performance_available_preferences", "default performance"),
            'preference "power", only default, performance',
        ),
        (("scaling_governor", "performance"), 'scaling_governor is "performance"'),
        ((EPP, ""), "it has no energy performance preference"),
    ],
)
def test_a_preference_that_a_policy_does_not_take_hinders_only_runs(
    stopped: Happed, laptop: Machine, world: World, change: tuple[str, str], wrong: str
) -> None:
    file, line = change
    other = laptop.policies[3] / file
    other.unlink()
    if file != EPP:
        other.write_text(line + "\n")
    stopped.configure('period_ms = 100\nbattery.epp = "power"\n')
    me = stopped.start().serves()
    until(lambda: laptop.of_all("scaling_max_freq") == {"400000"}, "HAPPE governs")
    until(lambda: wrong in me.get("Reason"), "status says why")
    assert (me.get("State"), me.get("Epp"), laptop[EPP]) == ("governing", "power", "power")

    world.allow("configure", "run-study")
    me("Reload")
    until(lambda: wrong in me.get("Reason"), "status says why")
    assert (me.get("State"), stopped.log.count(wrong)) == ("governing", 1)
    name, message = me.refused("StartRun", "a{sv}", what("O-HAPPE") | {"epp": ("s", "power")})
    assert (name, wrong in message) == ("Failed", True)
    me.sees("State", "governing")
    name, message = me.refused("StartRun", "a{sv}", what("O-HAPPE") | {"epp": ("s", "default")})
    assert (name, message[:12]) == ("InvalidArgs", "epp: none of")


def test_profiles_on_mains_and_on_battery_learn_on_their_own(
    stopped: Happed, laptop: Machine, charger: Charger
) -> None:
    """The profile on mains begins as a copy of the other."""
    del laptop
    stopped.configure("period_ms = 100\nladder_steps = 4\nmains.own_profiles = true\n")
    me = stopped.start().serves()

    def learns(profile: str, key: str) -> list[int]:
        until(lambda: me.get("Application") == profile, profile)
        before = len(me("ListEvents", "ssxu", "", profile, 0, 99))
        me("Feedback", "s", key)
        until(lambda: len(me("ListEvents", "ssxu", "", profile, 0, 99)) > before, "a lesson")
        khz: list[int] = me("GetProfile", "ss", "", profile)
        return khz

    battery = learns("desktop", "performance")
    charger.plug(plugged=True)
    until(lambda: me.get("Profile") == battery, "it is the other until it has a lesson")
    assert list(dict(me("ListProfiles", "s", ""))) == ["desktop"]

    def above_the_copy() -> list[int] | None:
        spend(1)  # happed does not count a press within a second of another one of the same key
        learned = learns("desktop/mains", "performance")
        return learned if learned != battery else None  # a press teaches nothing new when the load has just risen

    mains = until(above_the_copy, "a press raises the copy")
    assert me("ListProfiles", "s", "") == [("desktop", battery), ("desktop/mains", mains)]

    charger.plug(plugged=False)
    until(lambda: me.get("Profile") == battery, "the one on battery has not changed")
    document = me("ExportProfiles", "s", "")
    assert me("Undo", "ssu", "", "desktop/mains", 9)[0][0] == "desktop/mains"
    assert me("ListProfiles", "s", "") == [("desktop", battery), ("desktop/mains", battery)]
    me("ResetProfile", "ss", "", "desktop/mains")
    assert me("ListProfiles", "s", "") == [("desktop", battery)]
    assert me("ImportProfiles", "ss", "", document) == 2
    assert len(me("ListEvents", "ssxu", "", "desktop/mains", 0, 9)) == 0
    charger.plug(plugged=True)
    until(lambda: me.get("Profile") == mains, "what was imported counts")
