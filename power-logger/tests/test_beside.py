# SPDX-License-Identifier: GPL-2.0-or-later
"""The uploader as a process beside a recording: it uploads, ends with the recording, and never disturbs it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import power_traces
from fake_study_server import FakeStudyServer, problem
from happe_power.upload.beside import Beside
from patience import PATIENCE_S, until


def beside(config: Path) -> Beside:
    """An uploader beside this test."""
    return Beside(config.parent / "spool", ["--config", str(config)])


def test_it_sends_and_finishes_when_the_trace_is_sealed(fake: FakeStudyServer, enrolled: Path, tmp_path: Path) -> None:
    trace = power_traces.begin(tmp_path / "spool")
    trace.add(0)
    child = beside(enrolled)
    assert child.alive
    trace.end()
    assert child.finish(trace.folder, PATIENCE_S)
    assert not child.alive
    assert (fake.traces[trace.id].seal or b"").rstrip(b" ") == trace.manifest_file.read_bytes()
    assert '"event": "sealed"' in child.last_words
    assert fake.heartbeats


def test_a_server_that_answers_nothing_holds_up_the_end_no_longer_than_wanted(
    fake: FakeStudyServer, enrolled: Path, tmp_path: Path
) -> None:
    trace = power_traces.ended(tmp_path / "spool", 1)
    fake.answers("", *[problem(503, "not now")] * 1000)
    child = beside(enrolled)
    began = time.monotonic()
    assert not child.finish(trace.folder, 1.0)
    assert time.monotonic() - began < 10
    assert not child.alive
    assert len(list(trace.folder.glob("parts/*"))) == 1


def test_a_log_on_a_full_disk_holds_nothing_up(enrolled: Path, tmp_path: Path) -> None:
    trace = power_traces.ended(tmp_path / "spool", 2)
    words = [sys.executable, "-m", "happe_power", "--config", str(enrolled), "upload", "--json"]
    with Path("/dev/full").open("wb") as full:
        subprocess.run([*words, "--spool", str(tmp_path / "spool")], stdout=full, stderr=full, check=False)
    assert (trace.folder / "seal.json").exists()


def killed(child: Beside) -> None:
    """Kill an uploader, as the kernel does when it runs out of memory."""
    os.kill(child._process.pid, signal.SIGKILL)  # noqa: SLF001 - only tests need the number


def test_one_that_died_is_said_once_and_started_again_each_minute(enrolled: Path, tmp_path: Path) -> None:
    child = beside(enrolled)

    def dies() -> None:
        child.log.write_text("first\nwhy\n")
        killed(child)
        until(lambda: not child.alive, "its end")

    assert child.tend(0.0) == ""
    dies()
    assert child.tend(1.0) == "the uploader has ended (why); it is started again each minute"
    assert child.tend(60.9) == ""
    assert not child.alive
    assert child.tend(61.0) == ""
    assert child.alive
    dies()
    assert child.tend(62.0) == ""
    (tmp_path / "spool").rename(tmp_path / "gone")
    assert child.tend(122.0) == ""
    assert not child.alive
    (tmp_path / "gone").rename(tmp_path / "spool")
    assert [child.tend(now) for now in (123.0, 183.0)] == ["", ""]
    assert child.alive
    child.stop()
