# SPDX-License-Identifier: GPL-2.0-or-later
"""The demonstration's processes: what they leave behind is ended, and nobody else's."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from happe_demo.children import Child, end_strays

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE_S = 60
SLEEP = ("sleep", "600")
# Leaves a process behind, as the server does.
LEAVES = f"""
import subprocess, sys
left = subprocess.Popen({SLEEP}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
print('{{"left":', left.pid, '}}', flush=True)
sys.stdin.read()
"""


def has_ended(process: int, within_s: float) -> bool:
    """Whether the process of a descriptor has ended."""
    return bool(select.select([process], [], [], within_s)[0])


@pytest.mark.parametrize("name", ["folder", "link"])
def test_what_is_left_is_ended_and_a_shell_in_the_folder_is_not(tmp_path: Path, name: str) -> None:
    logs = tmp_path / "folder/logs"
    logs.mkdir(parents=True)
    (tmp_path / "link").symlink_to("folder")
    shell = subprocess.Popen(SLEEP, cwd=logs)
    child = Child("child", [sys.executable, "-c", LEAVES], tmp_path / name / "logs")
    left = os.pidfd_open(child.hear()["left"])
    child.end()
    assert not has_ended(left, 0)
    end_strays(tmp_path / name)
    was_ended = has_ended(left, PATIENCE_S)
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(left, signal.SIGKILL)
    os.close(left)
    shell.terminate()
    assert shell.wait(PATIENCE_S) == -signal.SIGTERM
    assert was_ended
