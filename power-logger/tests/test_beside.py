# SPDX-License-Identifier: GPL-2.0-or-later
"""The uploader as a process beside a recording: it does its work, ends with it, and its troubles are its own."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

import power_traces
from fake_study_server import TOKEN, FakeStudyServer, problem
from happe_power.upload import identity
from happe_power.upload.beside import Beside
from happe_power.upload.identity import Identity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE_S = 30


@pytest.fixture
def fake() -> Iterator[FakeStudyServer]:
    """A study server."""
    with FakeStudyServer() as running:
        yield running


def beside(folder: Path, fake: FakeStudyServer) -> Beside:
    """An uploader beside this test."""
    identity.prepare(folder / "state")
    identity.store(folder / "state", Identity(fake.url, "M3TERAAA", "paper-a3", TOKEN))
    (folder / "p.toml").write_text('state = "state"\n')
    return Beside(folder / "spool", ["--config", str(folder / "p.toml")])


def test_it_sends_and_finishes_when_the_trace_is_sealed(fake: FakeStudyServer, tmp_path: Path) -> None:
    trace = power_traces.begin(tmp_path / "spool")
    trace.add(0)
    child = beside(tmp_path, fake)
    assert child.alive
    trace.end()
    assert child.finish(trace.folder, PATIENCE_S)
    assert not child.alive
    assert fake.traces[trace.id].seal == trace.layout.manifest.read_bytes()
    assert '"event": "sealed"' in child.last_words
    assert fake.heartbeats


def test_a_server_that_answers_nothing_holds_up_the_end_no_longer_than_wanted(
    fake: FakeStudyServer, tmp_path: Path
) -> None:
    trace = power_traces.ended(tmp_path / "spool", 1)
    fake.answers("", *[problem(503, "not now")] * 1000)
    child = beside(tmp_path, fake)
    began = time.monotonic()
    assert not child.finish(trace.folder, 1.0)
    assert time.monotonic() - began < 10
    assert not child.alive
    assert len(list(trace.folder.glob("parts/*"))) == 1


def test_one_that_was_killed_is_known_to_be(fake: FakeStudyServer, tmp_path: Path) -> None:
    child = beside(tmp_path, fake)
    os.kill(child._process.pid, signal.SIGKILL)  # noqa: SLF001 - whoever kills knows the number
    deadline = time.monotonic() + PATIENCE_S
    while child.alive:
        assert time.monotonic() < deadline
    assert not child.finish(tmp_path / "none", PATIENCE_S)
    child.stop()
