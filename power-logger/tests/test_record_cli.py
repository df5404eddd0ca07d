# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power record` and `verify` as a person, a script and systemd use them."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fake_study_server import LAPTOP, FakeStudyServer, Said, problem
from given_sources import SHUNT, SUPPLY, steady
from happe_contract.measuring.zeros import ZeroReading
from happe_contract.traces import Block, Channel, ClockEstimate, Measures
from happe_power import calibration, config
from happe_power.cli.program import Commands
from happe_power.cli.record import SEAL_S, SECOND_S
from happe_power.recording import live, zero_check
from happe_power.recording.header import boot_clock
from happe_power.recording.live import Figures, Wattmeter
from happe_power.recording.recorder import LAST_TRIES, RETRY_S
from happe_power.sources.source import Reading
from happe_power.trace import Trace
from happe_power.upload import identity
from happe_power.upload.identity import Identity
from happe_power.verify import verify
from patience import PATIENCE_S
from power_program import RECORD, source_file

PROGRAM = [sys.executable, "-m", "happe_power"]


def command(spool: Path, *options: str | Path, **table: Any) -> list[str | Path]:  # noqa: ANN401 - as in TOML
    where: list[str | Path] = ["--study", "a", "--no-upload", "--spool", spool, "--part-seconds", "1"]
    source = source_file(spool.parent, **({"rate": 2000} | table))
    return [*PROGRAM, "record", "--source", source, *where, *options]


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


def only_trace(spool: Path) -> Path:
    (folder,) = (path.parent for path in spool.glob("*/*/header.json"))
    return folder


@pytest.fixture
def calibrated(tmp_path: Path) -> Path:
    path = tmp_path / "bench.toml"
    path.write_text(RECORD)
    return path


def test_a_recording_without_pace_says_in_the_end_what_it_has_and_verify_agrees(
    tmp_path: Path, calibrated: Path
) -> None:
    options: list[str | Path] = ["--duration", "1m", "--calibration", calibrated]
    done = run(*command(tmp_path / "spool", *options, rate=1000, pace="none"))
    folder = only_trace(tmp_path / "spool")
    assert (done.returncode, done.stdout) == (0, "")
    samples = Trace.open(folder).end_index
    assert f"{samples} samples, 0 lost: {folder}" in done.stderr
    assert samples >= 60_000
    checked = run(*PROGRAM, "verify", folder)
    assert (checked.returncode, checked.stdout) == (0, f"{folder}: good (ended; 60 parts, {samples} samples, 0 lost)\n")
    assert (folder / "calibration.toml").read_text() == RECORD
    assert (folder / "local").read_bytes() == b""
    assert Trace.open(folder).calibration == calibration.parse(RECORD.encode(), "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_recording_cleanly(tmp_path: Path, calibrated: Path, number: signal.Signals) -> None:
    words = command(tmp_path / "spool", "--json", "--calibration", calibrated)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        figures = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(number)
        last = json.loads(process.stdout.read().splitlines()[-1])
    assert process.returncode == 0
    report = verify(only_trace(tmp_path / "spool"))
    assert (report.problems, report.state) == ([], "ended")
    assert last == {"ended": True, "samples": report.samples, "lost": 0, "traces": [str(report.folder)], "failed": []}
    assert figures[1]["watts"] == pytest.approx(45.04, abs=0.3)  # Table A.2: 2.3 GHz, 100 %
    assert figures[1]["rate_hz"] == pytest.approx(2000, rel=0.5)
    assert figures[1]["note"] == ""


def test_a_file_is_imported_after_a_yes_and_the_trace_has_what_the_sentence_says(tmp_path: Path) -> None:
    # Given a file of yesterday's boot with a gap, an overload and a row that nobody can read
    values = ["20", *["21"] * 5, "OVLD", "no", *["22"] * 5]
    rows = [f"2026-01-02 10:00:{row + 5 * (row > 9):02}Z;{value}" for row, value in enumerate(values)]
    file = tmp_path / "rig.csv"
    file.write_text("time;P (W)\n" + "\n".join(rows) + "\n")
    words: list[str | Path] = [*PROGRAM, "import", file, "--study", "a", "--no-upload", "--spool", tmp_path / "spool"]
    # When nobody says yes, then there is no trace
    asked = run(*words)
    says = "11 rows, 18 s at 1 S/s, 7 lost (2 invalid, 5 stall), 20 to 22 W, begins 2026-01-02 10:00:00 UTC"
    assert (asked.returncode, asked.stdout.splitlines()[-1]) == (1, f"# {says}: right?")
    assert not (tmp_path / "spool").exists()
    # When a script says yes, then the trace and the last line have the numbers of the sentence, and the file's times
    done = run(*words, "--json", "--yes")
    first, *_, last = map(json.loads, done.stdout.splitlines())
    trace = Trace.open(only_trace(tmp_path / "spool"))
    assert (first["rows"], sum(first["lost"].values())) == (last["samples"], last["lost"]) == (11, 7)
    assert sum(block.rows for block in trace.blocks()) == 11
    assert sum(gap.to_index - gap.from_index for gap in trace.gaps) == 7
    assert trace.started.realtime_us == 1_767_348_000_000_000
    assert trace.header["clock"] != boot_clock()
    # And the printed table is a source
    table = tmp_path / "table.toml"
    table.write_text(asked.stdout)
    again = run(*PROGRAM, "record", "--source", table, "--study", "b", "--no-upload", "--spool", tmp_path / "again")
    assert "11 samples, 7 lost" in again.stderr


def test_systemd_is_told_that_it_is_ready_alive_and_ending(tmp_path: Path) -> None:
    address = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(address))
        listener.settimeout(PATIENCE_S)
        environment = os.environ | {"NOTIFY_SOCKET": str(address)}
        subprocess.run(
            command(tmp_path / "spool", "--duration", "2s"), env=environment, check=True, capture_output=True
        )
        listener.settimeout(0)
        told = list(datagrams(listener))
    assert told[0] == "READY=1"
    assert "WATCHDOG=1" in told
    assert any(each.startswith("STATUS=no watts") for each in told)
    assert told[-1] == "STOPPING=1"


def datagrams(listener: socket.socket) -> Iterator[str]:
    while True:
        try:
            yield listener.recv(4096).decode()
        except BlockingIOError:
            return


def test_what_was_left_open_is_ended_before_the_next_recording_and_by_verify_repair(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    words = command(spool, "--json")
    for _ in range(2):
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout
            process.stdout.readline()
            process.kill()
    left = [path.parent for path in spool.glob("*/*/header.json") if not (path.parent / "manifest.json").exists()]
    assert len(left) == 1  # the second has ended the first
    done = run(*PROGRAM, "verify", "--repair", left[0])
    assert done.returncode == 0
    assert "was left open; it is ended now" in done.stdout
    assert all(verify(path.parent).good for path in spool.glob("*/*/header.json"))


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--study", "a", "--no-upload", "--source", "/none"], os.EX_NOINPUT, "/none: No such"),
        (["--no-upload"], os.EX_USAGE, "no study; give --study"),
        (["--study", "../a", "--no-upload"], os.EX_USAGE, "no slash"),
        (["--study", "a"], os.EX_CONFIG, "is not enrolled"),
        (["--study", "a", "--spool", "x"], os.EX_USAGE, "--spool needs --no-upload"),
        (["--study", "a", "--duration", "soon"], os.EX_USAGE, "say 90s, 15m or 8h"),
        (["--study", "a", "--no-upload", "--calibration", "/none"], os.EX_NOINPUT, "/none: No such"),
        (["--study", "a", "--no-upload", "--measured", "t61"], os.EX_USAGE, "--measured t61"),
    ],
)
def test_what_can_not_be_recorded_is_said_with_a_status_of_its_own(
    tmp_path: Path, words: list[str], status: int, message: str
) -> None:
    config = tmp_path / "happe-power.toml"
    config.write_text(f'state = "{tmp_path}/state"\n')
    done = run(*PROGRAM, "--config", config, "record", "--source", source_file(tmp_path), *words)
    assert (done.returncode, done.stdout) == (status, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_an_uploader_that_dies_is_said_and_the_recording_goes_on(
    tmp_path: Path, enrolled: Path, fake: FakeStudyServer
) -> None:
    identity.store(tmp_path / "state", Identity(fake.url, "M3TERAAA", "a", "another token"))
    options = ["--source", str(source_file(tmp_path, rate=1000)), "--measured", LAPTOP, "--part-seconds", "1"]
    words = [*PROGRAM, "--config", str(enrolled), "record", *options]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        said = next(line for line in process.stderr if "uploader" in line)
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
    assert "the uploader has ended (happe-power: the server refuses this host's token" in said
    assert process.returncode == 0, rest
    assert verify(only_trace(tmp_path / "state/spool")).good


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--measured", "M3TERAAA"], f"--measured M3TERAAA: no such laptop in study a; its laptops are {LAPTOP}"),
        (["--measured", LAPTOP, "--study", "b"], "--study b: this host is device M3TERAAA of study a"),
        (["--measured", LAPTOP, "--meter", LAPTOP], f"--meter {LAPTOP}: this host is device M3TERAAA of study a"),
    ],
)
def test_what_the_server_would_refuse_is_refused_before_anything_is_recorded(
    enrolled: Path, words: list[str], said: str
) -> None:
    done = run(*PROGRAM, "--config", enrolled, "record", "--source", source_file(enrolled.parent), *words)
    assert (done.returncode, done.stdout) == (os.EX_USAGE, "")
    assert done.stderr.startswith(f"happe-power: {said}\n")
    assert not list(enrolled.parent.rglob("header.json"))


@pytest.mark.parametrize("answer", [Said(None), problem(404, "There is no such thing."), problem(503, "busy")])
def test_a_laptop_that_the_server_says_nothing_of_is_recorded(
    enrolled: Path, fake: FakeStudyServer, answer: Said
) -> None:
    fake.answers("device/laptops", answer)
    source = str(source_file(enrolled.parent, rate=1000, pace="none"))
    options = ["--source", source, "--measured", "77777777", "--duration", "1s"]
    done = run(*PROGRAM, "--config", enrolled, "record", *options)
    assert done.returncode == 0, done.stderr
    assert "nobody has checked --measured 77777777: " in done.stderr
    assert verify(only_trace(enrolled.parent / "state/spool")).good


def test_the_zero_is_checked_before_and_after_if_a_person_is_there(tmp_path: Path, calibrated: Path) -> None:
    person, terminal = os.openpty()
    words = command(tmp_path / "spool", "--duration", "3s", "--calibration", calibrated)
    with subprocess.Popen(words, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True) as process:
        os.close(terminal)
        said = answered(person, ["Zero check before", "Zero check after"])
    assert process.returncode == 0
    assert "shunt: zero is off by 0.225, moved by" in said  # the simulated laptop stays on
    document = json.loads((only_trace(tmp_path / "spool") / zero_check.NAME).read_text())
    before, after = (ZeroReading(**document[when][0]) for when in ("before", "after"))
    assert before.mean == pytest.approx(45.04 / 20 * 0.1, rel=0.01)
    assert before.at_us < after.at_us
    assert "W  " in said  # the live line


def answered(person: int, prompts: list[str]) -> str:
    """Answer each prompt with Enter. Return what the terminal shows."""
    shown = ""
    for prompt in prompts:
        while prompt not in shown:
            shown += os.read(person, 4096).decode()
        os.write(person, b"\n")
    try:
        while data := os.read(person, 4096):
            shown += data.decode()
    except OSError:  # the other side has closed it
        pass
    os.close(person)
    return shown


def test_the_live_line_says_watts_rate_loss_spool_clock_and_what_is_wrong() -> None:
    figures = Figures(
        31.416, "calibration x EXPIRED", 10, 3, 99_998.7, 3 * 1024 * 1024, 1_234_500, 310, 180.0, "it is gone"
    )
    assert figures.line() == (
        "31.42 W  99999/s  lost 3  spool 3.0 MiB  clock +1.2345 s +-0.3 ms  [it is gone]  [calibration x EXPIRED]"
    )
    old = replace(figures, clock_age_s=301.0)
    assert "  clock +1.2345 s +-0.3 ms, 5 min ago  [" in old.line()
    bare = Figures(None, "", 0, 0, 0.0, 12, **live.latest([], 0), trouble="")
    assert bare.line() == "no watts  0/s  lost 0  spool 12 B  clock not compared"
    assert json.loads(bare.json())["clock_offset_us"] is None
    assert live.latest([ClockEstimate(1, 2, 3)], 4_000_001) == {
        "clock_offset_us": 2,
        "clock_uncertainty_us": 3,
        "clock_age_s": 4.0,
    }


def test_watts_have_a_note_if_the_calibration_is_missing_or_does_not_hold() -> None:
    good = calibration.parse(RECORD.encode(), "")
    day = date(2026, 6, 1)
    readings = list(steady(1000.0, 100, 0.1))
    meter = Wattmeter((SHUNT, SUPPLY), 1000.0, good, day)
    assert meter.note == ""
    assert meter.watts(readings) == pytest.approx(2000 * 1e-5 / 0.1 * 4 * 20_000 * 3e-4, rel=0.01)
    assert "EXPIRED" in Wattmeter((SHUNT, SUPPLY), 1000.0, good, date(2099, 1, 1)).note
    without = Wattmeter((SHUNT, SUPPLY), 1000.0, None, day)
    assert without.watts(readings) is None
    assert "no measured resistance" in without.note
    assert meter.watts([Reading((), None)]) is None


def test_watts_of_an_energy_counter_are_its_slope() -> None:
    counter = Channel("package", Measures.ENERGY, "J", np.dtype(np.int64), 1e-6, 0.0)
    energy = np.arange(0, 50) * 250_000
    assert Wattmeter((counter,), 10.0, None, date(2026, 6, 1)).watts([Reading((Block(0, (energy,)),), None)]) == (
        pytest.approx(2.5)
    )


def test_a_recording_is_watched_and_its_energy_is_power_by_time(tmp_path: Path, calibrated: Path) -> None:
    spool = tmp_path / "spool"
    words = command(spool, "--json", "--calibration", calibrated, rate=500)
    watching: list[str | Path] = [*PROGRAM, "status", "--watch", "--spool", spool]
    with (
        subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as recording,
        subprocess.Popen(watching, stdout=subprocess.PIPE, text=True) as watch,
    ):
        assert watch.stdout
        assert recording.stdout
        first = recording.stdout.readline()
        assert next(line for line in watch.stdout if " W  " in line).startswith(only_trace(spool).name[:8])
        recording.send_signal(signal.SIGINT)
        said = [json.loads(line) for line in (first, *recording.stdout)]
        assert next(line for line in watch.stdout if line == "no recording is in progress\n")
        watch.send_signal(signal.SIGTERM)
    *_, before, last = said
    assert (watch.returncode, last["ended"]) == (0, True)
    assert before["energy_j"] == pytest.approx(before["watts"] * before["samples"] / 500, rel=0.01)


UNIT = Path(__file__).resolve().parents[2] / "packaging/systemd/happe-power@.service"
SETTINGS = dict(line.split("=", 1) for line in UNIT.read_text().splitlines() if "=" in line and line[0] != "#")


def test_the_unit_runs_record_with_a_configuration_of_its_own() -> None:
    words = SETTINGS["ExecStart"].split()
    assert words[:4] == ["/usr/bin/happe-power", "--config", "/etc/happe/power-%i.toml", "record"]
    known = {name for option in Commands("").loaded("record").params for name in option.opts}
    assert set(words[4:]) <= known


def test_the_unit_waits_longer_than_the_program_takes_and_makes_its_state_folder() -> None:
    assert (SETTINGS["Type"], SETTINGS["WatchdogSec"], SETTINGS["TimeoutStopSec"]) == ("notify", "1min", "2min")
    assert SECOND_S * 10 <= 60
    assert SEAL_S + LAST_TRIES * RETRY_S < 120
    assert Path("/var/lib") / SETTINGS["StateDirectory"] == config.FOLDER
