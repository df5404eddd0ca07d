# SPDX-License-Identifier: GPL-2.0-or-later
"""What a worker tells the process of a job. The worker reads no more than this: what jobs need takes 60 MB."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Order:
    """What to do, with what, where. Secrets are hexadecimal."""

    config: dict[str, Any]
    secrets: dict[str, str]
    job: int
    lease: str
    folder: str
    worker: int  # the parent's process id

    def encoded(self) -> bytes:
        """As the process reads it."""
        return json.dumps(asdict(self)).encode()
