# SPDX-License-Identifier: GPL-2.0-or-later
"""Make valid documents to upload, for tests and for load: run records, and power traces' headers and manifests.

A record is that of a simulated person at the paper's T61, who presses the keys at times. The profile follows from the
presses by docs/traces.md, and everything follows from the seed.
"""

import hashlib
import json
import uuid
from random import Random
from typing import Any

Json = dict[str, Any]

LADDER = [800000, 1200000, 1600000, 2200000, 2300000]  # kHz, the paper's (section A.3), calibrated
SECOND = 1_000_000
SUBJECT = "subject:4HT2XC0N"
BOOT = "0f8fad5b-d9cb-469f-a165-70867728950e"
SOFTWARE = {"happed": "0.1.0", "happe-study": "0.1.0", "libcpupower": "6.1.0-25"}
MACHINE = {
    "cpu": "Intel(R) Core(TM)2 Duo CPU     T7700  @ 2.40GHz",
    "driver": "acpi-cpufreq",
    "backend": "simulated",
    "governor": "userspace",
    "tunables": {},
    "kernel": "6.1.0-25-amd64",
}
ONDEMAND = MACHINE | {"governor": "ondemand", "tunables": {"sampling_rate": "80000", "up_threshold": "80"}}


def encode(document: object) -> bytes:
    """A document as a device sends it: compact UTF-8."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def identity(seed: int) -> str:
    """The client id of a seed."""
    return str(uuid.UUID(int=Random(seed).getrandbits(128), version=4))  # noqa: S311 - no secret


def make(  # noqa: PLR0913 - callers name all but the first three
    run_code: str = "7ZK3M9QA",
    seconds: int = 120,
    seed: int = 1,
    *,
    client_id: str | None = None,
    kernel: bool = False,
    presses: float = 0.05,
    before: list[int] | None = None,
) -> Json:
    """A valid record of `seconds` samples. With `kernel` it is ondemand's: HAPPE serves nobody and learns nothing.

    `presses` is their mean number in a second, `before` the profile before the run.
    """
    random = Random(seed)  # noqa: S311 - no secret
    started_us = random.randrange(10**9, 10**12)
    person = None if kernel else _Person(random, presses, before or [LADDER[0]] * 10)
    lines = [_line(random, started_us + second * SECOND, person) for second in range(1, seconds + 1)]
    return {
        "format": "happe-run/1",
        "run": run_code,
        "id": client_id or identity(seed),
        "clock": f"monotonic:{BOOT}",
        "started_us": started_us,
        "ended_us": started_us + seconds * SECOND + 350,
        "header": header() | {"uafp": [{"user": SUBJECT, "app": "torcs", "khz": before}] if before else []},
        "observations": lines,
        "profile_before": person and (before or [LADDER[0]] * 10),
        "profile_after": person and person.levels,
        "learned": person.learned if person else [],
        "indicator": random.random() < 0.5,  # noqa: PLR2004 - a fair coin
        "rating": random.randint(1, 5),
        "machine": dict(ONDEMAND if kernel else MACHINE),
        "software": dict(SOFTWARE),
    }


def header() -> Json:
    """The header of a T61's trace, without a profile."""
    return {
        "format": "happe-trace/1",
        "mode": "paper",
        "feedback": "next-sample",
        "period_us": SECOND,
        "ladders_khz": {"0": list(LADDER)},
        "uafp": [],
    }


class _Person:
    """A person who sometimes presses a key, and the lessons."""

    def __init__(self, random: Random, often: float, levels: list[int]) -> None:
        self.random = random
        self.often = often
        self.khz = LADDER[0]
        self.levels = levels
        self.learned: list[Json] = []

    def presses(self, t_us: int) -> list[Json]:
        """The presses in the second before `t_us`: none or one."""
        if self.random.random() > self.often:
            return []
        key = "performance" if self.random.random() < 0.7 else "power"  # noqa: PLR2004 - as people press
        return [{"t_us": t_us - self.random.randrange(SECOND // 2), "key": key}]

    def decide(self, line: Json) -> None:
        """Algorithm 3, for one policy without calibration."""
        seen = line["policies"][0]
        level = min(9, max(seen["util_ppm"]) * self.khz * 10 // (SECOND * LADDER[-1]))
        if not line["keys"]:
            self.khz = self.levels[level]
            return
        key, at = line["keys"][0]["key"], LADDER.index(self.khz)
        target = LADDER[min(at + 1, 4) if key == "performance" else max(at - 1, 0)]
        lesson = {"t_us": line["t_us"], "key": key, "policy": 0, "level": level, "from_khz": self.levels[level]}
        lesson |= {"to_khz": target, "cur_khz": self.khz, "util_ppm": max(seen["util_ppm"])}
        self.learned.append(lesson)
        below = [min(khz, target) for khz in self.levels[:level]]
        self.levels = lesson["uafp_khz"] = [*below, target, *(max(khz, target) for khz in self.levels[level + 1 :])]
        self.khz = target


def _line(random: Random, t_us: int, person: _Person | None) -> Json:
    """The observation at the end of a second. It changes the person's profile and frequency."""
    wanted = random.gauss(1_500_000, 400_000)  # kHz of work
    khz = person.khz if person else random.choice(LADDER)
    util = [max(0, min(SECOND, int(wanted / khz * SECOND))), random.randrange(50_000, 250_000)]
    line: Json = {
        "t_us": t_us,
        "user": SUBJECT if person else None,
        "app": "torcs" if person else None,
        "policies": [{"id": 0, "cur_khz": khz, "util_ppm": util}],
        "keys": person.presses(t_us) if person else [],
        "targets": [],
    }
    if person:
        person.decide(line)
        line["targets"] += [{"policy": 0, "khz": person.khz}] if person.khz != khz else []
    return line


def power_header(client_id: str | None = None, *, meter: str = "M3TERAAA", measured: str = "1APT0PAA") -> Json:
    """A valid header of a power trace of the paper's rig, with an invented calibration."""
    return {
        "format": "happe-power-trace/1",
        "id": client_id or identity(7),
        "study": "happe-2011",
        "meter": meter,
        "measured": measured,
        "clock": f"monotonic:{BOOT}",
        "source": {"kind": "sim", "device": "a simulated T61 behind a simulated 6034E"},
        "channels": [
            {"name": "shunt", "measures": "shunt", "unit": "V", "dtype": "int16", "scale": 1.52588e-5, "offset": 0},
            {"name": "supply", "measures": "supply", "unit": "V", "dtype": "int16", "scale": 3.05e-4, "offset": 0.0},
        ],
        "rate_hz": 100000,
        "calibration": {
            "name": "rig-a 2026-11",
            "sha256": hashlib.sha256(b"rig-a").hexdigest(),
            "date": "2026-11-02",
            "expires": "2027-11-02",
            "shunt_ohm": _quantity(0.10031, 0.00002, "four-wire, 6.5 digits"),
            "divider": _quantity(3.0004, 0.0006, "against the same meter"),
            "channels": {"shunt": {"gain": _quantity(1.0, 1e-4, "data sheet"), "zero": _quantity(0, 2e-6, "shorted")}},
        },
        "started": {"index": 0, "monotonic_us": 5_000_000_000, "realtime_us": 1_793_440_000_000_000},
        "part_seconds": 10,
        "part_format": "parquet",
        "software": {"happe-power": "0.1.0", "pyarrow": "26.0.1"},
    }


def _quantity(value: float, uncertainty: float, source: str) -> Json:
    return {"value": value, "standard_uncertainty": uncertainty, "source": source}


def part(number: int) -> bytes:
    """Bytes with a Parquet file's frame, different for each part. They are no Parquet file."""
    footer = f"part {number}".encode()
    return b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def power_manifest(parts: int = 3, *, trace: str | None = None, gaps: tuple[tuple[int, int], ...] = ()) -> Json:
    """A valid manifest of parts that `part` makes, of a million samples each. `gaps`: (the part before, length)."""
    lost, index, listed, rows = dict(gaps), 0, [], []
    for number in range(parts):
        content = part(number)
        entry = {"number": number, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        rows.append(entry | {"first_index": index, "samples": 1_000_000})
        index += 1_000_000
        if number in lost:
            listed.append({"from_index": index, "to_index": index + lost[number], "reason": "overflow"})
            index += lost[number]
    return {
        "format": "happe-power-manifest/1",
        "trace": trace or identity(7),
        "count": parts,
        "parts": rows,
        "samples": parts * 1_000_000,
        "end_index": index,
        "gaps": listed,
        "ended": _pair(max(index - 1, 0)),
        "time_base": [_pair(0)],
    }


def _pair(index: int) -> Json:
    """The time of a sample at exactly 100 kHz."""
    since_us = index * 10
    return {"index": index, "monotonic_us": 5_000_000_000 + since_us, "realtime_us": 1_793_440_000_000_000 + since_us}
