# SPDX-License-Identifier: GPL-2.0-or-later
"""happed-keys as systemd starts it: with a socket as its standard input."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from patience import PATIENCE_S
from program import ROOT

OPEN_ALL = b"happe-keys 1 open all KEY_PROG1 KEY_PROG2"
EX_OK, EX_USAGE, EX_UNAVAILABLE, EX_PROTOCOL = 0, 64, 69, 76


@pytest.fixture
def happed_keys() -> Path:
    """Return the program that HAPPED_KEYS names, else the one `make build` leaves."""
    program = Path(os.environ.get("HAPPED_KEYS", ROOT / "build/bin/happed-keys")).absolute()
    if not program.is_file():
        pytest.fail(f"{program} is missing: `make build` makes it, and HAPPED_KEYS may name another")
    return program


class Helper:
    """The program with a connection to it."""

    def __init__(self, program: Path, folder: Path) -> None:
        """Start it with the event devices and the configuration in a folder."""
        self.mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.mine.settimeout(PATIENCE_S)
        options = ["--input-dir", str(folder / "input"), "--config", str(folder / "happe.toml")]
        self.process = subprocess.Popen([str(program), *options], stdin=its.fileno(), stderr=subprocess.PIPE)
        its.close()

    def asked(self, question: bytes) -> list[bytes]:
        """All packets that answer a question."""
        self.mine.send(question)
        return self.answers()

    def answers(self) -> list[bytes]:
        """All packets until it closes."""
        answers = []
        while packet := self.mine.recv(4096):
            answers.append(packet)
        return answers

    def ended(self) -> int:
        """Wait for its end; the exit status."""
        return self.process.wait(PATIENCE_S)

    def close(self) -> None:
        """End it."""
        self.mine.close()
        self.process.communicate(timeout=PATIENCE_S)


@pytest.fixture
def helper(happed_keys: Path, tmp_path: Path) -> Iterator[Helper]:
    """Start the program with no device and no configuration."""
    started = Helper(happed_keys, tmp_path)
    yield started
    started.close()


def test_without_devices_all_is_nothing(helper: Helper) -> None:
    assert helper.asked(OPEN_ALL) == [b"end"]
    assert helper.ended() == EX_OK


@pytest.mark.parametrize(
    "question",
    [
        b"happe-keys 1 open ../sda KEY_PROG1 KEY_PROG2",
        b"x" * 100_000,
    ],
)
def test_what_is_not_a_question_is_refused(helper: Helper, question: bytes) -> None:
    [answer] = helper.asked(question)

    assert answer.startswith(b"error ")
    assert helper.ended() == EX_PROTOCOL


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_only_a_socket_of_packets_will_do(happed_keys: Path, kind: socket.SocketKind) -> None:
    ours, its = socket.socketpair(socket.AF_UNIX, kind)
    with ours, its:
        ended = subprocess.run(
            [str(happed_keys)], stdin=its.fileno(), check=False, capture_output=True, timeout=PATIENCE_S
        )
    assert ended.returncode == EX_USAGE


def test_by_hand_it_explains_itself(happed_keys: Path) -> None:
    ended = subprocess.run(
        [str(happed_keys)], stdin=subprocess.DEVNULL, check=False, capture_output=True, timeout=PATIENCE_S
    )
    assert ended.returncode == EX_USAGE
    assert b"do not run this program by hand" in ended.stderr
