# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power live`: the page and the metrics of a running recording."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
import urllib3
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from given_sources import record, steady
from happe_contract.traces import Gap, Reason
from happe_power.recording.live import LIVE, leave
from happe_power.serving.server import FILES, Server
from happe_power.serving.state import Watched
from happe_power.sources.source import Reading
from patience import PATIENCE_S, until
from power_program import RECORD, source_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FIGURES: dict[str, Any] = {
    "watts": 12.5,
    "note": "",
    "samples": 2000,
    "lost": 500,
    "rate_hz": 1000.25,
    "spool_bytes": 4096,
    "clock_offset_us": 1500,
    "clock_uncertainty_us": 400,
    "clock_age_s": 3.0,
    "trouble": "<b>unplugged</b>",
    "energy_j": 36.0,
}


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    """A spool with a recording whose device's name is hostile, and a gap."""
    readings = [*steady(1000.0, 500, 1.0), Reading((Gap(1000, 1500, Reason.UNPLUGGED),), None)]
    recorder = record(tmp_path, readings, device="<script>alert(1)</script>")
    leave(recorder.folders[0], json.dumps(FIGURES).encode())
    return tmp_path


@contextmanager
def serving(spool: Path) -> Iterator[str]:
    """Serve a spool, and yield the address."""
    with Server(0, Watched(spool).state) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def get(url: str, **headers: str) -> urllib3.BaseHTTPResponse:
    """Return an answer."""
    return urllib3.request("GET", url, headers=headers, timeout=PATIENCE_S, retries=False)


def metrics_of(text: str) -> dict[str, float]:
    """Return the samples by their names."""
    families = text_string_to_metric_families(text)  # type: ignore[no-untyped-call] # it has no types
    return {sample.name: sample.value for family in families for sample in family.samples}


def test_the_page_tells_the_recording_and_asks_nobody_else(spool: Path) -> None:
    with serving(spool) as url:
        answer = get(url)
        page = answer.data.decode()
        for said in ("12.50 W", "0.010 Wh", "1000.2/s", "500 of 2500 samples", "+0.0015 s +-0.4 ms", "recording"):
            assert said in page
        assert "<td>1.0 s</td><td>0.5 s</td><td>500</td><td>unplugged</td>" in page
        # The page shows outside data only as text, and asks no other origin for anything.
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)" in page
        assert "&lt;b&gt;unplugged" in page
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        for path in ("/", *FILES):
            assert not re.search(rb"https?://|//[a-z]", get(url + path).data)
        said = json.loads(get(f"{url}/live.json").data)
        assert (said["texts"]["watts"], said["watts"], said["recording"]["runs"]) == ("12.50 W", 12.5, True)


def test_another_name_than_loopbacks_gets_nothing(spool: Path) -> None:
    with serving(spool) as url:
        assert get(url, Host="evil.example").status == 421
        assert get(url, Host=f"localhost:{url.rpartition(':')[2]}").status == 200
        assert get(f"{url}/../../etc/passwd").status == 404


def test_the_metrics_are_openmetrics(spool: Path) -> None:
    with serving(spool) as url:
        answer = get(f"{url}/metrics")
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
    found = metrics_of(answer.data.decode())
    assert found["happe_power_recording"] == found["happe_power_gaps"] == 1
    assert (found["happe_power_watts"], found["happe_power_energy_joules_total"]) == (12.5, 36.0)
    assert (found["happe_power_lost_samples_total"], found["happe_power_clock_offset_seconds"]) == (500, 0.0015)


def test_without_a_recording_or_with_a_damaged_file_it_says_so(tmp_path: Path, spool: Path) -> None:
    with serving(tmp_path / "empty") as url:
        assert "There is no recording in the spool." in get(url).data.decode()
        assert metrics_of(get(f"{url}/metrics").data.decode()) == {"happe_power_recording": 0}
    [live] = spool.glob(f"*/*/{LIVE}")
    leave(live.parent, json.dumps(FIGURES | {"ended": True}).encode())
    with serving(spool) as url:
        assert "no recording is in progress" in get(url).data.decode()
        assert "happe_power_watts" not in metrics_of(get(f"{url}/metrics").data.decode())
        live.write_bytes(b"{")
        assert get(url).status == 503


def test_a_recording_of_the_program_is_on_its_page_and_its_energy_is_power_by_time(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "happe_power"]
    where = ["--spool", str(tmp_path), "--study", "a", "--no-upload"]
    (tmp_path / "bench.toml").write_text(RECORD)
    command = [
        *program,
        "record",
        "--source",
        str(source_file(tmp_path, rate=500)),
        *where,
        "--json",
        "--calibration",
        str(tmp_path / "bench.toml"),
    ]
    live = subprocess.Popen(
        [*program, "live", "--port", "0", "--spool", str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    with live, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as recording:
        assert live.stdout
        url = live.stdout.readline().strip()
        until(lambda: metrics_of(get(f"{url}metrics").data.decode()).get("happe_power_samples_total", 0) > 500)
        assert "simulated T61 on a simulated rig (sim)" in get(url).data.decode()
        recording.send_signal(signal.SIGINT)
        assert recording.stdout
        said = [json.loads(line) for line in recording.stdout]
        until(lambda: "no recording is in progress" in get(url).data.decode())
        live.send_signal(signal.SIGTERM)
        assert live.wait(PATIENCE_S) == 0
    *_, before, last = said
    assert last["ended"]
    assert before["energy_j"] == pytest.approx(before["watts"] * before["samples"] / 500, rel=0.01)
