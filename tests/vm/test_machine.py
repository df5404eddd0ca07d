# SPDX-License-Identifier: GPL-2.0-or-later
"""The runner of the emulated T61, with a stand-in for QEMU that behaves like a working or a broken guest."""

import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import machine
import suite
from image import Image
from machine import BROKEN, Boot, Outcome, Work
from patience import PATIENCE_S

# The guest's side: its console is the first serial line; its disks are the two drives.
GUEST = """#!/bin/sh
for word; do
    case $word in
        file:*) console=${word#file:} ;;
        file=*results.tar*) word=${word#file=}; results=${word%%,*} ;;
        file=*work.tar*) word=${word#file=}; work=${word%%,*} ;;
    esac
done
"""
GOOD = """
mkdir "$results.d" && tar -xf "$work" -C "$results.d"
echo "hello from $(cat "$results.d/command")"
mkdir "$results.d/out" && echo 3 >"$results.d/out/status"
find "$results.d" -name given -exec cp {} "$results.d/out/" ";"
tar -cf "$results" -C "$results.d/out" .
"""
PANIC = 'echo "Kernel panic - not syncing" >"$console"'
HANG = "exec sleep 60"


@pytest.fixture
def run_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Outcome]:
    """Run a command in a guest that behaves like this. Results go to tmp_path/results."""
    monkeypatch.setattr(machine, "BUILD", tmp_path / "build")
    given = tmp_path / "work"
    given.mkdir()
    (given / "given").write_text("data")
    (given / "__pycache__").mkdir()

    def run(behaviour: str, timeout_s: float = PATIENCE_S) -> Outcome:
        program = tmp_path / "bin/qemu-system-x86_64"
        program.parent.mkdir()
        program.write_text(GUEST + behaviour)
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
        image = Image(tmp_path)
        return machine.run(Work(given, "true"), Boot(timeout_s=timeout_s), tmp_path / "results", image)

    return run


def test_output_status_and_results_come_back(run_with: Callable[..., Outcome], tmp_path: Path) -> None:
    outcome = run_with(GOOD)
    assert (outcome.status, outcome.lines) == (3, ["hello from true"])
    assert {file.name for file in (tmp_path / "results").iterdir()} == {"given", "status"}
    assert not list((tmp_path / "build").iterdir()), "nothing is left behind"


def test_a_panic_is_a_broken_guest_whose_console_is_shown(
    run_with: Callable[..., Outcome], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_with(PANIC).status == BROKEN
    assert "Kernel panic" in capfd.readouterr().err


def test_a_hang_ends_after_the_timeout(run_with: Callable[..., Outcome], capfd: pytest.CaptureFixture[str]) -> None:
    begin = time.monotonic()
    assert run_with(HANG, 2).status == BROKEN
    assert time.monotonic() - begin < 20
    assert "not done after 2 s" in capfd.readouterr().err


def test_results_of_an_earlier_run_do_not_count(run_with: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results/status").write_text("0")
    assert run_with(PANIC).status == BROKEN


def test_what_is_installed_belongs_to_root(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "usr/bin").mkdir(parents=True)
    (tree / "usr/bin/happed").write_text("program")
    machine.pack(Work([tree], "true", root=tree), tmp_path / "work.tar")
    with tarfile.open(tmp_path / "work.tar") as archive:
        members = {member.name: (member.uid, member.uname) for member in archive if member.name.endswith("happed")}
    assert members == {"root/usr/bin/happed": (0, "root"), "work/tree/usr/bin/happed": (0, "root")}


def test_a_folder_is_for_all_boots_or_for_one() -> None:
    more = ["/all", "power=/for/it", "deep_sleep=/other"]
    assert suite.beside(more, "power") == [Path("/all"), Path("/for/it")]
    assert suite.beside(more, "real_time") == [Path("/all")]


def test_a_boot_has_the_processor_and_the_memory_it_asks_for(tmp_path: Path) -> None:
    paper = machine.qemu(Image(tmp_path), Boot(), tmp_path, person=False)
    newer = machine.qemu(Image(tmp_path), Boot(newer_processor=True, memory_mib=1536), tmp_path, person=False)
    assert [paper[paper.index(option) + 1] for option in ("-cpu", "-m")] == ["core2duo", "1280"]
    assert [newer[newer.index(option) + 1] for option in ("-cpu", "-m")] == ["core2duo,+sse4.1,+sse4.2,+popcnt", "1536"]


def test_a_boot_with_a_policy_for_each_cpu_has_the_table_and_the_lines_whose_registers_it_names(tmp_path: Path) -> None:
    words = machine.qemu(Image(tmp_path), Boot(per_cpu=True), tmp_path, person=False)
    assert words[words.index("-smp") + 1] == "8"
    assert words[words.index("-acpitable") + 1] == f"file={tmp_path}/per_cpu.aml"
    assert words.count("-serial") == 4
