# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads who wrote what to cpufreq from the kernel's record."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from t61.cost import TRACING, traceable

FILES = ["scaling_governor", "scaling_setspeed", "scaling_min_freq", "scaling_max_freq"]
WRITE = re.compile(r'^\s*(\S.*)-\d+\s+\[\d+\].*?\s(\d+\.\d+): (scaling_\w+): .*?text="([^"\n]*)', re.MULTILINE)


@dataclass(frozen=True)
class Write:
    """One write to a file of cpufreq."""

    at_s: float  # CLOCK_MONOTONIC
    who: str
    file: str
    text: str


@contextmanager
def written() -> Iterator[Path]:
    """Record each write with probes of the kernel's functions for it; see writes()."""
    traceable()
    probes = TRACING / "kprobe_events"
    probes.write_text("".join(f"p:happe/{file} store_{file} text=+0($arg2):string\n" for file in FILES))
    switch = TRACING / "events/happe/enable"
    (TRACING / "trace").write_text("")
    switch.write_text("1")
    try:
        yield TRACING / "trace"
    finally:
        switch.write_text("0")
        probes.write_text("")


def writes(trace: str) -> list[Write]:
    """Return the recorded writes."""
    return [Write(float(at), who, file, text.strip()) for who, at, file, text in WRITE.findall(trace)]
