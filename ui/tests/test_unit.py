# SPDX-License-Identifier: GPL-2.0-or-later
"""The indicator's unit of the user: however the program ends, systemd does not restart it forever."""

import configparser
import os
import re
import subprocess
from pathlib import Path

from desktop import program
from patience import PATIENCE_S
from program import ROOT

TRIED_AGAIN = {0, 70, 74}
"""70 is a mistake of the program; 74 is of the disk."""
SLOWEST_FAILURE_S = 20
"""A program that is started again and finds no window system has tried for as long when it ends."""


def statuses_in_help() -> set[int]:
    """Return the exit statuses that --help names."""
    command = [program("happe-indicator"), "--help"]
    help_text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout
    return {int(number) for number in re.findall(r"\b(0|[67]\d)\b", help_text.partition("Exit status:")[2])}


def statuses_in_sources() -> set[int]:
    """Return the exit statuses that its sources name, as sysexits.h has them."""
    sources = "".join(path.read_text() for path in (ROOT / "ui/indicator").glob("*.cpp"))
    return {int(getattr(os, name)) for name in re.findall(r"\bEX_[A-Z]+\b", sources)}


def seconds(text: str) -> float:
    """Return the seconds of a time in the form of units."""
    found = re.fullmatch(r"(\d+)(s|min)", text)
    assert found
    return int(found[1]) * {"s": 1, "min": 60}[found[2]]


def unit_file() -> configparser.ConfigParser:
    """Read the unit's file."""
    file = configparser.ConfigParser(interpolation=None, strict=False)
    file.read(ROOT / "packaging/systemd/happe-indicator.service")
    return file


def test_systemd_knows_every_word_of_it(tmp_path: Path) -> None:
    """No test starts it under a user's systemd, which would ignore a word that it does not know, such as a limit."""
    unit = tmp_path / "happe-indicator.service"
    text = (ROOT / "packaging/systemd/happe-indicator.service").read_text()
    unit.write_text(text.replace("/usr/bin/happe-indicator", "/bin/true"))
    command = ["systemd-analyze", "--user", "--man=no", "verify", str(unit)]
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=PATIENCE_S)
    assert done.stderr == ""


def test_it_does_not_keep_the_session_running() -> None:
    """graphical-session.target stops when no running unit needs it. Each of these words would mean a need."""
    assert not {"requires", "requisite", "wants", "bindsto"} & set(unit_file()["Unit"])


def test_no_exit_status_makes_systemd_start_it_forever() -> None:
    unit = unit_file()
    service = unit["Service"]
    prevented = {int(status) for status in service["RestartPreventExitStatus"].split()}

    # systemd does not try again after a status that, by --help, only the session or the user can change.
    assert statuses_in_help() == statuses_in_sources()
    assert statuses_in_help() - prevented == TRIED_AGAIN
    assert service["Restart"] == "on-failure"  # not for status 0

    # After all other statuses, also signals and systemd's own (203: no program), the limit ends the restarts.
    starts = int(unit["Unit"]["StartLimitBurst"])
    period = seconds(service["RestartSec"]) + SLOWEST_FAILURE_S
    assert 1 <= starts <= 5
    assert seconds(unit["Unit"]["StartLimitIntervalSec"]) > starts * period
