# SPDX-License-Identifier: GPL-2.0-or-later
"""The demonstration ends the processes that its own processes leave behind, and no others."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from happe_demo.children import MARK, end_all
from patience import PATIENCE_S, until

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
def test_what_is_left_is_ended_and_a_shell_in_the_folder_is_not(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = tmp_path / "folder/logs"
    logs.mkdir(parents=True)
    (tmp_path / "link").symlink_to("folder")
    shell = subprocess.Popen(SLEEP, cwd=logs)
    monkeypatch.setenv(MARK, str(tmp_path / "folder"))
    command = [sys.executable, "-c", LEAVES]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=logs) as child:
        assert child.stdout
        process = json.loads(child.stdout.readline())["left"]
        until(Path(f"/proc/{process}/environ").read_bytes, "it has an environment, which the kernel makes last")
        left = os.pidfd_open(process)
        assert not has_ended(left, 0)
        end_all(tmp_path / name)
        assert child.poll() == -signal.SIGTERM
    was_ended = has_ended(left, PATIENCE_S)
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(left, signal.SIGKILL)
    os.close(left)
    shell.terminate()
    assert shell.wait(PATIENCE_S) == -signal.SIGTERM
    assert was_ended
