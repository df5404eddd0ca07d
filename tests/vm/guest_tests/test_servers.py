# SPDX-License-Identifier: GPL-2.0-or-later
"""The packages of study server and power logger under systemd: first run, study, upgrade with data, removal, purge."""

import base64
import json
import pwd
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from t61.packages import debs, dpkg, machine, unit
from t61.sessions import command
from t61.waiting import wait_until

PACKAGES = ["happe-python3", "happe-study-server", "happe-power-logger"]
SERVER = "happe-server.service"
LOGGER = "happe-power@bench.service"
DATA = Path("/var/lib/happe-server")
SPOOL = Path("/var/lib/happe-power/spool")
LIBRARY = Path("/usr/lib/happe-study-server")
PROTOCOL = "lib/python3.11/site-packages/happe_study/study/protocol/examples/paper-a3.toml"
SLOW_S = 300.0  # an emulated processor is slow
ADDRESS, HEALTH = "http://127.0.0.1:8080", "http://127.0.0.1:8080/healthz"
STUDY = "paper-a3"
LISTS_OF_USERS = {f"/etc/{name}{copy}" for name in ("passwd", "group", "shadow", "gshadow") for copy in ("", "-")}


@pytest.fixture
def patience() -> Iterator[None]:
    """Let units take longer to start, because the emulated processor imports their programs slowly."""
    folders = [Path(f"/run/systemd/system/{name}.service.d") for name in ("happe-server", "happe-power@")]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "patience.conf").write_text(f"[Service]\nTimeoutSec={SLOW_S:.0f}\n")
    yield
    for folder in folders:
        shutil.rmtree(folder)
    command("systemctl", "daemon-reload")


@pytest.fixture
def without() -> Iterator[None]:
    """The machine without HAPPE. A purge restores this state, except for users, which stay."""
    before = machine()
    yield
    dpkg("--purge", *reversed(PACKAGES))
    after = machine()
    assert after.users - before.users == {"happe-server", "happe-power"}
    left = {path for path, _ in after.files.items() ^ before.files.items()}
    assert sorted(left - LISTS_OF_USERS - {"/var/backups", "/var/backups/happe"}) == []
    assert after.units == before.units
    assert after.running == before.running == []


def wait_until_it_serves() -> None:
    """Wait until the server answers."""

    def answers() -> bool:
        try:
            with urllib.request.urlopen(HEALTH, timeout=30) as answer:
                return bool(answer.status == HTTPStatus.OK)
        except OSError:
            return False

    wait_until(answers, "the server answers", SLOW_S, every_s=0.5)


def listening() -> set[str]:
    """Return the addresses on which the server's user listens, in the kernel's hexadecimal."""
    number = str(pwd.getpwnam("happe-server").pw_uid)
    rows = [line.split() for each in ("tcp", "tcp6") for line in Path(f"/proc/net/{each}").read_text().splitlines()[1:]]
    return {row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[7] == number}


def staff(*words: str) -> Any:  # noqa: ANN401 - JSON
    """Return the JSON output of a server's command."""
    return json.loads(command("happe-server", *words, "--json"))


def enrol(name: str, kind: str) -> str:
    """Add a device. Return the code by which it enrols."""
    code: str = staff("device", "enrol", STUDY, name, "--kind", kind)["enrolment_code"]
    return code


def begin_study() -> str:
    """Lock the study, and invite a participant. Return the code of the laptop to measure."""
    for email, role in (("ana@example.org", "custodian"), ("ines@example.org", "investigator")):
        command("happe-server", "user", "grant", email, role, "--study", STUDY)
    command("happe-server", "study", "lock", STUDY, "--yes")
    staff("participant", "invite", STUDY)
    asked = {"code": enrol("t61", "laptop"), "public_key": base64.b64encode(bytes(range(32))).decode()}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{ADDRESS}/api/v1/devices/enrol", json.dumps(asked).encode(), headers)  # noqa: S310 - ours
    with urllib.request.urlopen(request, timeout=SLOW_S) as answer:  # noqa: S310 - ours
        device: str = json.load(answer)["device"]
        return device


def how_far() -> dict[str, int]:
    """Return the number of participants at each stage."""
    participants: dict[str, int] = staff("study", "status", STUDY)["participants"]
    assert participants["invited"] == 1
    return participants


def start_recording() -> Path:
    """Let the logger's unit record. Return the folder of its trace."""
    before = set(SPOOL.rglob("header.json"))
    command("systemctl", "start", LOGGER)
    made = wait_until(lambda: set(SPOOL.rglob("header.json")) - before, "it records", SLOW_S)
    return made.pop().parent


def record_for_the_study(measured: str) -> None:
    """Enrol the host as people do, after its service has run. It then records, uploads and seals a trace."""
    settings = Path("/etc/happe/power-bench.toml")
    settings.write_text('[record]\nsource = {kind = "sim", rate = 200}\nstudy = "alone"\nno_upload = true\n')
    start_recording()
    command("systemctl", "stop", LOGGER)
    command("happe-power", "enrol", "--server", ADDRESS, "--code", enrol("bench", "meter"))
    settings.write_text(f'[record]\nsource = {{kind = "sim", rate = 200}}\nmeasured = "{measured}"\n')
    trace = start_recording()
    wait_until(lambda: list(trace.glob("parts/*.parquet")), "a part is closed", SLOW_S)
    command("systemctl", "stop", LOGGER)
    assert trace.joinpath("seal.json").is_file()
    assert trace.parent.name == STUDY


@pytest.mark.usefixtures("patience", "without")
def test_from_first_run_to_purge(tmp_path: Path) -> None:
    dpkg("--install", *debs(*PACKAGES, old=True))
    assert unit(SERVER) == ("inactive", "disabled")
    assert not DATA.joinpath("server.db").exists()

    password = tmp_path / "password"
    password.write_text("one that nobody would guess, 4711\n")
    command("happe-server", "init", "--administrator", "ana@example.org", "--password-file", str(password))
    consent = re.compile(r'\ntext = """.*?"""', re.DOTALL)
    protocol = tmp_path / "protocol.toml"
    protocol.write_text(consent.sub('\ntext = "I take part."', (LIBRARY / PROTOCOL).read_text(), count=1))
    command("happe-server", "study", "create", str(protocol))
    command("happe-server", "user", "add", "ines@example.org", "--password-file", str(password))
    command("systemctl", "enable", "--now", SERVER)
    wait_until_it_serves()
    assert listening() == {"0100007F"}

    record_for_the_study(begin_study())
    there = how_far()
    trace = start_recording()

    command("systemctl", "stop", LOGGER)  # it waits for the server's seal
    dpkg("--install", *debs(*PACKAGES))  # while the server serves
    wait_until_it_serves()  # the package has started it again
    assert how_far() == there
    command("happe-server", "audit", "verify")
    assert trace.joinpath("manifest.json").is_file()  # the stopped logger has ended its trace

    command("systemctl", "start", LOGGER)
    dpkg("--remove", *reversed(PACKAGES))
    assert unit(SERVER)[0] == "inactive"
    assert unit(LOGGER)[0] == "inactive"
    assert subprocess.run(["pgrep", "-u", "happe-server,happe-power"], check=False).returncode == 1
    assert DATA.joinpath("server.db").is_file()
    assert trace.is_dir()
