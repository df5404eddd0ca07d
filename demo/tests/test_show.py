# SPDX-License-Identifier: GPL-2.0-or-later
"""SIGTERM ends the show without failure, at any moment while people look at its pages."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from patience import PATIENCE_S, spend

pytestmark = pytest.mark.slow

SHOW = """
import sys, threading, time
from types import SimpleNamespace
sys.path[:0] = sys.argv[1:]
from happe_demo import show
class Server:
    alive = property(lambda self: not time.sleep(0.001))
show.LOOKS_S = 0.001
threading.Thread(target=sys.stdin.read, daemon=True).start()
show._stay(SimpleNamespace(url="http://127.0.0.1:1", people=[], server=Server()))
"""


@pytest.mark.parametrize("attempt", range(10))
def test_it_ends_in_order_whenever_it_is_told(attempt: int) -> None:
    command = [sys.executable, "-c", SHOW, *sys.path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}) as show:
        assert show.stdout
        while b"Ctrl-C ends it" not in show.stdout.readline():
            assert show.poll() is None
        spend(random.Random(attempt).random() / 100)
        show.terminate()
        assert show.wait(PATIENCE_S) == 0
