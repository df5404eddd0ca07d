# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server` where something goes wrong in the middle, for a process of its own (forked.py)."""

from __future__ import annotations

import os
import resource
import signal

from happe_study.cli.program import main


def limited(size: int, arguments: list[str]) -> None:
    """No file can be longer than this, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    main(arguments)


def killed(moment: int, arguments: list[str]) -> None:
    """It is killed before its n-th fsync."""
    left, fsync = iter(range(moment - 1)), os.fsync

    def dying(descriptor: int) -> None:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        fsync(descriptor)

    os.fsync = dying  # type: ignore[assignment]  # in this process alone, which main() ends
    main(arguments)
