# SPDX-License-Identifier: GPL-2.0-or-later
"""happed on a machine of many policies, of each of which it keeps four files open: they are under a limit."""

from __future__ import annotations

import json
import re
import resource
import time
from typing import TYPE_CHECKING

from happed_stand_in import HappeCtl
from happed_t61 import CAPPED, T61
from patience import until
from program import ROOT

if TYPE_CHECKING:
    from happed_world import Client, Happed, World

POLICIES = 256
TOO_FEW, FOR_SOME = 512, 900  # files, of 4 * 256 and some more


def limit_of_the_unit() -> int:
    """How many files systemd lets happed open."""
    unit = (ROOT / "packaging/systemd/happed.service").read_text()
    return int(re.findall(r"^LimitNOFILE=(\d+)$", unit, re.MULTILINE)[0])


def start_under(limit: int, happed: Happed) -> Client:
    """Start happed, which may open so many files; me, whom it serves."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, before[1]))
    try:
        happed.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    return happed.serves()


def test_each_policy_is_governed_or_the_error_is_shown(stopped: Happed, happectl: HappeCtl, world: World) -> None:
    stopped.configure("period_ms = 100\n")
    machine = T61(stopped.cpus, POLICIES, **CAPPED)  # a cap takes the most files

    begin = time.monotonic()
    me = start_under(TOO_FEW, stopped)
    me.sees("State", "failing")
    assert re.search(r"policy\d+/\w+: Too many open files", me.get("Reason"))
    assert machine.of_all("scaling_max_freq") == {"2300000"}
    client = HappeCtl(happectl.program, world.bus)
    assert re.search(r"^HAPPE .*failing \(cap\): \S*/policy\d+/\w+: Too many open files", client.run("status").stdout)
    shown = json.loads(client.run("status", "--json").stdout)
    assert (shown["state"], shown["reason"]) == ("failing", me.get("Reason"))

    _, most = resource.prlimit(stopped.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(stopped.pid, resource.RLIMIT_NOFILE, (FOR_SOME, most))
    until(lambda: machine.of_all("scaling_max_freq") == {"2300000", "800000"}, "some are governed")
    until(lambda: "more)" in me.get("Reason"), "the others are counted")
    assert me.get("State") == "failing"

    resource.prlimit(stopped.pid, resource.RLIMIT_NOFILE, (min(limit_of_the_unit(), most), most))
    me.sees("State", "governing")
    assert me.get("Reason") == ""
    until(lambda: machine.of_all("scaling_max_freq") == {"800000"}, "all are governed")
    minutes = (time.monotonic() - begin) // 60 + 1
    assert 2 <= stopped.log.count("Too many open files") <= 64 * (minutes + 1)
    assert stopped.stop() == 0
    assert machine.of_all("scaling_max_freq") == {"2300000"}
