# SPDX-License-Identifier: GPL-2.0-or-later
"""The order that a worker sends to a job's process. The worker does not import the jobs' modules, which take 60 MB."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Order:
    """A job, and what its process needs to do it. Secrets are hexadecimal."""

    config: dict[str, Any]
    secrets: dict[str, str]
    job: int
    lease: str
    folder: str
    worker: int  # the parent's process id

    def encoded(self) -> bytes:
        """The order as JSON, for the process's standard input."""
        return json.dumps(asdict(self)).encode()
