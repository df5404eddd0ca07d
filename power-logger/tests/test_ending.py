# SPDX-License-Identifier: GPL-2.0-or-later
"""A signal ends a command, whichever line of its waiting the signal interrupts."""

from __future__ import annotations

import subprocess
import sys

from patience import PATIENCE_S

# Sends itself SIGTERM at the first line of a wait, then at the second line of another wait, and so on.
PROGRAM = """
import os, signal, sys
from happe_power.cli.host import Ending

def lines(chosen):
    passed = 0
    def trace(frame, event, argument):
        nonlocal passed
        if event == "line":
            passed += 1
            if passed == chosen:
                sys.settrace(None)
                os.kill(os.getpid(), signal.SIGTERM)
        return trace
    return trace, lambda: passed

chosen = 1
while True:
    ending = Ending()
    trace, passed = lines(chosen)
    sys.settrace(trace)
    ended = ending.wait(0.001)
    sys.settrace(None)
    if passed() < chosen:
        break
    assert ended or ending.wait(60), chosen
    chosen += 1
print(chosen - 1)
"""


def test_a_signal_that_comes_while_the_command_begins_to_wait_is_noticed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 3  # the interrupted lines of `wait`
