# SPDX-License-Identifier: GPL-2.0-or-later
"""happed on a machine with many policies: it governs all of them, or reports those that it cannot govern."""

import json
import re
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from happed_stand_in import HappeCtl
from happed_t61 import CAPPED, MACHINES, T61, always_wants, machine_of_today
from happed_world import Happed, World
from patience import until

POLICIES = 256
FILES = 100  # happed may open this many files: fewer than one for each policy


@pytest.fixture
def few_files() -> Iterator[None]:
    """Limit the number of open files for programs that start now. They cannot raise the limit."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("name", MACHINES)
def test_happed_governs_every_policy_of_a_machine_of_today_and_leaves_all_as_it_was(stopped: Happed, name: str) -> None:
    stopped.configure("period_ms = 100\n")
    machine = machine_of_today(name, stopped.cpus)
    before = machine.found()
    at_first = machine.of_all("scaling_max_freq")
    me = stopped.start().serves()
    fastest = me.get("Ladders")[0][2]
    always_wants(me, fastest[1], fastest[-1])
    until(lambda: not machine.of_all("scaling_max_freq") & at_first, "every policy is set")
    assert (me.get("State"), me.get("Errors"), me.get("Limits")) == ("governing", [], [])
    assert len(me.get("Ladders")) == len(machine.policies)
    assert me.get("Domains") == [list(range(len(machine.policies)))]
    assert stopped.stop() == 0
    assert machine.found() == before


def test_fewer_files_than_policies_suffice(stopped: Happed, few_files: None) -> None:
    del few_files
    stopped.configure("period_ms = 100\n")
    machine = T61(stopped.cpus, POLICIES, **CAPPED)
    stopped.launch()
    resource.prlimit(stopped.pid, resource.RLIMIT_NOFILE, (FILES, FILES))
    me = stopped.serves_when_there()
    until(lambda: machine.of_all("scaling_max_freq") == {"800000"}, "all are governed")
    assert me.get("State") == "governing"
    assert len(list(Path(f"/proc/{stopped.pid}/fd").iterdir())) < FILES
    assert stopped.stop() == 0
    assert machine.of_all("scaling_max_freq") == {"2300000"}


def test_happed_asks_for_as_many_files_as_it_may_have(stopped: Happed, few_files: None) -> None:
    del few_files
    stopped.start()
    soft, hard = resource.prlimit(stopped.pid, resource.RLIMIT_NOFILE)
    assert soft == hard > FILES


def test_a_policy_that_cannot_be_governed_is_named(stopped: Happed, happectl: HappeCtl, world: World) -> None:
    stopped.configure("period_ms = 100\n")
    machine = T61(stopped.cpus, POLICIES, **CAPPED)
    broken = machine.policies[7] / "scaling_max_freq"
    broken.write_text("none\n")
    me = stopped.start().serves()
    me.sees("State", "failing")
    [(number, why)] = me.get("Errors")
    assert number == 7
    assert re.search(r"policy7", why)
    assert me.get("Reason") == why
    assert why in stopped.log
    client = HappeCtl(happectl.program, world.bus)
    assert f"policy 7 is not governed: {why}\n" in client.run("status").stdout
    shown = json.loads(client.run("status", "--json").stdout)
    assert [policy["policy"] for policy in shown["policies"] if policy["error"]] == [7]

    broken.write_text("2300000\n")
    me.sees("State", "governing")
    assert me.get("Errors") == []
    until(lambda: machine.of_all("scaling_max_freq") == {"800000"}, "all are governed")
