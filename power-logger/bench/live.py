# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure what `happe-power live` costs while a browser asks it once a second, and Prometheus with it.

The share of a core is the CPU time of its process by the time that passed. The recorder writes live.json as it always
does, so this is all that the page adds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from http import HTTPStatus
from pathlib import Path

import urllib3

from given_sources import record, steady
from happe_power.recording.live import leave

SECONDS = 60
MOST_SHARE = 0.02
FIGURES = {
    "watts": 31.4,
    "note": "",
    "samples": 1,
    "lost": 0,
    "rate_hz": 100_000.0,
    "spool_bytes": 1 << 30,
    "trouble": "",
    "clock_offset_us": 1500,
    "clock_uncertainty_us": 400,
    "clock_age_s": 3.0,
    "energy_j": 1.0,
}


def cpu_s(pid: int) -> float:
    """Seconds of CPU of a process, by the kernel's ticks."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print the share; exit status 1 if it is too much."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as name:
        spool = Path(name)
        [folder] = record(spool, steady(1000.0, 500, 2.0)).folders
        leave(folder, json.dumps(FIGURES).encode())
        command = [sys.executable, "-m", "happe_power", "live", "--port", "0", "--spool", name]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as live:
            url = live.stdout.readline().strip() if live.stdout else ""
            http = urllib3.PoolManager()
            http.request("GET", url)
            began, before = time.monotonic(), cpu_s(live.pid)
            for second in range(SECONDS):
                leave(folder, json.dumps(FIGURES | {"samples": second}).encode())
                for path in ("live.json", "metrics"):
                    if http.request("GET", url + path).status != HTTPStatus.OK:
                        sys.exit(f"{path}: no answer")
                time.sleep(1)
            share = (cpu_s(live.pid) - before) / (time.monotonic() - began)
            live.terminate()
    print(f"live page: {100 * share:.2f} % of a core (goal: at most {100 * MOST_SHARE:.0f} %)")
    sys.exit(share > MOST_SHARE)


if __name__ == "__main__":
    main()
