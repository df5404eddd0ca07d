# SPDX-License-Identifier: GPL-2.0-or-later
"""What `happe-power import` says of files of other programs is the table of docs/how-to/bring-a-file.md.

With -s it prints that table.
"""

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from files_of_others import BEGAN, RATE, TRUTH, files
from happe_contract.traces import Block
from happe_power import sources
from happe_power.cli.importing import preview
from happe_power.recording.guard import guarded
from happe_power.source_kit import Taken
from happe_power.sources.clock import VirtualClock
from happe_power.sources.file import File
from happe_power.sources.source import EndedError, SourceError

TABLE = Path(__file__).parents[2] / "docs/how-to/bring-a-file.md"
NOW_US = 1_796_000_000_000_000  # 2026-11-30


def said(path: Path, table: dict[str, object]) -> str:
    """Return what the program says of a file. If it takes the file, check its samples against the truth."""
    try:
        source = sources.make({"kind": "file", "place": str(path)} | table, VirtualClock(5_000_000_000, NOW_US))
        assert isinstance(source, File)
        taken = Taken(source.start(0))
        says = preview(source)["says"]
        with suppress(EndedError):
            while True:
                taken.add(source.read(0.0))
    except SourceError as error:
        return f"refused: {error}".replace(f"{path.parent}/", "")
    usable = [
        piece for block in taken.blocks for piece in guarded(block, source.channels, 0) if isinstance(piece, Block)
    ]
    for place, channel in enumerate(source.channels):
        for block in usable:
            true = TRUTH[channel.measures.value][block.first_index : block.end_index]
            assert block.columns[place] * channel.scale == pytest.approx(true, rel=1e-4)
    if f" at {RATE} S/s" in says:
        passed_s = np.array([(pair.monotonic_us - taken.began.monotonic_us) / 1e6 for pair in taken.pairs])
        assert passed_s == pytest.approx([pair.index / RATE for pair in taken.pairs], abs=0.05)
    if "begins 2026-11-28" in says:
        assert taken.began.realtime_us == pytest.approx(BEGAN.timestamp() * 1e6, abs=1)
    return str(says)


def test_files_of_other_programs_are_imported_as_they_are_or_refused(tmp_path: Path) -> None:
    answers: dict[str, list[str]] = {}
    for name, content, table in files():
        path = tmp_path / "rig.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        options = ", ".join(f"{option} = {value!r}" for option, value in table.items()).replace("'", '"')
        answers.setdefault(f"{f'`{options}`' if options else ''} | {said(path, table)}", []).append(name)
    lines = [f"| {'; '.join(names)} | {answer} |" for answer, names in answers.items()]
    print("\n".join(lines))
    assert [line for line in TABLE.read_text().splitlines() if line in lines] == lines
