# SPDX-License-Identifier: GPL-2.0-or-later
"""happectl's commands that last: status --watch, events --follow, hold, run."""

import base64
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from dataclasses import replace
from os import EX_CANTCREAT, EX_DATAERR, EX_IOERR, EX_NOINPUT, EX_NOPERM, EX_UNAVAILABLE
from pathlib import Path

import pytest

from happed_stand_in import OBJECT, HappeCtl, denied, error
from happed_wire import Peer
from patience import PATIENCE_S, until
from private_bus import start_bus, there

pytestmark = pytest.mark.slow

LESSON = [7, 1_773_458_040_000_123, "performance", 0, 3, 800_000, 1_200_000, 800_000, 970_000, 0]
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?7h\x1b[?25h\x1b[?1049l"
TRACE = '{"format":"happe-trace/1"}\n' * 10_000


class Terminal:
    """A terminal of this many columns, and what programs show there."""

    def __init__(self, columns: int) -> None:
        """Open it."""
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.found = termios.tcgetattr(self.slave)
        self.shown = b""

    def until(self, wanted: bytes) -> None:
        """Read until the terminal shows this in new output."""
        fresh = b""
        end = time.monotonic() + PATIENCE_S
        while wanted not in fresh and time.monotonic() < end:
            if select.select([self.master], [], [], 1.0)[0]:
                fresh += os.read(self.master, 65_536)
        self.shown += fresh
        assert wanted in fresh, fresh

    def as_found(self) -> bool:
        """Return whether the program left the second screen, showed the cursor again, and changed nothing else."""
        return self.shown.rstrip().endswith(LEAVE) and termios.tcgetattr(self.slave) == self.found

    def close(self) -> None:
        """Close both ends."""
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """A terminal of 80 columns."""
    there = Terminal(80)
    yield there
    there.close()


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_watch_draws_anew_when_something_changes_and_leaves_the_terminal_as_found(
    happectl: HappeCtl, terminal: Terminal, ending: signal.Signals
) -> None:
    with happectl.daemon() as daemon, happectl.start("status", "--watch", stdout=terminal.slave) as process:
        terminal.until(b"alice, torcs")
        daemon.tell("set", OBJECT, "org.happe.Governor1", "Application", "glest")
        terminal.until(b"alice, glest")
        process.send_signal(ending)
        terminal.until(LEAVE)
        assert process.wait(PATIENCE_S) == 0
    assert terminal.as_found()


def test_watch_asks_for_the_last_period_each_second(happectl: HappeCtl, terminal: Terminal) -> None:
    with happectl.daemon() as daemon, happectl.start("status", "--watch", stdout=terminal.slave) as process:
        terminal.until(b"97 %")
        daemon.tell("set", OBJECT, "org.happe.Governor1", "Sample", [[0, 2_200_000, 100_000, 0]])
        terminal.until(b"10 %")
        process.terminate()
        terminal.until(LEAVE)


@pytest.mark.parametrize("columns", [1, 8, 30, 60])
def test_watch_fits_a_narrow_terminal(happectl: HappeCtl, columns: int) -> None:
    terminal = Terminal(columns)
    wide = {"User": "\u4e16\u754c" * 40}
    with happectl.daemon(wide), happectl.start("status", "--watch", stdout=terminal.slave) as process:
        terminal.until(b"\x1b[J")
        process.terminate()
        terminal.until(LEAVE)
    picture = terminal.shown.split(b"\x1b[H")[1].split(b"\x1b[J")[0].decode()
    lines = picture.replace("\x1b[K", "").split("\r\n")
    widths = [len(line) + len(re.findall("[\u4e16\u754c]", line)) for line in lines]
    assert max(widths) <= columns
    terminal.close()


def test_watch_leaves_the_screen_while_it_is_stopped(happectl: HappeCtl, terminal: Terminal) -> None:
    with happectl.daemon(), happectl.start("status", "--watch", stdout=terminal.slave) as process:
        terminal.until(b"\x1b[J")
        process.send_signal(signal.SIGTSTP)
        assert os.waitpid(process.pid, os.WUNTRACED)[1] & 0xFF == 0x7F
        terminal.until(LEAVE)
        process.send_signal(signal.SIGCONT)
        terminal.until(ENTER)
        process.terminate()
        terminal.until(LEAVE)
        assert process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("what", ["happed", "bus"])
def test_watch_ends_when_happed_or_the_bus_goes(happectl: HappeCtl, terminal: Terminal, what: str) -> None:
    with (
        happectl.daemon() as daemon,
        happectl.start("status", "--watch", stdout=terminal.slave) as process,
    ):
        terminal.until(b"alice, torcs")
        if what == "happed":
            daemon.vanish()
        else:
            happectl.bus.stop()
        terminal.until(LEAVE)
        _, complaint = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, "happed" in complaint) == (EX_UNAVAILABLE, True)
    assert terminal.as_found()


def test_watch_into_a_pipe_is_a_line_each_second(happectl: HappeCtl) -> None:
    began = time.monotonic()
    with happectl.daemon(), happectl.start("status", "--watch") as process:
        assert process.stdout
        lines = [process.stdout.readline() for _ in range(3)]
        assert time.monotonic() - began >= 1.5
        process.terminate()
    line = "governing (setspeed)  alice, torcs  policy 0: 0.8 GHz, 97 %, level 3, decided 1.2 GHz\n"
    assert lines == [line] * 3


def test_watch_as_json_is_an_object_each_second(happectl: HappeCtl) -> None:
    with happectl.daemon(), happectl.start("status", "--watch", "--json") as process:
        assert process.stdout
        states = [json.loads(process.stdout.readline())["state"] for _ in range(2)]
        process.stdout.close()
        assert process.wait(PATIENCE_S) == EX_IOERR, "a reader that leaves ends it"
    assert states == ["governing", "governing"]


def test_events_are_followed(happectl: HappeCtl) -> None:
    with (
        happectl.daemon(ListEvents=[[LESSON]]) as daemon,
        happectl.start("events", "torcs", "--follow", "--json") as process,
    ):
        assert process.stdout
        assert json.loads(process.stdout.readline())["number"] == 7
        daemon.tell("answer", OBJECT, "ListEvents", [[[8, *LESSON[1:]]]])
        daemon.tell("signal", OBJECT, "org.happe.Governor1", "KeyCounted", "(s)", ["performance"])
        assert json.loads(process.stdout.readline())["number"] == 8
        daemon.until("call", "ListEvents")
        process.terminate()
        assert process.wait(PATIENCE_S) == 0


def test_hold_lasts_as_long_as_the_command_and_ends_as_it(happectl: HappeCtl) -> None:
    with happectl.daemon(Hold=[1]) as daemon:
        ran = happectl.run("hold", "--reason", "measuring", "--", "sh", "-c", 'cat; echo "$1"; exit 3', "sh", "--json")
        assert (ran.returncode, ran.stdout, ran.stderr) == (3, "--json\n", "")
        killed = happectl.run("hold", "--", "sh", "-c", "kill -9 $$")
        assert killed.returncode == 128 + signal.SIGKILL
        assert daemon.calls() == [("Hold", ["sh", "measuring"]), ("Hold", ["sh", ""])]


def test_hold_runs_nothing_where_it_may_not_hold(happectl: HappeCtl, tmp_path: Path) -> None:
    with happectl.daemon(Hold=denied("not at the machine")):
        ran = happectl.run("hold", "--", "touch", tmp_path / "made")
    assert (ran.returncode, list(tmp_path.iterdir())) == (EX_NOPERM, [])


def test_hold_without_a_command_lasts_until_a_signal(happectl: HappeCtl) -> None:
    with happectl.daemon(Hold=[1]) as daemon, happectl.start("hold") as process:
        daemon.until("call", "Hold")
        process.send_signal(signal.SIGINT)
        _, remark = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, remark) == (0, "happectl: HAPPE steps aside until Ctrl-C\n")


def test_hold_passes_a_signal_to_the_command(happectl: HappeCtl) -> None:
    script = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.1; done"
    with happectl.daemon(Hold=[1]), happectl.start("hold", "--", "sh", "-c", script) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.wait(PATIENCE_S) == 5


def test_a_key_reaches_the_command_once(happectl: HappeCtl, terminal: Terminal, tmp_path: Path) -> None:
    """Ctrl-C sends a signal to all programs in the foreground, so happectl sends none of its own."""
    log = tmp_path / "log"
    script = f"trap 'echo int >>{log}' INT; echo ready; until [ -s {log} ]; do sleep 0.1; done; "
    script += "i=0; while [ $i -lt 8 ]; do sleep 0.1; i=$((i+1)); done; exit 6"  # a second signal would come meanwhile
    foreground: list[str | Path] = ["setsid", "--ctty", "--wait", happectl.program, "hold", "--", "sh", "-c", script]
    environment = happectl.bus.environment()
    with (
        happectl.daemon(Hold=[1]),
        subprocess.Popen(foreground, env=environment, stdin=terminal.slave, stdout=terminal.slave) as process,
    ):
        terminal.until(b"ready")
        os.write(terminal.master, b"\x03")
        assert process.wait(PATIENCE_S) == 6
    assert log.read_text() == "int\n"


def test_a_hold_lost_with_happed_is_taken_again_and_the_command_goes_on(happectl: HappeCtl) -> None:
    holding = ["hold", "--", "sh", "-c", "echo held; cat"]
    with happectl.daemon(Hold=[1]) as daemon, happectl.start(*holding, stdin=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        daemon.vanish()
        with happectl.daemon(Hold=[1]) as again:
            again.until("call", "Hold")
            out, remark = process.communicate("still here", timeout=PATIENCE_S)
    assert (process.returncode, out) == (0, "still here")
    assert "happed ended, and the hold with it" in remark


@pytest.mark.parametrize("first", ["happectl", "happed"])
def test_a_hold_lost_with_the_bus_is_taken_again(happectl: HappeCtl, first: str) -> None:
    address = happectl.bus.address.partition(",guid=")[0]  # the bus may start again
    happectl = replace(happectl, bus=replace(happectl.bus, address=address))
    command = ["hold", "--", "sh", "-c", "echo held; exec cat"]
    with happectl.daemon(Hold=[1]), happectl.start(*command, stdin=subprocess.PIPE) as process:
        assert there(process.stdout).readline() == "held\n"  # it has happed's answer, which the bus could still lose
        process.send_signal(signal.SIGSTOP)
        happectl.bus.stop()
        (happectl.bus.folder / "bus").unlink()
        bus = start_bus(happectl.bus.folder)
        try:
            with contextlib.ExitStack() as stack:
                if first == "happed":
                    again = stack.enter_context(happectl.daemon(Hold=[1]))
                process.send_signal(signal.SIGCONT)
                if first == "happectl":
                    watching = Peer.connect(address)
                    until(lambda: len([name for name in watching.bus("ListNames") if name[0] == ":"]) > 1)
                    watching.close()
                    again = stack.enter_context(happectl.daemon(Hold=[1]))
                again.until("call", "Hold")
                out, remark = process.communicate("still here", timeout=PATIENCE_S)
        finally:
            bus.stop()
    assert (process.returncode, out) == (0, "still here")
    assert remark.count("happed ended, and the hold with it") == 1
    assert "could not begin again" not in remark


PLAN = ["run", "--condition", "O-HAPPE", "--subject", "P07", "--application", "torcs"]


@pytest.fixture
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace as happed keeps it."""
    file = tmp_path_factory.mktemp("happed") / "trace.jsonl"
    file.write_text(TRACE)
    return file


def test_a_run_saves_its_trace_and_ends_as_the_command(happectl: HappeCtl, tmp_path: Path, left: Path) -> None:
    out = tmp_path / "p07.jsonl"
    tunables = ["--sampling-rate-us", "20000", "--up-threshold", "80", "--blind"]
    with happectl.daemon(StartRun=["4f2a"], StopRun={"descriptor": str(left)}) as daemon:
        ran = happectl.run(*PLAN, *tunables, "--out", out, "--", "sh", "-c", "echo playing; exit 4")
        assert (ran.returncode, ran.stdout) == (4, "playing\n")
        what = {
            "condition": "O-HAPPE",
            "subject": "P07",
            "application": "torcs",
            "sampling_rate_us": 20_000,
            "up_threshold": 80,
            "blind": True,
        }
        assert daemon.calls() == [("StartRun", [what]), ("StopRun", ["4f2a"])]
    assert f"run 4f2a: {out} ({len(TRACE)} bytes)" in ran.stderr
    assert out.read_text() == TRACE
    assert list(tmp_path.iterdir()) == [out]


def test_a_run_ends_when_its_time_is_up(happectl: HappeCtl, tmp_path: Path, left: Path) -> None:
    out = tmp_path / "p07.jsonl"
    with happectl.daemon(StartRun=["4f2a"], StopRun={"descriptor": str(left)}):
        began = time.monotonic()
        ran = happectl.run(*PLAN, "--out", out, "--seconds", "1", "--json")
        assert 1.0 <= time.monotonic() - began < 10
        assert (ran.returncode, json.loads(ran.stdout)) == (0, {"run": "4f2a", "trace": str(out), "bytes": len(TRACE)})
        ran = happectl.run(*PLAN, "--out", out, "--seconds", "1", "--", "sleep", "600")
    assert (ran.returncode, out.read_text()) == (0, TRACE)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_ended_early_saves_its_trace(
    happectl: HappeCtl, tmp_path: Path, left: Path, ending: signal.Signals
) -> None:
    with (
        happectl.daemon(StartRun=["4f2a"], StopRun={"descriptor": str(left)}) as daemon,
        happectl.start(*PLAN, "--out", tmp_path / "t.jsonl") as process,
    ):
        daemon.until("call", "StartRun")
        process.send_signal(ending)
        assert process.wait(PATIENCE_S) == 0
    assert (tmp_path / "t.jsonl").read_text() == TRACE


def test_a_run_shows_how_long_it_lasts_on_a_terminal(happectl: HappeCtl, terminal: Terminal, left: Path) -> None:
    with (
        happectl.daemon(StartRun=["4f2a"], StopRun={"descriptor": str(left)}),
        happectl.start(*PLAN, "--out", "-", "--seconds", "2", stderr=terminal.slave) as process,
    ):
        terminal.until(b"run 4f2a: 1 of 2 s")
        assert process.communicate(timeout=PATIENCE_S)[0] == TRACE


def test_a_run_without_a_place_for_its_trace_is_not_begun(happectl: HappeCtl) -> None:
    with happectl.daemon(StartRun=["4f2a"]) as daemon:
        ran = happectl.run(*PLAN, "--out", "/nonexistent/t.jsonl", "--", "true")
        assert (ran.returncode, daemon.calls()) == (EX_CANTCREAT, [])


def test_a_trace_that_does_not_fit_is_kept_elsewhere(happectl: HappeCtl, left: Path) -> None:
    rescued = Path(f"/var/tmp/happe-test-{os.getpid()}.jsonl")  # noqa: S108 - happectl rescues a trace to there
    with happectl.daemon(StartRun=[f"test-{os.getpid()}"], StopRun={"descriptor": str(left)}):
        ran = happectl.run(*PLAN, "--out", "/dev/full", "--", "true")
    assert ran.returncode == EX_IOERR
    assert f"/dev/full: cannot write: No space left on device; the trace is in {rescued}" in ran.stderr
    assert rescued.read_text() == TRACE
    rescued.unlink()


def test_a_command_that_cannot_be_run_ends_the_run(happectl: HappeCtl, tmp_path: Path, left: Path) -> None:
    with happectl.daemon(StartRun=["4f2a"], StopRun={"descriptor": str(left)}) as daemon:
        ran = happectl.run(*PLAN, "--out", tmp_path / "t.jsonl", "--", "/nonexistent")
        assert [call for call, _ in daemon.calls()] == ["StartRun", "StopRun"]
    assert (ran.returncode, "/nonexistent: cannot run" in ran.stderr) == (127, True)


@pytest.mark.parametrize("command", [[], ["--", "cat"]])
def test_a_run_whose_happed_goes_says_how_to_fetch_the_trace(
    happectl: HappeCtl, tmp_path: Path, left: Path, command: list[str]
) -> None:
    out = tmp_path / "t.jsonl"
    with (
        happectl.daemon(StartRun=["4f2a"]) as daemon,
        happectl.start(*PLAN, "--out", out, *command, stdin=subprocess.PIPE) as process,
    ):
        daemon.until("call", "StartRun")
        daemon.vanish()
        _, complaint = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == EX_UNAVAILABLE
    assert "happectl run fetch 4f2a --out FILE" in complaint
    assert list(tmp_path.iterdir()) == []
    with happectl.daemon(StopRun={"descriptor": str(left)}) as daemon:
        assert happectl.run("run", "fetch", "4f2a", "--out", out).returncode == 0
        assert daemon.calls() == [("StopRun", ["4f2a"])]
    assert out.read_text() == TRACE


SEALED = ["run", "--sealed", "-", "--study", "paper-a3", "--run", "7ZK3M9QA"]


def test_a_sealed_run_is_described_by_its_seal_alone(happectl: HappeCtl, tmp_path: Path, left: Path) -> None:
    """The seal is in base64, as the server sends it."""
    box = bytes(range(256)) * 2
    out = tmp_path / "t.jsonl"
    with happectl.daemon(StartRun=["4f2a"], StopRun={"descriptor": str(left)}) as daemon:
        ran = happectl.run(*SEALED, "--out", out, "--seconds", "1", stdin=base64.b64encode(box).decode() + "\n")
        what = {"sealed": list(box), "study": "paper-a3", "run": "7ZK3M9QA"}
        assert (ran.returncode, daemon.calls()) == (0, [("StartRun", [what]), ("StopRun", ["4f2a"])])
    assert out.read_text() == TRACE


@pytest.mark.parametrize("text", ["", "?", '{"sealed":"AAEC"}'])
def test_what_is_no_seal_begins_no_run(happectl: HappeCtl, tmp_path: Path, text: str) -> None:
    with happectl.daemon(StartRun=["4f2a"]) as daemon:
        ran = happectl.run(*SEALED, "--out", tmp_path / "t.jsonl", stdin=text)
        assert (ran.returncode, ran.stderr, daemon.calls()) == (EX_DATAERR, "happectl: -: not base64\n", [])
    assert list(tmp_path.iterdir()) == []


def test_the_facts_of_a_run_are_printed_as_they_come(happectl: HappeCtl) -> None:
    with happectl.daemon(RunFacts=['{"indicator":true}']) as daemon:
        ran = happectl.run("run", "facts", "4f2a")
        assert (ran.returncode, ran.stdout, daemon.calls()) == (0, '{"indicator":true}\n', [("RunFacts", ["4f2a"])])
    with happectl.daemon(RunFacts=error("NotFound", "no such run")):
        ran = happectl.run("run", "facts", "4f2a")
    assert (ran.returncode, ran.stderr) == (EX_NOINPUT, "happectl: no such run\n")
