# SPDX-License-Identifier: GPL-2.0-or-later
"""happed keeps the limits that other programs write, with either back-end, and does not fight with these programs."""

import json

import pytest

from happed_stand_in import HappeCtl
from happed_t61 import CAPPED, T61, always_wants, shows, turns, writes_of
from happed_world import Client, Happed, World
from patience import until

LOWEST, LIMIT, WANTED, TOP = 800_000, 1_600_000, 2_200_000, 2_300_000


@pytest.mark.parametrize("found", [{}, CAPPED], ids=["setspeed", "cap"])
def test_a_limit_is_followed_and_shown_and_the_newest_is_left(
    stopped: Happed, happectl: HappeCtl, world: World, found: dict[str, str]
) -> None:
    stopped.configure("period_ms = 100\n")
    machine = T61(stopped.cpus, **found)
    file = "scaling_max_freq" if found else "scaling_setspeed"
    me = stopped.start().serves()
    always_wants(me, WANTED)
    until(lambda: machine[file] == str(WANTED), "the profile's frequency is set")
    assert me.get("Limits") == []

    for limit in (LIMIT, 1_000_000, LIMIT):
        machine["scaling_max_freq"] = str(limit)
        shows(machine, file, limit)
        me.sees("Limits", [(0, LOWEST, limit)])
    before = writes_of(machine)
    turns(stopped, 5)
    assert writes_of(machine) == before, "nothing is written while nothing changes"
    client = HappeCtl(happectl.program, world.bus)
    assert "policy 0 from 0.8 GHz to 1.6 GHz, by another program or the kernel\n" in client.run("status").stdout
    [policy] = json.loads(client.run("status", "--json").stdout)["policies"]
    assert (policy["limits_khz"], policy["error"], me.get("State")) == ([LOWEST, LIMIT], None, "governing")
    assert f"limits policy 0 to the range {LOWEST} to {LIMIT} kHz" in stopped.log

    machine["scaling_max_freq"] = str(TOP)
    until(lambda: machine[file] == str(WANTED), "the limit was lifted")
    me.sees("Limits", [])
    machine["scaling_max_freq"] = str(LIMIT)
    me.sees("Limits", [(0, LOWEST, LIMIT)])
    always_wants(me, LOWEST)
    until(lambda: machine[file] == str(LOWEST), "a frequency below the limit is set")
    assert stopped.stop() == 0
    assert machine["scaling_max_freq"] == str(LIMIT)


def test_a_contest_ends_when_the_other_is_quiet(governing: Client, stopped: Happed, t61: T61) -> None:
    def insist() -> bool:
        t61["scaling_governor"] = "powersave"
        t61["scaling_setspeed"] = "<unsupported>"  # the kernel shows this, whatever happed wrote meanwhile
        return bool(governing.get("State") == "contested")

    until(insist, "happed gives up")
    t61["scaling_setspeed"] = "1200000"  # as it was
    governing.sees("State", "governing")
    until(lambda: t61["scaling_governor"] == "userspace", "happed governs again")
    assert stopped.stop() == 0


def test_a_driver_that_changes_its_mode_is_governed_as_it_is_now(governing: Client, stopped: Happed, t61: T61) -> None:
    assert governing.get("Backend") == "setspeed"
    active = {**CAPPED, "scaling_governor": "powersave", "scaling_max_freq": str(TOP), "scaling_driver": "intel_pstate"}
    for name, value in active.items():
        t61[name] = value
    governing.sees("Backend", "cap")
    governing.sees("State", "governing")
    until(lambda: t61["scaling_max_freq"] == str(LOWEST), "it is capped")
    assert t61["scaling_governor"] == "powersave"
    t61["scaling_max_freq"] = str(TOP)  # the kernel resets it
    t61["scaling_available_governors"] = "ondemand userspace powersave "
    t61["scaling_driver"] = "intel_cpufreq"
    governing.sees("Backend", "setspeed")
    until(lambda: t61["scaling_governor"] == "userspace", "it is governed")
    assert stopped.stop() == 0
    assert (t61["scaling_governor"], t61["scaling_max_freq"]) == ("powersave", str(TOP))
