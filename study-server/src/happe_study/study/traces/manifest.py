# SPDX-License-Identifier: GPL-2.0-or-later
"""A power trace's header and manifest: the rules that the schemas can't express, and the comparison with what arrived.

Pure.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import islice, pairwise

from happe_contract.faults import Fault, refuse_if_any
from happe_contract.strict_json import Json
from happe_contract.traces import Gap, Reason, TimePair

UNITS = {"shunt": "V", "supply": "V", "current": "A", "power": "W", "energy": "J", "marker": "V"}


def check_header(document: Json, *, trace: str) -> None:
    """Check a header that fits the schema, sent to trace `trace`'s address. Raises BadDocumentError: 20 faults at most.

    The caller compares study and devices with the sender's.
    """
    refuse_if_any(_faults(document, trace))


def _faults(document: Json, trace: str) -> Iterator[Fault]:
    if document["id"] != trace:
        yield Fault("/id", "differs from the id in the address")
    names = [channel["name"] for channel in document["channels"]]
    for number, channel in enumerate(document["channels"]):
        at = f"/channels/{number}"
        if channel["name"] in names[:number]:
            yield Fault(f"{at}/name", "repeats the name of an earlier channel")
        if channel["unit"] != UNITS[channel["measures"]]:
            yield Fault(f"{at}/unit", f"must be {UNITS[channel['measures']]} for what the channel measures")
        if channel["scale"] == 0:
            yield Fault(f"{at}/scale", "must not be 0")
    if document["calibration"] is not None:
        yield from _calibration_faults(document["calibration"], names)


def _calibration_faults(calibration: Json, channels: list[str]) -> Iterator[Fault]:
    days = {}
    for field in ("date", "expires"):
        try:
            days[field] = date.fromisoformat(calibration[field])
        except ValueError:
            yield Fault(f"/calibration/{field}", "is not a day of the calendar")
    if len(days) == len(("date", "expires")) and days["expires"] <= days["date"]:
        yield Fault("/calibration/expires", "must be later than date")
    for field in ("shunt_ohm", "divider", "supply_volt"):
        if field in calibration and calibration[field]["value"] <= 0:
            yield Fault(f"/calibration/{field}/value", "must be more than 0")
    for name in calibration.get("channels", {}):
        if name not in channels:
            yield Fault(f"/calibration/channels/{name}", "is not a channel of this trace")


@dataclass(frozen=True)
class Comparison:
    """A manifest compared with the parts that arrived: part numbers, ascending. All are empty for a whole trace."""

    missing: tuple[int, ...]  # in the manifest, did not arrive
    mismatched: tuple[int, ...]  # arrived with other bytes
    unexpected: tuple[int, ...]  # arrived, not in the manifest

    @property
    def whole(self) -> bool:
        """Whether the trace can be sealed."""
        return not (self.missing or self.mismatched or self.unexpected)


def check_manifest(document: Json, *, trace: str, first_index: int) -> None:
    """Check a manifest that fits the schema, of trace `trace` with the header's first index.

    Raises BadDocumentError with at most 20 faults.
    """
    refuse_if_any(_part_faults(document, trace))
    refuse_if_any(_span_faults(document))
    refuse_if_any(_ledger_faults(document, first_index))
    refuse_if_any(_time_faults(document, first_index))


def gaps_of(manifest: Json) -> list[Gap]:
    """The gaps that a checked manifest lists."""
    return [Gap(each["from_index"], each["to_index"], Reason(each["reason"])) for each in manifest["gaps"]]


def pairs_of(header: Json, manifest: Json) -> list[TimePair]:
    """The pairs of index and time in a trace's checked header and manifest, in order."""
    return [TimePair(**each) for each in (header["started"], *manifest["time_base"], manifest["ended"])]


def compare(wanted: Mapping[int, str], received: Mapping[int, str]) -> Comparison:
    """Compare the parts that a manifest wants with those received. Both are digests by the part's number."""
    return Comparison(
        missing=tuple(number for number in wanted if number not in received),
        mismatched=tuple(n for n, content in wanted.items() if n in received and received[n] != content),
        unexpected=tuple(sorted(received.keys() - wanted.keys())),
    )


def missing(count: int, received: Collection[int], most: int) -> list[int]:
    """The first `most` numbers from 0 to `count` - 1 that are not in `received`."""
    return list(islice((number for number in range(count) if number not in received), most))


def _part_faults(document: Json, trace: str) -> Iterator[Fault]:
    if document["trace"] != trace:
        yield Fault("/trace", "differs from the trace in the address")
    if document["count"] != len(document["parts"]):
        yield Fault("/count", f"is not the number of parts listed, {len(document['parts'])}")
    for position, part in enumerate(document["parts"]):
        if part["number"] != position:
            yield Fault(f"/parts/{position}/number", f"must be {position}: parts are listed by number, from 0")
    if document["samples"] != sum(part["samples"] for part in document["parts"]):
        yield Fault("/samples", "is not the sum of the parts' samples")


def _span_faults(document: Json) -> Iterator[Fault]:
    for number, gap in enumerate(document["gaps"]):
        if gap["to_index"] <= gap["from_index"]:
            yield Fault(f"/gaps/{number}/to_index", "must be greater than from_index")
    for number, (before, after) in enumerate(pairwise(document["gaps"]), start=1):
        if after["from_index"] < before["to_index"]:
            yield Fault(f"/gaps/{number}/from_index", "must not be less than to_index of the gap before")
    for number, (before, after) in enumerate(pairwise(document["parts"]), start=1):
        if after["first_index"] < before["first_index"] + before["samples"]:
            yield Fault(f"/parts/{number}/first_index", "is within the part before")


def _ledger_faults(document: Json, first_index: int) -> Iterator[Fault]:
    """A fault where an index is neither in a part nor in a gap, or in both. Gaps lie anywhere, even inside parts."""
    lost = _lost_by_part(document)
    expected = first_index + lost[-1]
    for number, part in enumerate(document["parts"]):
        if part["first_index"] != expected:
            yield Fault(f"/parts/{number}/first_index", f"must be {expected}, where the parts and gaps before it end")
            return
        expected += part["samples"] + lost[number]
    if document["end_index"] != expected:
        yield Fault("/end_index", f"must be {expected} by the parts and gaps")


def _lost_by_part(document: Json) -> dict[int, int]:
    """The number of indices lost in or right after each part; at -1 the number lost before the first part."""
    lost: dict[int, int] = defaultdict(int)
    number, parts = -1, document["parts"]
    for gap in document["gaps"]:
        while number + 1 < len(parts) and parts[number + 1]["first_index"] < gap["from_index"]:
            number += 1
        lost[number] += gap["to_index"] - gap["from_index"]
    return lost


def _time_faults(document: Json, first_index: int) -> Iterator[Fault]:
    """A fault where a pair of index and time goes back, or lies outside the trace. The wall clock may go back."""
    pairs = [(f"/time_base/{number}", pair) for number, pair in enumerate(document["time_base"])]
    pairs.append(("/ended", document["ended"]))
    yield from _outside(pairs, first_index, document["end_index"])
    for (_, before), (at, after) in pairwise(pairs):
        if after["index"] < before["index"]:
            yield Fault(f"{at}/index", "must not be less than the pair before")
        if after["monotonic_us"] < before["monotonic_us"]:
            yield Fault(f"{at}/monotonic_us", "must not be earlier than the pair before")


def _outside(pairs: Iterable[tuple[str, Json]], first_index: int, end_index: int) -> Iterator[Fault]:
    for at, pair in pairs:
        if not first_index <= pair["index"] <= end_index:
            yield Fault(f"{at}/index", "must lie between the trace's first index and end_index")
