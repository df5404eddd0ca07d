# SPDX-License-Identifier: GPL-2.0-or-later
"""Ending a process with its parent, even after a SIGKILL of the parent."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import signal

PR_SET_PDEATHSIG = 1  # prctl(2)


def end_with(parent: int, how: signal.Signals) -> None:
    """Have the kernel send this process a signal when the parent ends. If it has ended already, send it now."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, how, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), how)
