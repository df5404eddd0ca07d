# SPDX-License-Identifier: GPL-2.0-or-later
"""Upgrades 0.1.0's packages on a system of their own, and checks that today's programs read its data.

usage: live_through.py     as root in a Debian with /upgrade/old, /upgrade/new (packages) and /upgrade/study

At its end it prints a table of 0.1.0's data and today's. This system starts no services, so this script starts their
programs itself.
"""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import shutil
import sqlite3
import subprocess
import sys
import urllib.request
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patience import until

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path("/upgrade")
STUDY = HERE / "study"
DATA = Path("/var/lib/happe-server")
PROFILES = Path("/var/lib/happe/profiles.db")
SPOOL = Path("/var/lib/happe-power/spool")
KEYS = ["--performance", "KEY_F14", "--power", "KEY_F13"]
FACTS: dict[str, Any] = json.loads((STUDY / "facts.json").read_text())
PACKAGES = [
    "happe", "happe-governor", "happe-indicator", "happe-power-logger", "happe-python3", "happe-study-server",
]  # fmt: skip
UNITS = ["happed.service", "happed-keys.socket", "happe-server.service"]
HAPPE_TOML, SERVER_TOML, POWER_TOML = OWNERS = [
    Path("/etc/happe") / name for name in ("happe.toml", "server.toml", "happe-power.toml")
]
TABLE: list[tuple[str, str, str]] = []
COLUMNS = ", ".join(f"khz_{level}" for level in range(10))


def run(*command: str | Path, status: int = 0, typed: str = "") -> str:
    """Run a command that must end with this status. Return its standard output."""
    print("$", *command, flush=True)
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True, input=typed)
    if done.returncode != status:
        sys.exit(f"upgrade: {command[0]} ended with {done.returncode}, not {status}: {done.stdout}")
    return done.stdout


def check(holds: object, what: str) -> None:
    """End with a message if `holds` is false."""
    if not holds:
        sys.exit(f"upgrade: {what}: no")
    print("ok:", what, flush=True)


def row(what: str, old: object, new: object) -> None:
    """Add a row to the table at the end."""
    TABLE.append((what, str(old), str(new)))


def install(folder: str) -> None:
    """Install those packages of a folder that 0.1.0 has too, with their dependencies."""
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    debs = sorted(each for name in PACKAGES for each in (HERE / folder).glob(f"{name}_*.deb"))
    run("apt-get", "-q", "-y", "--no-install-recommends", "install", *debs)


def learn(app: str, keys: str) -> None:
    """Type keys into `happe-sim observe`, which learns into the governor's database."""
    observe = ["happe-sim", "observe", "--database", str(PROFILES), "--user", "ana", "--app", app]
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(observe[0], observe)  # noqa: S606 - no shell
    for key in f"{keys}q":
        for _ in range(2):  # two periods of a second: presses within one second are one press
            while b"\n" not in os.read(terminal, 4096):
                pass
        os.write(terminal, key.encode())
    with suppress(OSError):  # the terminal's end
        while os.read(terminal, 4096):
            pass
    check(os.waitpid(child, 0)[1] == 0, f"happe-sim observe learned {app} from {keys}")


def profiles() -> tuple[list[Any], int]:
    """Return the database's profiles in order, and its number of lessons."""
    with closing(sqlite3.connect(PROFILES)) as database:
        rows = database.execute(f"SELECT user, app, {COLUMNS} FROM uafp ORDER BY user, app").fetchall()  # noqa: S608
        return rows, database.execute("SELECT count(*) FROM learning_event").fetchone()[0]


@contextmanager
def at_work(*command: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program until the end of the block."""
    print("$", *command, "&", flush=True)
    with subprocess.Popen(command) as child:
        try:
            yield child
        finally:
            child.terminate()


def succeeds(*command: str) -> bool:
    """Say whether a command succeeds."""
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def happed_serves() -> dict[str, Any]:
    """Start happed on a system bus. Return its client's report."""
    Path("/run/dbus").mkdir(exist_ok=True)
    Path("/run/dbus/pid").unlink(missing_ok=True)
    with at_work("dbus-daemon", "--system", "--nofork", "--nopidfile"):
        until(lambda: succeeds("busctl", "list"), "the bus")
        with at_work("happed") as happed:
            until(lambda: happed.poll() is not None or succeeds("happectl", "status"), "happed")
            check(happed.poll() is None, "happed starts and answers happectl")
            status: dict[str, Any] = json.loads(run("happectl", "status", "--json"))
    return status


def answers() -> bool:
    """Say whether the server answers."""
    with suppress(OSError), urllib.request.urlopen("http://127.0.0.1:8080/healthz", timeout=5):
        return True
    return False


def server_serves() -> None:
    """Start the server as its unit does, and wait until it answers."""
    with at_work("runuser", "-u", "happe-server", "--", "happe-server", "run") as server:
        until(lambda: server.poll() is not None or answers(), "the server's answer")
        check(server.poll() is None, "happe-server starts and answers")


def units() -> str:
    """Return which units are enabled."""
    command = ["systemctl", "--root=/", "is-enabled", *UNITS]
    return " ".join(subprocess.run(command, check=False, capture_output=True, text=True).stdout.split())


def owners_choices() -> None:
    """Change the three configuration files as their owners do. Today's programs lack two of these settings."""
    text = HAPPE_TOML.read_text()
    for default, chosen in (
        ('#mode = "paper"', 'mode = "extended"'),
        ("#hysteresis_ppm = 0", "hysteresis_ppm = 2000"),
        ("#fixed_point = false", "fixed_point = true"),
    ):
        check(default in text, f"0.1.0's configuration offers {default}")
        text = text.replace(default, f"# my choice\n{chosen}")
    HAPPE_TOML.write_text(text)
    SERVER_TOML.write_text("# my choice\nstop_seconds = 20\n" + SERVER_TOML.read_text())
    POWER_TOML.write_text('# my choice\nkeep = "until-sealed"\n')


def server_data() -> None:
    """Put the study of 0.1.0 into the server's place, with its configuration."""
    password = HERE / "password"
    password.write_text("one that nobody would guess, 4711\n")
    run("happe-server", "init", "--administrator", "ana@example.org", "--password-file", password)
    for old in DATA.iterdir():
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    shutil.copytree(STUDY / "data", DATA, dirs_exist_ok=True)
    run("chown", "-R", "happe-server:", DATA)


def before() -> None:
    """Use 0.1.0 as its owner, researcher and measuring host do."""
    install("old")
    check("0.1.0" in run("happectl", "--version"), "happectl is 0.1.0")
    run("happectl", "setup", "--yes", "--mode", "observe", *KEYS)
    PROFILES.parent.mkdir(mode=0o700, exist_ok=True)
    learn("torcs", "fffsf")
    learn("editor", "ff")
    server_data()
    owners_choices()
    run("happectl", "check")
    check(run("happe-server", "audit", "verify"), "0.1.0 reads the study")
    record = ["record", "--source", "sim,rate=1000", "--study", "try-out", "--no-upload", "--duration", "3s"]
    run("happe-power", *record, "--spool", SPOOL)
    happed_serves()
    server_serves()


def upgrade() -> None:
    """Install today's packages over 0.1.0. Configurations and the units' states must stay as they were."""
    known, enabled = profiles(), units()
    written = [file.read_bytes() for file in OWNERS]
    revision = revision_of_server()
    check(len(known[0]) == 2 and known[1] >= 5, f"0.1.0 learned: {known}")  # noqa: PLR2004 - two applications, seven presses
    install("new")
    check("0.2.0" in run("happectl", "--version"), "happectl is 0.2.0")
    check([file.read_bytes() for file in OWNERS] == written, "the configuration files are as their owners left them")
    row("configuration files, as their owners changed them", len(written), "the same, byte for byte")
    check(units() == enabled, f"the units are enabled or not as before: {enabled}")
    row(f"{', '.join(UNITS)}", enabled, units())
    newest = revision_of_server()
    check(newest != revision, f"the upgrade took the server's database from {revision} to {newest}")
    row("revision of the server's database", revision, newest)
    governor(known)


def revision_of_server() -> str:
    """Return the revision of the server's database."""
    with closing(sqlite3.connect(DATA / "server.db")) as database:
        return str(database.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def governor(known: tuple[list[Any], int]) -> None:
    """Start happed with the old configuration. It must have the old profiles and learn on."""
    checked = subprocess.run(["happectl", "check"], check=True, capture_output=True, text=True)
    check(checked.stderr.count("no longer has this option") == 2, f"happectl check names both: {checked.stderr}")  # noqa: PLR2004 - owners_choices()
    row("happed with hysteresis_ppm and fixed_point", "starts", f"starts, {happed_serves()['state']}; warns of both")
    run("happe-sim", "observe", "--database", PROFILES, "--user", "ana", "--app", "torcs", "--seconds", "1")
    check(
        profiles() == known,
        f"today's program reads {len(known[0])} profiles and {known[1]} lessons of 0.1.0, all as before",
    )
    learn("torcs", "sf")
    rows, lessons = profiles()
    check(len(rows) == len(known[0]) and lessons > known[1], "and adds lessons to them")
    row("profiles", len(known[0]), f"{len(rows)}, the same")
    row("lessons", known[1], f"the same, and {lessons - known[1]} new ones")
    with closing(sqlite3.connect(PROFILES)) as database:
        check(database.execute("PRAGMA integrity_check").fetchone() == ("ok",), "the database is sound")


def entries(verified: str) -> int:
    """Return how many entries `audit verify` finds in the log."""
    return int(re.findall(r"\d+", verified.replace(",", ""))[0])


def tables(folder: Path) -> dict[str, list[dict[str, str]]]:
    """Return the tables of an export that have rows, without the dictionary, which describes them."""
    files = [file for file in sorted(folder.glob("*.csv")) if not file.name.endswith("-dictionary.csv")]
    found = {file.name: list(csv.DictReader(file.open(newline=""))) for file in files}
    return {name: records for name, records in found.items() if records}


def study() -> None:
    """Continue the study. It must have lost nothing and verify, and the custodian must be able to unblind it."""
    name = FACTS["study"]
    check(list(DATA.glob("before-*.db")), "the upgrade kept a copy of the database")
    status, was = json.loads(run("happe-server", "study", "status", name, "--json")), FACTS["status"]
    for what in ("state", "slots", "participants", "runs"):
        check(status.get(what) == was.get(what), f"{what} of the study: {was.get(what)}")
    row("the study", f"{was.get('state')}, {was.get('runs')}", "the same")
    then, now = entries(FACTS["audit"]), entries(run("happe-server", "audit", "verify"))
    check(now >= then, "the audit log verifies")
    row("entries of the audit log", then, f"{now}, and the chain verifies")
    (HERE / "export").mkdir()
    run("chown", "happe-server:", HERE / "export")  # the server's commands run as its user
    run("happe-server", "study", "export", name, "--out", HERE / "export")
    new = tables(HERE / "export")
    for table, records in tables(STUDY / "export").items():
        columns = records[0].keys() & new[table][0].keys()
        check(columns == records[0].keys(), f"{table} has all its columns")
        old_rows, new_rows = (sorted([each[c] for c in sorted(columns)] for each in of) for of in (records, new[table]))
        check(new_rows == old_rows, f"{table} has its {len(records)} rows as they were")
        row(f"export: {table}", f"{len(records)} rows", f"the same {len(new_rows)}")
    print(run("happe-server", "check"))
    server_serves()
    password = HERE / "custodian"
    password.write_text(FACTS["password"] + "\n")
    unblind = ["study", "unblind", name, "--custodian", FACTS["custodian"], "--reason", "the upgrade's test"]
    told = run("happe-server", *unblind, "--password-file", password, "--json", typed=f"{name}\n")
    check(json.loads(told[told.index("{") :])["agrees"], "the custodian of 0.1.0 unblinds it, and every seal agrees")
    row("unblinding", "blinded", "the custodian unblinds it; every seal agrees")


def logger() -> None:
    """Check that the recording of 0.1.0 is whole."""
    run("happe-power", "verify", *SPOOL.glob("*/*"))
    check("try-out" in run("happe-power", "status", "--spool", SPOOL), "happe-power lists the recording of 0.1.0")
    row("recordings of happe-power", len(list(SPOOL.glob("*/*"))), "the same, and they verify")


def leave() -> None:
    """Check that a removal keeps the data and the configuration, and that a purge deletes both."""
    run("apt-get", "-q", "-y", "remove", *PACKAGES)
    kept = [PROFILES, DATA / "server.db", SPOOL, *OWNERS]
    check(all(each.exists() for each in kept), "removal keeps profiles, study, recording and configuration")
    check(not Path("/usr/sbin/happed").exists(), "the programs are gone")
    row("after removal", "", "data and configuration stay, programs are gone")
    run("dpkg", "--purge", *PACKAGES)
    places = [Path("/etc/happe"), *Path("/var/lib").glob("happe*"), *Path("/etc/systemd/system").rglob("happe*")]
    left = [str(each) for each in places if each.exists() or each.is_symlink()]
    check(not left, f"purge leaves nothing: {left}")
    row("after purge", "", "nothing is left")


def main() -> None:
    """Run all steps."""
    before()
    upgrade()
    study()
    logger()
    leave()
    widths = [max(len(each[column]) for each in TABLE) for column in range(2)]
    print("\nwhat, with 0.1.0, with today's packages")
    for what, old, new in TABLE:
        print(f"{what:{widths[0]}}  {old:{widths[1]}}  {new}")
    print("upgrade: nothing of 0.1.0 is lost")


if __name__ == "__main__":
    main()
