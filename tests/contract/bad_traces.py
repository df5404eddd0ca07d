"""Reads the traces of bad_traces.json. `python tests/contract/bad_traces.py FOLDER` writes them as files.

The file has a good trace and the ways to spoil it. One character there is one byte. A case either gives the whole file
(`raw`, pieces to join) or replaces a text that occurs once in the good trace (`replace`: old, new). `fill` gives the
text for a placeholder that is too long to write out: [text, times] or the numbers {"from", "to"}. `line` is the line of
the error. The error must name one of `fields`, or any field if that list is empty.
"""

import json
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]

TRACES: Json = json.loads(Path(__file__).with_name("bad_traces.json").read_text(encoding="utf-8"))
GOOD: str = "".join(TRACES["good"])


def filling(fill: list[Any] | Json) -> str:
    """Return the text that a placeholder stands for."""
    if isinstance(fill, dict):
        return ",".join(map(str, range(fill["from"], fill["to"] + 1)))
    text: str = fill[0]
    return text * int(fill[1])


def spoiled(case: Json) -> bytes:
    """Return the bytes of a case's file."""
    if "raw" in case:
        trace = "".join(case["raw"])
    else:
        old, new = case["replace"]
        if GOOD.count(old) != 1:
            raise ValueError(f"{case['name']}: {old} occurs {GOOD.count(old)} times")
        trace = GOOD.replace(old, new)
    for placeholder, fill in case.get("fill", {}).items():
        if placeholder not in trace:
            raise ValueError(f"{case['name']}: nowhere to put {placeholder}")
        trace = trace.replace(placeholder, filling(fill))
    return trace.encode("latin-1")


def main(folder: Path) -> None:
    """Write a file for each bad trace."""
    folder.mkdir(parents=True, exist_ok=True)
    for case in TRACES["bad"]:
        (folder / f"{case['name']}.jsonl").write_bytes(spoiled(case))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
