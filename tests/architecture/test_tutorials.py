# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/tutorials: runs the commands of "Your first study" and of the reviewer's page in their order.

They run with an empty /var/lib, and in a network namespace, so they can use the page's ports. Here nobody plays:
ui/tests have a laptop with happed. The laptop owner's tutorial runs in the emulated T61
(tests/vm/guest_tests).
"""

import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from happe_cli.errors import INTERRUPTED
from patience import PATIENCE_S, until
from private_bus import there
from program import ROOT
from t61.tutorial import blocks

pytestmark = pytest.mark.slow

RESEARCHER, REVIEWER = (ROOT / f"docs/tutorials/{name}.md" for name in ("researcher", "reviewer"))
NAMESPACES = ["unshare", "--net", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
ENTER = ["nsenter", "--net", "--mount", *([] if os.geteuid() == 0 else ["--user", "--preserve-credentials"])]
# Loopback is up (ioctl SIOCSIFFLAGS), /var/lib is empty; then it waits.
HOLD = """
import fcntl, socket, struct, subprocess, sys
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 1 | 8))
subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/var/lib"], check=True)
print("ready", flush=True)
sys.stdin.read()
"""
PASSWORD = "a password of the tutorial"  # noqa: S105 - no secret
# The roles' questions come in this order: investigator, experimenter, analyst, custodian, auditor, reviewer.
ANSWERS = ["", "ada@example.org", PASSWORD, PASSWORD, "ana@example.org", "", "", "carl@example.org", "", ""]


class Terminal:
    """Runs commands in a folder that looks like the tree, in separate namespaces."""

    def __init__(self, folder: Path) -> None:
        """Make the namespaces, and the folder look like the tree."""
        self.folder = folder
        self._going_on: list[subprocess.Popen[bytes]] = []
        for path in ROOT.iterdir():
            if path.name != "try":  # left by a reader who followed the tutorial here
                (folder / path.name).symlink_to(path)
        (folder / "bin").mkdir()
        (folder / "bin/sudo").write_text('#!/bin/sh\nexec "$@"\n', encoding="utf-8")
        (folder / "bin/sudo").chmod(0o755)
        self._holder = subprocess.Popen(
            [*NAMESPACES, sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert there(self._holder.stdout).readline() == "ready\n"

    def _there(self, command: str) -> list[str]:
        place = f"--wdns={self.folder}"
        return [*ENTER, "--target", str(self._holder.pid), place, "setsid", "--wait", "sh", "-c", command]

    @property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}

    def run(self, command: str, *typed: str, status: int = 0) -> str:
        """Run a command that must end with this status; return its output."""
        ran = subprocess.run(
            self._there(command),
            input="".join(f"{line}\n" for line in typed),
            env=self._environment,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_S,
        )
        assert ran.returncode == status, f"{command}\n{ran.stdout}"
        return ran.stdout

    def start(self, command: str, log: Path) -> subprocess.Popen[bytes]:
        """Start a command that keeps running and prints into the log."""
        with log.open("wb") as file:
            process = subprocess.Popen(
                self._there(f"exec {command}"),
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        self._going_on.append(process)
        return process

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for process in self._going_on:
            if process.poll() is None:
                process.terminate()
            process.wait(PATIENCE_S)
        there(self._holder.stdin).close()
        self._holder.wait(PATIENCE_S)
        there(self._holder.stdout).close()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with Terminal(tmp_path) as made:
        yield made


def ready(log: Path, words: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a running program prints this."""
    until(lambda: words in log.read_text(encoding="utf-8") or process.poll() is not None, words)
    assert process.poll() is None, log.read_text(encoding="utf-8")


def ended(process: subprocess.Popen[bytes], by: signal.Signals, log: Path) -> None:
    """End a program as its reader does. It must succeed."""
    process.send_signal(by)
    assert process.wait(PATIENCE_S) == 0, log.read_text(encoding="utf-8")


def edited(protocol: str, checked: str) -> str:
    """Edit the protocol as section 2 says: one application, four participants, every placeholder filled in."""
    found = re.findall(r":\d+: (.+) must still be filled in$", checked, re.MULTILINE)
    assert len(found) > 5
    for words in found:
        protocol = re.sub(rf"\b{words}\b".replace(" ", r"\s+"), "Somebody", protocol, count=1)
    first, _second, *_more, last = protocol.split("[[application]]\n")
    application = 'key = "true"\nname = "Nothing"\ncommand = ["true"]\nseconds = 20\npractice_seconds = 20\ncpu = 0\n\n'
    rest = last[last.index("[consent]") :]
    return first.replace("participants = 24", "participants = 4") + "[[application]]\n" + application + rest


def enrolled(said: str) -> tuple[str, str]:
    """The name and the code of a device, as `device enrol` prints them."""
    found = re.search(r"is device (\S+)\. .* with the code\s+(\S+)\s*$", said)
    assert found, said
    return found[1], found[2]


def test_the_first_study_up_to_its_sittings_and_a_reviewers_account(terminal: Terminal, tmp_path: Path) -> None:
    # 1. Start a server
    [server] = blocks(RESEARCHER, "1. Start a server")
    make, init, run = server.splitlines()
    terminal.run(make)
    said = terminal.run(init, *ANSWERS)
    assert re.search(r"^  ana@example\.org  \S+  \(investigator\)$", said, re.MULTILINE), said
    assert re.search(r"^  carl@example\.org  \S+  \(custodian\)$", said, re.MULTILINE), said
    server_log, meter_log = tmp_path / "server.log", tmp_path / "meter.log"
    serving = terminal.start(run, server_log)
    ready(server_log, '"listens": ["http://127.0.0.1:8080"]', serving)

    # 2. Write a protocol
    begin, analysis, plan, create = blocks(RESEARCHER, "2. Write a protocol")
    copy, check = begin.splitlines()
    terminal.run(copy)
    file = tmp_path / "try/crossover.toml"
    file.write_text(edited(file.read_text(encoding="utf-8"), terminal.run(check)) + analysis, encoding="utf-8")
    assert tomllib.loads(file.read_text(encoding="utf-8"))["analysis"] == {"margin": 0.25}
    assert terminal.run(check) == "try/crossover.toml: the protocol of crossover is valid.\n"
    assert "participants" in terminal.run(plan)
    terminal.run(create)

    # A reviewer's account, from another page
    add, grant = blocks(REVIEWER, "1. Get an account")[0].splitlines()
    terminal.run(add, PASSWORD, PASSWORD)
    assert terminal.run(grant) == "rita@example.org is reviewer of crossover.\n"
    [token] = blocks(REVIEWER, "5. Take it with you")
    assert "must first sign in" in terminal.run(token, status=os.EX_DATAERR)

    # 3. Lock it
    [lock] = blocks(RESEARCHER, "3. Lock it")
    assert "commitment" in terminal.run(lock, "y")

    # 4. Enrol a laptop and a measuring host
    enrol, _laptop, meter = blocks(RESEARCHER, "4. Enrol a laptop and a measuring host")
    (laptop, _), (_, code) = (enrolled(terminal.run(command)) for command in enrol.splitlines())
    enrol_meter, source, record = meter.splitlines()
    terminal.run(enrol_meter.replace("CODE", code))
    terminal.run(source)
    recording = terminal.start(record.replace("DEVICE", laptop), meter_log)
    ready(meter_log, " W  10000/s  lost 0", recording)

    # 5. Run a sitting
    invite, status = blocks(RESEARCHER, "5. Run a sitting")
    assert "http://127.0.0.1:8080/p/" in terminal.run(invite)
    progress = terminal.run(status)
    assert re.search(r"^participants  1 invited$", progress, re.MULTILINE), progress
    assert re.search(r"bench, enrolled", progress), progress
    ended(recording, signal.SIGINT, meter_log)
    assert "uploaded, and sealed by the server" in meter_log.read_text(encoding="utf-8")

    # 6. Unblind, and make the report
    [unblind] = blocks(RESEARCHER, "6. Unblind, and make the report")
    refused = terminal.run(unblind, "not his password", "crossover", status=INTERRUPTED)  # it asks again
    assert "nothing was unblinded" in refused
    ended(serving, signal.SIGTERM, server_log)
