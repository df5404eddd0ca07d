# SPDX-License-Identifier: GPL-2.0-or-later
"""happectl doctor, restore and check on a faked machine, with and without happed; tests/vm has a real kernel."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from happed_stand_in import HappeCtl
from patience import PATIENCE_S
from private_bus import stand_in
from program import ROOT

EX_DATAERR, EX_NOINPUT, EX_NOPERM = 65, 66, 77

UNITS = """<node><interface name="org.freedesktop.systemd1.Manager">
<method name="ListUnitsByNames"><arg type="as" direction="in"/><arg type="a(ssssssouso)" direction="out"/></method>
<method name="GetUnitFileState"><arg type="s" direction="in"/><arg type="s" direction="out"/></method>
<method name="GetUnit"><arg type="s" direction="in"/><arg type="o" direction="out"/></method>
<method name="StopUnit">
<arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="o" direction="out"/></method>
</interface></node>"""
UNIT = """<node><interface name="org.freedesktop.systemd1.Unit">
<property name="ActiveState" type="s" access="read"/></interface></node>"""
SEAT = """<node><interface name="org.freedesktop.login1.Seat">
<property name="ActiveSession" type="(so)" access="read"/></interface></node>"""
SESSION = """<node><interface name="org.freedesktop.login1.Session"><property name="Name" type="s" access="read"/>
<property name="Class" type="s" access="read"/><property name="LockedHint" type="b" access="read"/>
</interface></node>"""


def listed(name: str, load: str, active: str) -> list[object]:
    """A row of ListUnitsByNames."""
    return [name, "", load, active, "", "", "/unit", 0, "", "/"]


def systemd(units: list[list[object]], *, happed: str = "inactive") -> dict[str, Any]:
    """Objects of a systemd with these units."""
    answers = {
        "ListUnitsByNames": [units],
        "GetUnitFileState": ["enabled"],
        "GetUnit": ["/happed"],
        "StopUnit": ["/job"],
    }
    return {
        "/org/freedesktop/systemd1": {"xml": UNITS, "answers": answers},
        "/happed": {"xml": UNIT, "properties": {"ActiveState": happed}},
    }


LOGIND = {
    "/org/freedesktop/login1/seat/seat0": {"xml": SEAT, "properties": {"ActiveSession": ["1", "/session"]}},
    "/session": {"xml": SESSION, "properties": {"Name": "alice", "Class": "user", "LockedHint": False}},
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine's files: a T61 with HAPPE installed."""
    policy = tmp_path / "sys/devices/system/cpu/cpufreq/policy0"
    policy.mkdir(parents=True)
    (policy / "scaling_driver").write_text("acpi-cpufreq\n")
    (policy / "scaling_governor").write_text("ondemand\n")
    (policy / "scaling_available_governors").write_text("ondemand userspace performance \n")
    for file in (
        "usr/share/dbus-1/system.d/org.happe.Governor1.conf",
        "usr/share/polkit-1/actions/org.happe.governor1.policy",
        "var/lib/happe/profiles.db",
        "run/happe/found.json",
        "etc/happe/happe.toml",
    ):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    return tmp_path


def test_doctor_finds_a_healthy_machine_healthy(happectl: HappeCtl, root: Path) -> None:
    units = [listed("happed.service", "loaded", "active"), listed("happed-keys.socket", "loaded", "active")]
    with (
        happectl.daemon(),
        stand_in(happectl.bus, "org.freedesktop.systemd1", systemd(units)),
        stand_in(happectl.bus, "org.freedesktop.login1", LOGIND),
    ):
        ran = happectl.run("doctor", "--root", root, "--json")
    checks = json.loads(ran.stdout)
    assert (ran.returncode, {check["verdict"] for check in checks}) == (0, {"ok"})
    findings = {check["check"]: check["finding"] for check in checks}
    assert findings["cpufreq"] == "1 policy driven by acpi-cpufreq"
    assert findings["session"] == "seat0 shows alice"
    assert findings["happed.service"] == "active, enabled"
    assert findings["other programs"] == "none that sets frequencies"


def test_doctor_says_what_is_in_the_way_without_happed(happectl: HappeCtl, root: Path) -> None:
    (root / "etc/happe/happe.toml").write_text('mode = "drive"\n')
    units = [listed("happed.service", "loaded", "failed"), listed("tlp.service", "loaded", "active")]
    with stand_in(happectl.bus, "org.freedesktop.systemd1", systemd(units)):
        ran = happectl.run("doctor", "--root", root)
    assert ran.returncode == 1
    assert "fail    happed.service: failed, enabled\n        -> journalctl -u happed -b says why\n" in ran.stdout
    assert "fail    tlp: active: " in ran.stdout
    assert "fail    machine: happed ended without restoring the governor" in ran.stdout
    assert f"fail    configuration: {root}/etc/happe/happe.toml:1: mode" in ran.stdout
    assert "warn    session: logind does not answer" in ran.stdout


def test_doctor_works_without_a_bus_and_without_files(happectl: HappeCtl, tmp_path: Path) -> None:
    happectl.bus.stop()
    ran = happectl.run("doctor", "--root", tmp_path)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "fail    cpufreq: the kernel offers no frequency scaling here" in ran.stdout
    assert "fail    happed: the system bus does not answer" in ran.stdout
    assert "unknown other programs: systemd does not answer\n        -> run this on the machine" in ran.stdout


def test_restore_stops_happed_and_says_who_governs_now(happectl: HappeCtl, root: Path) -> None:
    (root / "run/happe/found.json").unlink()
    with (
        stand_in(happectl.bus, "org.freedesktop.systemd1", systemd([], happed="active")) as manager,
        happectl.start("restore", "--root", root) as process,
    ):
        manager.until("call", "StopUnit")
        manager.tell("set", "/happed", "org.freedesktop.systemd1.Unit", "ActiveState", "deactivating")
        manager.tell("set", "/happed", "org.freedesktop.systemd1.Unit", "ActiveState", "inactive")
        shown, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert "happed is stopped" in shown
    assert "policy 0: ondemand\n" in shown


def test_restore_has_nothing_to_do_where_nothing_runs(happectl: HappeCtl, root: Path) -> None:
    (root / "run/happe/found.json").unlink()
    ran = happectl.run("restore", "--root", root, "--json")
    assert ran.returncode == 0
    assert json.loads(ran.stdout) == {"stopped": False, "policies": [{"policy": 0, "governor": "ondemand"}]}


def test_restore_that_systemd_refuses_says_so(happectl: HappeCtl, root: Path) -> None:
    objects = systemd([], happed="active")
    refused = {"error": ["org.freedesktop.DBus.Error.AccessDenied", "Access denied"]}
    objects["/org/freedesktop/systemd1"]["answers"]["StopUnit"] = refused
    with stand_in(happectl.bus, "org.freedesktop.systemd1", objects):
        ran = happectl.run("restore", "--root", root)
    assert (ran.returncode, "Access denied; try sudo happectl restore" in ran.stderr) == (EX_NOPERM, True)


def test_check_prints_the_settings_in_force(happectl: HappeCtl, tmp_path: Path) -> None:
    file = tmp_path / "happe.toml"
    file.write_text('mode = "observe"\n[keys]\nperformance = "KEY_F23"\n')
    text = happectl.run("check", file)
    shown = json.loads(happectl.run("check", file, "--json").stdout)
    assert text.returncode == 0
    assert 'mode = "observe"\n' in text.stdout
    assert 'keys.performance = "KEY_F23"\n' in text.stdout
    assert shown["valid"] is True
    assert shown["settings"]["mode"] == "observe"
    assert happectl.run("check", ROOT / "packaging/happe.toml").returncode == 0


def test_check_names_each_mistake_with_its_line(happectl: HappeCtl, tmp_path: Path) -> None:
    file = tmp_path / "happe.toml"
    file.write_text('mode = "drive"\nnonsense = 1\n')
    text = happectl.run("check", file)
    shown = json.loads(happectl.run("check", file, "--json").stdout)
    assert (text.returncode, text.stdout) == (EX_DATAERR, "")
    assert [line.split(": ")[1] for line in text.stderr.splitlines()] == [f"{file}:1", f"{file}:2"]
    assert (shown["valid"], len(shown["errors"])) == (False, 2)
    piped = happectl.run("check", "-", stdin="mode = 1\n")
    assert piped.returncode == EX_DATAERR


SEALED = ["run", "--study", "paper-a3", "--run", "7ZK3M9QA"]


def test_what_is_no_regular_file_is_not_read(happectl: HappeCtl, tmp_path: Path) -> None:
    """To open a FIFO would wait for its writer. Standard input may be a pipe."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with happectl.daemon():
        for file in (fifo, Path("/dev/zero")):
            for arguments in (["check"], ["profiles", "import"], [*SEALED, "--out", "-", "--sealed"]):
                ran = happectl.run(*arguments, file)
                said = f"happectl: {file}: not a regular file; for standard input give -\n"
                assert (ran.returncode, ran.stderr) == (EX_DATAERR, said)
    assert happectl.run("check", "-", stdin="").returncode == 0
