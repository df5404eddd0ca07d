# SPDX-License-Identifier: GPL-2.0-or-later
"""The header of a trace: profiles/schema/power-trace.schema.json."""

import json
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from happe_contract.traces import Channel, Gap, TimePair, stated
from happe_power import __version__
from happe_power.recording.parts import MOST_BYTES
from happe_power.sources.source import Source

Json = dict[str, Any]

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
PART_SECONDS = 10
NOBODY = "00000000"  # the code of a device that is not enrolled; servers refuse its traces


@dataclass(frozen=True)
class Purpose:
    """The purpose of a recording: the study, the meter, the laptop, and the calibration in force."""

    study: str
    meter: str = NOBODY
    measured: str = NOBODY
    calibration: Json | None = None
    part_seconds: int = PART_SECONDS
    software: Json = field(default_factory=dict)


def row_bytes(source: Source) -> int:
    """Bytes of a sample of all channels."""
    return sum(channel.dtype.itemsize for channel in source.channels)


def fitting_part_seconds(source: Source, wanted: int) -> int:
    """The wanted seconds, or fewer if a part would not fit a server. Raises ValueError if one second does not fit."""
    most = int(MOST_BYTES / 2 / (source.rate_hz * row_bytes(source)))
    if most < 1:
        count = len(source.channels)
        raise ValueError(f"{source.rate_hz:g} samples a second of {count} channels are more than a part holds")
    return min(wanted, most)


def boot_clock() -> str:
    """The name that a header gives to this boot's CLOCK_MONOTONIC."""
    return f"monotonic:{BOOT_ID.read_text(encoding='ascii').strip()}"


def header_of(source: Source, purpose: Purpose, trace: str, started: TimePair, clock: str) -> Json:
    """The header of a trace that begins with `started`."""
    return {
        "format": "happe-power-trace/1",
        "id": trace,
        "study": purpose.study,
        "meter": purpose.meter,
        "measured": purpose.measured,
        "clock": clock,
        "source": _source(source),
        "channels": [_channel(channel) for channel in source.channels],
        "rate_hz": source.rate_hz,
        "calibration": purpose.calibration,
        "started": asdict(started),
        "part_seconds": purpose.part_seconds,
        "part_format": "parquet",
        "software": purpose.software or {"happe-power": __version__, "linux": platform.release()},
    }


def _source(source: Source) -> Json:
    said = {"kind": source.kind, "device": source.device[:200]}
    return said | ({"serial": source.serial[:200]} if source.serial else {})


def _channel(channel: Channel) -> Json:
    shown: Json = {"filter": stated(channel.filter)} if channel.filter else {}
    if channel.resolution is not None:
        shown["resolution"] = channel.resolution
    return shown | {
        "name": channel.name,
        "measures": channel.measures.value,
        "unit": channel.unit,
        "dtype": channel.dtype.name,
        "scale": channel.scale,
        "offset": channel.offset,
    }


FOLDERS = ("parts", "open")
LOCAL = "local"  # an empty file beside the header: do not upload this trace
MEASURED = "measured"  # the same: each run in the trace has its figure, so its parts may go once it is sealed


def gap_line(gap: Gap) -> bytes:
    """A gap as a line of gaps.jsonl."""
    return compact({"from_index": gap.from_index, "to_index": gap.to_index, "reason": gap.reason.value}) + b"\n"


def compact(document: Any) -> bytes:  # noqa: ANN401 - JSON of any shape
    """A document as bytes, without blanks."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
