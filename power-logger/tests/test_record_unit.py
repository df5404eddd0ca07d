# SPDX-License-Identifier: GPL-2.0-or-later
"""The recorder's systemd unit agrees with the program: its command, its watchdog, its folder."""

from __future__ import annotations

from pathlib import Path

from happe_power import config
from happe_power.cli.program import Commands
from happe_power.cli.recording import SEAL_S, SECOND_S
from happe_power.recording.recorder import LAST_TRIES, RETRY_S

UNIT = Path(__file__).resolve().parents[2] / "packaging/systemd/happe-power@.service"
SETTINGS = dict(line.split("=", 1) for line in UNIT.read_text().splitlines() if "=" in line and line[0] != "#")


def test_the_unit_runs_record_with_a_configuration_of_its_own() -> None:
    words = SETTINGS["ExecStart"].split()
    assert words[:4] == ["/usr/bin/happe-power", "--config", "/etc/happe/power-%i.toml", "record"]
    known = {name for option in Commands("").loaded("record").params for name in option.opts}
    assert set(words[4:]) <= known


def test_the_unit_waits_longer_than_the_program_takes() -> None:
    assert SETTINGS["Type"] == "notify"
    assert SETTINGS["WatchdogSec"] == "1min"
    assert SECOND_S * 10 <= 60
    assert SETTINGS["TimeoutStopSec"] == "2min"
    longest = SEAL_S + LAST_TRIES * RETRY_S
    assert longest < 120


def test_the_state_folder_is_the_one_that_the_unit_makes() -> None:
    assert Path("/var/lib") / SETTINGS["StateDirectory"] == config.FOLDER
