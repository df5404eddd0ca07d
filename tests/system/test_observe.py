# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-sim observe`: the loop on this machine's real /proc/stat."""

import contextlib
import json
import os
import pty
import select
import signal
import sqlite3
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from patience import PATIENCE_S
from program import HappeSim

pytestmark = pytest.mark.slow

EX_USAGE, EX_NOINPUT, EX_CANTCREAT, EX_IOERR = 64, 66, 73, 74


@contextlib.contextmanager
def busy() -> Iterator[None]:
    """Keep one CPU busy, so that there is something to observe."""
    with subprocess.Popen(["/usr/bin/python3", "-c", "while True: pass"]) as process:
        try:
            yield
        finally:
            process.kill()


def test_what_it_records_replays_to_what_it_decided(happe_sim: HappeSim, tmp_path: Path) -> None:
    trace = tmp_path / "run.jsonl"
    with busy():
        ran = happe_sim.run("observe", "--seconds", "4", "--json", "--record", str(trace), "--app", "torcs", stdin=b"f")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert len(ran.stdout.splitlines()) == 4
    assert happe_sim.run("replay", str(trace)).stdout == ran.stdout
    first = json.loads(ran.stdout.splitlines()[0])
    assert first["learned"]["app"] == "torcs"
    assert first["targets"] == [{"policy": 0, "khz": 1_200_000}]
    utilisation = [json.loads(line)["policies"][0]["util_ppm"] for line in trace.read_text().splitlines()[1:]]
    assert len(utilisation[0]) == os.cpu_count()
    assert max(max(cpus) for cpus in utilisation) > 500_000, "a CPU was kept busy"


def test_it_learns_into_a_database_and_goes_on_from_there(happe_sim: HappeSim, tmp_path: Path) -> None:
    database = tmp_path / "profiles.db"
    arguments = (
        "observe",
        "--seconds",
        "1",
        "--json",
        "--database",
        str(database),
        "--user",
        "alice",
        "--app",
        "glest",
    )
    first = json.loads(happe_sim.run(*arguments, stdin=b"+").stdout)
    with contextlib.closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT count(*) FROM learning_event").fetchone() == (1,)
        assert connection.execute("SELECT user, app FROM uafp").fetchone() == ("alice", "glest")
    trace = tmp_path / "second.jsonl"
    happe_sim.run(*arguments, "--record", str(trace))
    header = json.loads(trace.read_text().splitlines()[0])
    assert header["uafp"] == [{"user": "alice", "app": "glest", "khz": first["learned"]["uafp_khz"]}]


def read_until(terminal: int, wanted: bytes) -> bytes:
    """Return the terminal's output up to `wanted`, with it."""
    shown = b""
    end = time.monotonic() + PATIENCE_S
    while wanted not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 1.0)[0]:
            shown += os.read(terminal, 4096)
    assert wanted in shown, shown
    return shown


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """A terminal's two ends. At the end the terminal must be as it was before."""
    master, slave = pty.openpty()
    found = termios.tcgetattr(slave)
    yield master, slave
    assert termios.tcgetattr(slave) == found
    os.close(master)
    os.close(slave)


@pytest.mark.parametrize("leave", ["q", "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_keys_work_at_a_terminal_which_is_put_back(happe_sim: HappeSim, terminal: tuple[int, int], leave: str) -> None:
    master, slave = terminal
    found = termios.tcgetattr(slave)
    with subprocess.Popen([happe_sim.program, "observe"], stdin=slave, stdout=slave, stderr=slave) as process:
        read_until(master, b"q quit")
        read_until(master, b"GHz")
        assert termios.tcgetattr(slave) != found, "single keys are read"
        os.write(master, b"f")
        read_until(master, b"faster: level")
        os.write(master, b"s")
        read_until(master, b"save power: level")
        if leave == "q":
            os.write(master, b"q")
        else:
            process.send_signal(signal.Signals[leave])
        assert process.wait(PATIENCE_S) == 0


def test_stopping_puts_the_terminal_back_until_it_goes_on(happe_sim: HappeSim, terminal: tuple[int, int]) -> None:
    master, slave = terminal
    found = termios.tcgetattr(slave)
    with subprocess.Popen([happe_sim.program, "observe"], stdin=slave, stdout=slave, stderr=slave) as process:
        read_until(master, b"GHz")
        process.send_signal(signal.SIGTSTP)
        assert os.waitpid(process.pid, os.WUNTRACED)[1] & 0xFF == 0x7F, "it is stopped"
        assert termios.tcgetattr(slave) == found
        process.send_signal(signal.SIGCONT)
        os.write(master, b"f")
        read_until(master, b"faster: level")  # a line that the simulator cannot have printed before it stopped
        assert termios.tcgetattr(slave) != found
        os.write(master, b"q")
        assert process.wait(PATIENCE_S) == 0


BAD_ARGUMENTS = [
    (["--stat", "/nonexistent"], EX_NOINPUT, b"/nonexistent"),
    (["--record", "/nonexistent/run.jsonl"], EX_CANTCREAT, b"/nonexistent/run.jsonl"),
    (["--database", "/nonexistent/p.db"], EX_CANTCREAT, b"/nonexistent"),
    (["--seconds", "0"], EX_USAGE, b"--seconds"),
    (["--user", ""], EX_USAGE, b"--user"),
    (["--app", "a" * 256], EX_USAGE, b"--app"),
    (["--app", os.fsdecode(b"a\xff")], EX_USAGE, b"must be UTF-8"),
    (["--record", "-", "--json"], EX_USAGE, b"--record"),
]


@pytest.mark.parametrize(("arguments", "status", "message"), BAD_ARGUMENTS, ids=[b[0][0] for b in BAD_ARGUMENTS])
def test_bad_arguments_are_refused(happe_sim: HappeSim, arguments: list[str], status: int, message: bytes) -> None:
    ran = happe_sim.run("observe", "--seconds", "1", *arguments)
    assert (ran.returncode, ran.stdout) == (status, b"")
    assert message in ran.stderr
