# SPDX-License-Identifier: GPL-2.0-or-later
"""A process that ends with the one that started it, even if that is killed."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import signal

PR_SET_PDEATHSIG = 1  # prctl(2)


def end_with(parent: int, how: signal.Signals) -> None:
    """Get a signal when the parent has ended; at once if it has ended already."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, how, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), how)
