# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines of today as documents: happectl describes them, happed governs them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from faked_machines import MACHINES, FakedMachine, ReplayedStat, numbers
from happe_contract import schemas
from happed_limits import always_wants
from patience import until
from program import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from happed_stand_in import HappeCtl
    from happed_world import Happed

SCHEMA = json.loads((ROOT / "profiles/schema/machine.schema.json").read_text())
EX_UNAVAILABLE, EX_CANTCREAT = 69, 73
IDLE = 10_000  # ppm: a CPU with less counts as idle
HERE = "0 1"  # CPUs that every machine has on which tests run


def bundle(happectl: HappeCtl, root: Path) -> dict[str, Any]:
    """Describe the machine with these files."""
    file = root / "machine.json"
    ran = happectl.run("doctor", "--root", root, "--bundle", file)
    assert (ran.returncode, ran.stderr) == (0, "")
    document: dict[str, Any] = json.loads(file.read_text())
    assert schemas.faults(SCHEMA, document) == []
    return document


@pytest.mark.parametrize("file", MACHINES, ids=lambda file: file.stem)
def test_a_machine_that_is_made_of_a_document_gives_the_document(
    happectl: HappeCtl, tmp_path: Path, file: Path
) -> None:
    shipped = json.loads(file.read_text())
    assert schemas.faults(SCHEMA, shipped) == []
    FakedMachine(tmp_path / "sys/devices", shipped)
    described = bundle(happectl, tmp_path)
    assert described | {name: shipped[name] for name in ("kernel", "utilisation") if name in shipped} == shipped


@pytest.mark.parametrize("file", MACHINES, ids=lambda file: file.stem)
def test_happed_governs_every_policy_and_leaves_all_as_it_was(stopped: Happed, file: Path) -> None:
    stopped.configure("period_ms = 100\n")
    machine = FakedMachine.shipped(file.stem, stopped.cpus.parents[1], related_cpus=HERE, affected_cpus=HERE)
    before = machine.found()
    written = "scaling_max_freq" if "userspace" not in machine["scaling_available_governors"] else "scaling_setspeed"
    at_first = machine.of_all(written)
    me = stopped.start().serves()
    fastest = me.get("Ladders")[0][2]
    always_wants(me, fastest[1], fastest[-1])
    until(lambda: not machine.of_all(written) & at_first, "every policy is set")
    assert (me.get("State"), me.get("Errors"), me.get("Limits")) == ("governing", [], [])
    assert len(me.get("Ladders")) == len(machine.policies)
    assert stopped.stop() == 0
    after = machine.found()
    assert {name for name in before if before[name] != after[name]} <= {
        f"{folder.name}/scaling_setspeed"
        for folder in machine.policies  # the kernel uses it only under `userspace`
    }


def level_at_the_lowest_speed(document: dict[str, Any], sample: list[int | None]) -> int:
    """The level of all CPUs together, by docs/traces.md."""
    demand = 0
    for group in document["policies"]:
        lowest, highest = (int(group["files"][f"cpuinfo_{end}_freq"]) for end in ("min", "max"))
        shares = [sample[cpu] or 0 for cpu in numbers(group["policies"])]
        demand += sum(share * lowest // highest for share in shares if share >= IDLE)
    return min(9, demand * 10 // 1_000_000)


@pytest.mark.parametrize("file", MACHINES, ids=lambda file: file.stem)
def test_happed_sees_what_the_cpus_of_a_described_machine_did(stopped: Happed, file: Path) -> None:
    stopped.configure("period_ms = 100\n")
    document = json.loads(file.read_text())
    FakedMachine(stopped.cpus.parents[1], document)
    stat = stopped.folder / "stat"
    replay = ReplayedStat(stat, document)
    me = stopped.start(f"--stat={stat}").serves()
    for sample in replay.samples:
        level = level_at_the_lowest_speed(document, sample)

        def is_seen() -> bool:
            replay.go_on(sample)  # noqa: B023 - called here alone
            seen = me.get("Sample")
            return [(share, at) for _, _, share, at in seen] == [(share, level) for share in sample]  # noqa: B023

        until(is_seen, f"the CPUs are busy: {sample}")


def test_a_bundle_names_nobody_and_nothing(happectl: HappeCtl, tmp_path: Path) -> None:
    machine = FakedMachine.shipped("intel-pstate-8", tmp_path / "sys/devices")
    machine["scaling_governor"] = "alice's laptop"
    machine["serial_number"] = "PF-0XYZ"
    machine.policies[1].joinpath("scaling_driver").write_text("x" * 2000)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hostname").write_text("alice-thinkpad\n")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text("cpu  4 0 4 4 0\ncpu0 4 0 4 4 0\ncpu1 0 0 0 9 0\n")
    document = bundle(happectl, tmp_path)
    text = json.dumps(document)
    assert not [secret for secret in ("alice", "thinkpad", "PF-0XYZ", "xxx") if secret in text]
    assert document["kernel"].replace(".", "").isdecimal()
    assert document["utilisation"] == {"period_us": 200_000, "cpus_ppm": [[None, None]] * 10}
    assert [group["policies"] for group in document["policies"]] == ["0", "1", "2-7"]


def test_a_bundle_that_cannot_be_made_or_written_is_none(happectl: HappeCtl, tmp_path: Path) -> None:
    none = happectl.run("doctor", "--root", tmp_path, "--bundle", tmp_path / "machine.json")
    assert (none.returncode, "nothing to describe" in none.stderr) == (EX_UNAVAILABLE, True)
    FakedMachine.shipped("server-256", tmp_path / "sys/devices")
    nowhere = happectl.run("doctor", "--root", tmp_path, "--bundle", tmp_path / "none/machine.json")
    assert (nowhere.returncode, "none/machine.json" in nowhere.stderr) == (EX_CANTCREAT, True)
    assert happectl.run("doctor", "--root", tmp_path, "--bundle", "/dev/full").returncode != 0
    assert not (tmp_path / "machine.json").exists()
