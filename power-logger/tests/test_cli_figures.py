# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-power measure, align and calibrate, from the command line."""

import dataclasses
import hashlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import power_traces
from disk import Disk, on_full_disks
from given_sources import Given
from given_truths import RECORD, known
from happe_contract.calibration import Correction
from happe_contract.measuring.refusal import Refusal, Why
from happe_contract.traces import Block, Channel, Measures, TimePair
from happe_power import calibration, marker
from happe_power.cli import calibrate
from happe_power.cli.measure import with_uncertainty
from happe_power.figures import clocks_of
from happe_power.recording import zero_check
from happe_power.sources.source import Reading
from happe_power.trace import Trace
from patience import PATIENCE_S
from power_program import happe_power, source_file

SERVER_US = 1_800_000_000_000_000  # the begin of the given trace, by the server: 2027-01-15
SHIPPED = dataclasses.replace(
    RECORD,
    shunt_ohm=known(0.1, 5e-5),
    divider=known(3.0, 0.002),
    channels={name: Correction(known(1, 1e-4), known(0, 1e-5), known(5e-5, 1e-6)) for name in ("shunt", "supply")},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A trace of six seconds with 1.5 A and 2.0 A in turns, its calibration record, and clock estimates within 2 ms."""
    given = power_traces.ended(tmp_path / "spool", 6, calibration=SHIPPED.to_header())
    given.compare_clocks(SERVER_US)
    return given.folder


def at(second: float) -> int:
    return SERVER_US + round(second * 1e6)


def test_measure_says_watts_joules_uncertainty_coverage_and_calibration(folder: Path) -> None:
    # When `measure` measures the second with 2.0 A through 0.1 ohm and 19.5 V before the shunt
    ended = happe_power("measure", folder, "--from", at(1), "--to", at(2), "--budget")
    lines = ended.out.splitlines()
    assert (ended.status, ended.err) == (0, "")
    assert lines[0].startswith("mean power   38.59")
    assert "+-" in lines[0]
    assert lines[1].startswith("energy       38.59")
    assert "1.000000 s from 2027-01-15T08:00:01.000Z, cut to 2.5 ms" in lines[2]
    assert "100.000 %" in lines[3]
    assert lines[4] == "note         calibration rig of 2026-10-01, until 2027-10-01"
    for name in ("shunt", "divider", "gain of shunt", "zero of supply", "noise of shunt", "clock at the cuts"):
        assert any(line.startswith(name) for line in lines), name
    assert lines[-2].startswith("U (k = 2) ") or lines[-1].startswith("U (k = 2) ")


def test_measure_compares_two_intervals(folder: Path) -> None:
    arguments = ("measure", folder, "--from", at(2), "--to", at(3), "--against", at(1), at(2))
    said = happe_power(*arguments, "--json").json()
    low, high = 1.5 * (19.5 - 0.15), 2 * (19.5 - 0.2)
    assert said["difference"]["value"] == pytest.approx(low - high, rel=1e-3)
    assert said["improvement"]["value"] == pytest.approx(1 - low / high, rel=2e-3)
    shunt = next(line for line in said["improvement"]["budget"] if line["input"] == "shunt")
    assert shunt["part"] < 1e-12
    assert "improvement  " in happe_power(*arguments).out


@pytest.fixture
def east_of_greenwich() -> Iterator[None]:
    """Put the host's time zone an hour and a half ahead of UTC."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "XST-01:30")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("east_of_greenwich")
def test_measure_export_and_align_take_the_same_times(folder: Path) -> None:
    # Given a trace of six seconds from 2027-01-15T08:00:00Z on
    begin = {"1s", "1", "08:00:01Z", "9:30:01", "2027-01-15T08:00:01Z", "1800000001000000"}
    end = ("5s", "5.0", "08:00:05Z", "09:30:05.000", "2027-01-15T09:00:05+01:00", "1800000005000000")
    # When a person names the same four seconds in each way
    found = []
    for first, last in zip(sorted(begin), [end[0]] * len(begin), strict=True):
        found.append(happe_power("measure", folder, "--from", first, "--to", last, "--json").json()["from_us"])
    found += [happe_power("measure", folder, "--from", 1, "--to", last, "--json").json()["to_us"] for last in end]
    # Then each is the same instant, to the clock's microsecond
    assert found == pytest.approx([SERVER_US + 1_000_000] * 6 + [SERVER_US + 5_000_000] * 6, abs=3)
    rows = [
        happe_power("export", folder, "-", "--from", first, "--to", "5s").out.count("\n") for first in sorted(begin)
    ]
    assert max(rows) - min(rows) <= 1
    assert abs(rows[0] - 4 * 1000) <= 2
    said = [happe_power("align", folder, "--at", first).out for first in sorted(begin)]
    assert len({each.partition(": ")[0][:20] for each in said}) == 1
    # And a time of day before the trace's begin means the next day, which the trace does not have
    late = happe_power("measure", folder, "--from", "07:59:59Z", "--json")
    assert (late.status, "ends before it begins" in late.err) == (65, True)


@pytest.mark.parametrize("text", ["15 m", "-1s", "24:00", "10:60", "yesterday", "2026-11-21T14:05:00", "1e3", "10:3"])
def test_a_time_that_is_none_is_refused(folder: Path, text: str) -> None:
    for command, option in (("measure", "--from"), ("align", "--at")):
        ended = happe_power(command, folder, option, text)
        assert ended.status == 64
        assert text in ended.err


@pytest.mark.parametrize(
    ("value", "expanded", "shown"),
    [
        (40.1234, 0.0996, "40.12 +- 0.10"),
        (-1e-5, 0.0231, "0.000 +- 0.023"),
        (0.0, 0.0, "0.000000 +- 0"),
        (1234.5, 567.0, "1230 +- 570"),
        (-0.2, 0.13, "-0.20 +- 0.13"),
    ],
)
def test_a_figure_has_two_digits_of_its_uncertainty_and_zero_has_no_sign(
    value: float, expanded: float, shown: str
) -> None:
    assert with_uncertainty(value, expanded) == shown


REFUSED: list[tuple[Sequence[object], str]] = [
    (("--from", at(4), "--to", at(8)), "refused (coverage): 50.00 % of the interval has samples, at least 99 % is"),
    (("--from", at(6.5), "--to", at(9.5)), "refused (no-samples)"),
    (("--from", "1h", "--to", "2h"), "refused (no-samples): the interval is outside the trace, which goes from 20"),
    (("--from", at(2), "--to", at(1)), "refused (empty)"),
    (
        ("--from", at(1), "--to", at(2), "--most-clock", "1"),
        "ms, at most 1 ms is allowed; more clock estimates near it would help",
    ),
    (("--from", at(1), "--to", at(3), "--against", at(2), at(4)), "refused (overlap)"),
    (("--channel", "power"), "refused (no-channel): no channel power"),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED, ids=[said[9:25] for _, said in REFUSED])
def test_what_is_not_good_enough_is_refused_with_status_65_and_why(
    folder: Path, arguments: Sequence[object], said: str
) -> None:
    ended = happe_power("measure", folder, *arguments)
    assert (ended.status, ended.out) == (os.EX_DATAERR, "")
    assert said in ended.err


def test_a_trace_without_estimates_has_no_server_time_but_its_own(folder: Path) -> None:
    (folder / "clocks.jsonl").unlink()
    assert "--own-clock" in happe_power("measure", folder).err
    said = happe_power("measure", folder, "--own-clock", "--json").json()
    assert said["from_us"] == power_traces.REALTIME_US
    assert "not the server's" in said["notes"][0]


def test_a_wall_clock_that_was_set_in_the_middle_is_refused(folder: Path) -> None:
    # Given eight hours with a pair every ten seconds; after four hours somebody set the wall clock forward by 3 s
    trace = Trace.open(folder)
    began, hour = trace.started, 3600
    trace.time_base = [
        TimePair(s * 1000, began.monotonic_us + s * 1_000_000, began.realtime_us + (s + 3 * (s > 4 * hour)) * 1_000_000)
        for s in range(0, 8 * hour, 10)
    ]
    # Then cuts cannot use the clock, although clocks may drift apart by more than 3 s in eight hours
    found = clocks_of(trace, own_clock=True)
    assert isinstance(found, Refusal)
    assert found.why is Why.CLOCK_SET


def test_with_samples_at_the_end_of_the_range_there_is_no_figure(folder: Path) -> None:
    # Given seven samples at the end of the range in the second second, and a stall in the third one
    gaps = [(1990, 1995, "saturated"), (1997, 1999, "saturated"), (2500, 2501, "stall")]
    lines = [json.dumps({"from_index": a, "to_index": b, "reason": reason}) for a, b, reason in gaps]
    (folder / "gaps.jsonl").write_text("\n".join(lines) + "\n")
    # Then that second and differences from it have no figure, and other intervals have theirs
    said = "refused (coverage): 7 of its samples were at the end of the range"
    assert said in happe_power("measure", folder, "--from", at(1), "--to", at(2)).err
    ended = happe_power("measure", folder, "--from", at(2), "--to", at(3), "--against", at(1), at(2))
    assert (ended.status, ended.out) == (os.EX_DATAERR, "")
    assert said in ended.err
    assert happe_power("measure", folder, "--from", at(2), "--to", at(3)).status == 0
    # And if a cut divides these samples, only those inside count
    assert (
        "refused (coverage): 4 of its samples"
        in happe_power("measure", folder, "--from", at(1), "--to", at(1.9935)).err
    )


def test_a_stretch_with_the_laptop_off_is_a_zero_check(folder: Path) -> None:
    # Given a trace without checks; a person names its first and third second as time with the laptop off, one twice
    assert any("no zero check" in note for note in happe_power("measure", folder, "--json").json()["notes"])
    said = [happe_power("zero", folder, "--from", f"{at}s", "--to", f"{at + 1}s") for at in (2, 0, 2)]
    assert [each.status for each in said] == [0, 0, 0]
    assert [each.out.partition(":")[0] for each in said] == ["1 zero check", "2 zero checks", "2 zero checks"]
    # Then `zero` stores both beside the trace, by time, with the shunt's values, and figures use them
    readings = json.loads((folder / zero_check.NAME).read_text())["during"]
    assert [each["mean"] for each in readings] == pytest.approx([0.15, 0.15], rel=1e-2)
    assert readings[1]["at_us"] - readings[0]["at_us"] == 2_000_000
    found = happe_power("measure", folder, "--json").json()
    lines = {line["input"]: line for line in found["budget"]}
    assert lines["drift of the zero of shunt"]["source"].startswith("spread of 2 zero checks")
    assert not any("no zero check" in note for note in found["notes"])


def test_a_stretch_that_is_no_zero_check_is_refused(folder: Path) -> None:
    assert happe_power("zero", folder, "--from", "1s").status == os.EX_USAGE
    assert happe_power("zero", folder, "--from", "20s", "--to", "30s").status == os.EX_DATAERR
    (folder / zero_check.NAME).write_text("no JSON")
    ended = happe_power("zero", folder, "--from", "0s", "--to", "1s")
    assert (ended.status, "this file has no zero readings" in ended.err) == (os.EX_DATAERR, True)
    (folder / "manifest.json").unlink()
    assert happe_power("zero", folder, "--from", "0s", "--to", "1s").status == os.EX_TEMPFAIL


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A minute of the simulated T61 that plays the marker after 12 seconds, recorded by the program."""
    spool = tmp_path_factory.mktemp("marked")
    record = spool / "rig.toml"
    record.write_text(calibration.to_toml(SHIPPED))
    source = str(source_file(spool, rate=1000, pace="none", marker=[12]))
    what = ["--study", "t", "--spool", str(spool), "--calibration", str(record), "--no-upload", "--no-zero-check"]
    command = [sys.executable, "-m", "happe_power", "record", "--source", source, "--duration", "60s", *what]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(command, check=True, env=environment, capture_output=True, timeout=PATIENCE_S)
    return next(spool.glob("t/*/header.json")).parent


def test_align_finds_the_marker_where_the_clocks_say_it_is(marked: Path) -> None:
    begins_us = Trace.open(marked).started.realtime_us + 12_000_000
    ended = happe_power("align", marked, "--own-clock", "--at", begins_us, "--json")
    (found,) = ended.json()["markers"]
    assert ended.status == 0
    assert found["agrees"]
    assert abs(found["late_us"]) < 2000
    assert found["correlation"] > 0.9


@pytest.mark.parametrize("late_us", [-700_000, 40_000])
def test_align_tells_a_clock_that_is_off_and_ends_with_1(marked: Path, late_us: int) -> None:
    begins_us = Trace.open(marked).started.realtime_us + 12_000_000
    ended = happe_power("align", marked, "--own-clock", "--at", begins_us - late_us)
    assert ended.status == 1
    told = float(ended.out.partition(": ")[2].partition(" ms")[0])
    assert told == pytest.approx(late_us / 1000, abs=2)
    assert "DISAGREES" in ended.out


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of a shunt beside a line, a photodiode that pulls its line down, and a sound card's tone.

    All show the marker from second 12 on, the photodiode with noise of a third of its step, the sound 4 ms late.
    """
    folder = tmp_path_factory.mktemp("lines")
    second = np.arange(50_000) / 1000
    on, heard = (_shown(second - 12 - late) for late in (0, 0.004))
    rng = np.random.default_rng(5)
    light = 2.8 - 0.3 * on + rng.normal(0, 0.1, len(second))
    sound = 0.2 * heard * np.sin(2 * np.pi * 187 * second) + rng.normal(0, 0.01, len(second))
    rows = zip(rng.normal(0.1, 1e-4, len(second)), 3.3 * on, light, sound, strict=True)
    text = "".join(",".join(f"{value:.6f}" for value in row) + "\n" for row in rows)
    (folder / "lab.csv").write_text("shunt,line,light,sound\n" + text)
    names, measures = ["shunt", "line", "light", "sound"], ["shunt", "marker", "marker", "marker"]
    place = str(folder / "lab.csv")
    source = source_file(folder, kind="file", place=place, channels=names, measures=measures, rate=1000)
    ran = happe_power("record", "--source", source, "--study", "t", "--spool", folder / "spool", "--no-upload")
    assert ran.status == 0, ran.err
    return next(folder.glob("spool/t/*/header.json")).parent


def _shown(seconds: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return whether the marker is on, at times since its begin."""
    chips = np.array(marker.chips())
    number = np.floor(seconds * 1e6 / marker.CHIP_US).astype(int)
    shown: np.ndarray[Any, Any] = chips[np.clip(number, 0, len(chips) - 1)] & (number >= 0) & (number < len(chips))
    return shown


@pytest.mark.parametrize(
    ("name", "late_ms", "step"), [("marker", 0, 3.3), ("marker2", 0, 0.3), ("marker3", 4, 0.2 / 2**0.5)]
)
def test_align_finds_the_marker_on_a_line_a_light_and_a_sound(
    lines: Path, name: str, late_ms: float, step: float
) -> None:
    begins_us = Trace.open(lines).started.realtime_us + 12_000_000
    ended = happe_power("align", lines, "--own-clock", "--at", begins_us, "--marker", name, "--json")
    (found,) = ended.json()["markers"]
    assert found["late_us"] == pytest.approx(1000 * late_ms, abs=max(600, 3 * found["standard_uncertainty_us"]))
    assert found["step_v"] == pytest.approx(step, rel=0.1)
    assert "step " in happe_power("align", lines, "--own-clock", "--at", "12s", "--marker", name).out


def test_align_names_the_channels_that_show_a_marker(lines: Path, folder: Path) -> None:
    wrong = happe_power("align", lines, "--own-clock", "--at", "12s", "--marker", "shunt")
    assert (wrong.status, "it has marker, marker2, marker3" in wrong.err) == (64, True)
    none = happe_power("align", folder, "--at", "1s", "--marker", "light")
    assert (none.status, "none of its channels measures a marker" in none.err) == (64, True)


@pytest.fixture
def rig(tmp_path: Path) -> list[str]:
    """Write calibrate's inputs for 0.1 ohm, a divider of 3, zeros of 0.1 and -2 mV, and a load of 10 ohm."""
    rng = random.Random(1)
    for name, shunt, supply in (("zero", 0.0, 0.0), ("load", 0.19425, (19.425 + 0.19425) / 3)):
        rows = [f"{shunt + 1e-4 + rng.gauss(0, 1e-4)},{supply - 2e-3 + rng.gauss(0, 1e-3)}" for _ in range(2000)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["shunt,supply", *rows]) + "\n")
    files = []
    for name in ("zero", "load"):
        table = {"kind": "file", "place": f"{tmp_path}/{name}.csv", "rate": 1000, "channels": ["shunt", "supply"]}
        files.append(str(source_file(tmp_path, **table)))
    return ["--source", files[0], "--load-source", files[1]]


WIRED = ["--name", "rig", "--shunt-line", "return", "--supply-measured", "before"]
LOADED = ["--load-ohm", "10.0", "0.002", "--load-volt", "19.425", "0.003"]


def test_calibrate_writes_the_record_of_a_known_load(tmp_path: Path, rig: list[str]) -> None:
    file = tmp_path / "rig.toml"
    ended = happe_power("calibrate", file, *rig, *WIRED, *LOADED, "--no-wait", "--json")
    record = calibration.parse(file.read_bytes(), "rig.toml")
    assert ended.status == 0
    said: dict[str, Any] = ended.json()["record"]
    assert said["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert said == record.to_header()
    assert record.shunt_ohm is not None
    assert record.divider is not None
    assert abs(record.shunt_ohm.value - 0.1) < 2 * record.shunt_ohm.standard_uncertainty < 2e-4
    assert abs(record.divider.value - 3) < 2 * record.divider.standard_uncertainty < 4e-3
    zero = record.channels["shunt"].zero
    assert abs(zero.value + 1e-4) < 3 * zero.standard_uncertainty < 1e-5
    noise = record.channels["supply"].noise
    assert noise is not None
    assert noise.value == pytest.approx(1e-3, rel=0.2)


def test_calibrate_overwrites_nothing_unless_forced(tmp_path: Path, rig: list[str]) -> None:
    file = tmp_path / "rig.toml"
    file.write_text("precious")
    ended = happe_power("calibrate", file, *rig, *WIRED, *LOADED, "--no-wait")
    assert (ended.status, file.read_text()) == (os.EX_CANTCREAT, "precious")
    assert "--force" in ended.err
    forced = ("calibrate", file, *rig, *WIRED, *LOADED, "--no-wait", "--force")
    before = sorted(tmp_path.iterdir())

    def calibrate(disk: Disk) -> None:
        assert happe_power(*forced).status != 0 or disk.lost() == []

    for _ in on_full_disks(tmp_path, calibrate):
        assert sorted(tmp_path.iterdir()) == before
        assert file.read_text() == "precious" or calibration.parse(file.read_bytes(), "rig.toml")
    assert calibration.parse(file.read_bytes(), "rig.toml").name == "rig"


@pytest.mark.parametrize("lacking", ["--name", "--shunt-line", "--supply-measured", "--load-ohm", "--load-volt"])
def test_calibrate_names_the_option_that_a_script_forgot(tmp_path: Path, rig: list[str], lacking: str) -> None:
    given = [*WIRED, *LOADED]
    del given[given.index(lacking) : given.index(lacking) + (3 if "load" in lacking else 2)]
    ended = happe_power("calibrate", tmp_path / "rig.toml", *rig, *given, "--no-wait")
    assert ended.status == os.EX_USAGE
    assert lacking in ended.err
    assert not (tmp_path / "rig.toml").exists()


def test_calibrate_waits_for_a_person_before_each_reading(
    tmp_path: Path, rig: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(calibrate, "somebody_is_there", lambda: True)
    monkeypatch.setattr("click.prompt", lambda question, **_how: asked.append(question.partition(".")[0]))
    ended = happe_power("calibrate", tmp_path / "rig.toml", *rig, *WIRED, *LOADED)
    assert (ended.status, asked) == (0, ["Short every input", "Put the resistor in the laptop's place"])


def test_calibrate_makes_no_record_of_a_load_that_is_not_there(tmp_path: Path, rig: list[str]) -> None:
    ended = happe_power("calibrate", tmp_path / "rig.toml", *rig[:2], *WIRED, *LOADED, "--no-wait")
    assert (ended.status, (tmp_path / "rig.toml").exists()) == (os.EX_DATAERR, False)
    assert "the load is missing, or its poles are swapped" in ended.err
    wrong = happe_power("calibrate", tmp_path / "rig.toml", *rig, *WIRED, "--load-ohm", "10", "11")
    assert (wrong.status, "must be more than 0, and U less than that" in wrong.err) == (os.EX_USAGE, True)


@pytest.mark.parametrize(
    ("value", "says"), [("10", "rig: saturated samples: take a wider range"), ("nan", "rig: invalid samples")]
)
def test_calibrate_makes_no_record_of_samples_that_can_not_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, says: str
) -> None:
    watts = Channel("power", Measures.POWER, "W", np.dtype(np.float64), 1.0, 0.0, -10, 10)
    column = np.zeros(200)
    column[70] = float(value)
    source = Given([Reading((Block(0, (column,)),), None)], channels=(watts,), device="rig")
    monkeypatch.setattr(calibrate, "make", lambda _: source)
    what = ("--source", source_file(tmp_path), "--name", "x", "--no-load", "--no-wait")
    ended = happe_power("calibrate", tmp_path / "rig.toml", *what)
    assert (ended.status, ended.out) == (os.EX_DATAERR, "")
    assert says in ended.err
    assert not (tmp_path / "rig.toml").exists()
