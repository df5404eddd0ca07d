# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-power and happe-server as two programs: the server gets exactly the recorded data, whatever fails."""

import json
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import power_traces
from patience import PATIENCE_S, spend, until
from power_traces import Given
from program import ROOT
from study_server import STUDY, StudyServer

pytestmark = pytest.mark.slow

HAPPE_POWER = ROOT / "build/bin/happe-power"
KILLS = 10


@dataclass
class Meter:
    """A measuring host: a configuration with a spool."""

    server: StudyServer
    folder: Path
    code: str
    laptop: str

    @property
    def config(self) -> Path:
        """Its configuration."""
        return self.folder / "happe-power.toml"

    @property
    def source(self) -> Path:
        """The file that names its source."""
        return self.folder / "source.toml"

    @property
    def spool(self) -> Path:
        """Its spool."""
        return self.folder / "state/spool"

    def command(self, *arguments: str) -> list[str]:
        """A command line on this host."""
        return [str(HAPPE_POWER), "--config", str(self.config), *arguments]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, check=False, timeout=PATIENCE_S)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command."""
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(self.command(*arguments), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def ended(self, count: int, **options: Any) -> Given:  # noqa: ANN401 - those of power_traces.begin
        """Make a trace of this host that has ended."""
        return power_traces.ended(self.spool, count, codes=(self.code, self.laptop), study=STUDY, **options)

    def begun(self) -> Given:
        """Make a trace of this host that goes on."""
        return power_traces.begin(self.spool, codes=(self.code, self.laptop), study=STUDY)

    def assert_whole(self, folder: Path) -> None:
        """Assert that the server has sealed a trace, and that its parts on the server equal the recorded ones."""
        manifest = json.loads((folder / "manifest.json").read_bytes())
        assert (folder / "seal.json").exists()
        wanted = {each["number"]: each["sha256"] for each in manifest["parts"]}
        assert self.server.digests(manifest["trace"]) == wanted


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudyServer]:
    """A server that runs."""
    made = StudyServer(tmp_path_factory.mktemp("server"))
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def laptop(server: StudyServer) -> str:
    """The code of the laptop that the meters measure."""
    return str(server.device("t61", "laptop")["device"])


@pytest.fixture(scope="module")
def bench(server: StudyServer, laptop: str, tmp_path_factory: pytest.TempPathFactory) -> Meter:
    """The measuring host, enrolled."""
    made = server.device("bench", "meter")
    meter = Meter(server, tmp_path_factory.mktemp("bench"), made["device"], laptop)
    meter.config.write_text('state = "state"\n')
    meter.source.write_text('kind = "sim"\nrate = 2000\n')
    ran = meter.run("enrol", "--server", server.url, "--code", made["enrolment_code"])
    assert (ran.returncode, ran.stderr) == (0, "")
    return meter


@pytest.fixture
def meter(bench: Meter) -> Meter:
    """The same measuring host with an empty spool."""
    shutil.rmtree(bench.spool, ignore_errors=True)
    return bench


def wait_for(what: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Wait until a condition holds while a process runs."""
    until(lambda: what() or process.poll() is not None)
    assert process.poll() is None, "it ended before its time"


def grown(file: Path, before: int) -> bool:
    """Return whether a file has become longer."""
    return file.exists() and file.stat().st_size > before


def test_a_recording_is_uploaded_while_it_is_made_and_sealed_when_it_ends(meter: Meter) -> None:
    source = ["--measured", meter.laptop, "--no-zero-check"]
    recording = meter.start("record", "--source", str(meter.source), *source, "--part-seconds", "1")
    try:
        wait_for(lambda: any(len(meter.server.digests(each.name)) >= 4 for each in meter.spool.glob("*/*")), recording)
    finally:
        recording.send_signal(signal.SIGINT)
    status, said = recording.wait(PATIENCE_S), (meter.folder / "log").read_text()
    assert status == 0, said
    assert "sealed by the server" in said
    (header,) = meter.spool.glob("*/*/header.json")
    meter.assert_whole(header.parent)
    assert len(list(header.parent.glob("parts/*"))) >= 5  # nobody has measured it
    estimates = [json.loads(line) for line in (header.parent / "clocks.jsonl").read_text().splitlines()]
    assert len(estimates) >= 2  # at the start and at the end
    offset_us = time.time_ns() // 1000 - time.monotonic_ns() // 1000
    for each in estimates:
        assert abs(each["offset_us"] - offset_us) < 50_000 + each["uncertainty_us"]
    status = json.loads(meter.run("status", "--json").stdout)
    assert [(each["state"], each["to_send"]) for each in status["traces"]] == [("sealed", 0)]


def test_a_server_that_dies_and_comes_back_after_seconds_gets_everything(meter: Meter) -> None:
    trace = meter.begun()
    for number in range(10):
        trace.add(number)
    watching = meter.start("upload", "--watch")
    try:
        wait_for(lambda: len(meter.server.digests(trace.id)) >= 3, watching)
        meter.server.kill()
        for number in range(10, 20):
            trace.add(number)
        trace.end()
        spend(3)
        meter.server.start()
        wait_for((trace.folder / "seal.json").exists, watching)
    finally:
        watching.terminate()
        assert watching.wait(PATIENCE_S) == 0
    meter.assert_whole(trace.folder)


def test_an_uploader_killed_at_random_instants_ends_with_equal_hashes(meter: Meter) -> None:
    chance = random.Random(5)
    traces = [meter.ended(40)]
    kills = 0
    while kills < KILLS:
        if (traces[-1].folder / "seal.json").exists():
            traces.append(meter.ended(40))
        trace = traces[-1]
        before = (trace.folder / "sent.jsonl").stat().st_size if (trace.folder / "sent.jsonl").exists() else 0
        uploading = meter.start("upload")
        until(lambda: uploading.poll() is not None or grown(trace.folder / "sent.jsonl", before))  # noqa: B023 - waited for
        spend(chance.uniform(0, 0.1))
        kills += uploading.poll() is None
        uploading.kill()
        uploading.wait(PATIENCE_S)
    assert meter.run("upload").returncode == 0
    for trace in traces:
        meter.assert_whole(trace.folder)
        assert len(list(trace.folder.glob("parts/*"))) == 40  # nobody has measured it
        (trace.folder / "measured").touch()
    deleting = meter.start("upload")
    until(lambda: deleting.poll() is not None or len(list(traces[0].folder.glob("parts/*"))) < 40)
    deleting.kill()
    deleting.wait(PATIENCE_S)
    assert meter.run("upload").returncode == 0
    assert not [path for trace in traces for path in trace.folder.glob("parts/*")]
