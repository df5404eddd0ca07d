# SPDX-License-Identifier: GPL-2.0-or-later
"""Run `happe-server` with a failure in the middle, in a separate process (forked.py)."""

import os
import resource
import signal

from happe_study.cli.program import main


def limited(size: int, arguments: list[str]) -> None:
    """Run it where no file can be longer than `size`, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    main(arguments)


def killed(moment: int, arguments: list[str]) -> None:
    """Run it, and kill it before its n-th fsync."""
    left, fsync = iter(range(moment - 1)), os.fsync

    def dying(descriptor: int) -> None:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        fsync(descriptor)

    os.fsync = dying  # type: ignore[assignment]  # only in this process, which main() ends
    main(arguments)
