# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns a raw file into a part with its summary and gaps.

It writes the gaps, then the summary, then the part, and then removes the raw file. A part's rename closes it. If a kill
comes between two steps, the next run repeats them, and loses or doubles nothing. It never makes an existing part again,
because the uploader may have sent it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from happe_contract.parts import Footer
from happe_power.recording import arrow_files, ledger, parts, raw, summaries, time_base
from happe_power.recording.files import write_whole
from happe_power.recording.layout import gap_line
from happe_power.trace import read_gaps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from happe_contract.traces import Gap
    from happe_power.recording.layout import Layout
    from happe_power.recording.raw import Content, Record


def close_part(layout: Layout, number: int, records: Sequence[Record] | None = None) -> None:
    """Make the part of this number from its raw file, and remove that file. Raises OSError; may be called again.

    `records`: those in the file, if they are still in memory.
    """
    if not layout.part(number).exists():
        content = raw.content_of(raw.read(layout.raw(number), layout.channels) if records is None else records)
        _add_gaps(layout, content.gaps)
        if content.runs:
            _write_part(layout, number, content)
    layout.raw(number).unlink()


def write_gaps(layout: Layout, gaps: Sequence[Gap]) -> None:
    """Replace the file of gaps."""
    write_whole(layout.gaps, b"".join(map(gap_line, gaps)))


def write_summary(layout: Layout, footer: Footer, columns: Sequence[NDArray[Any]], part: bytes | memoryview) -> None:
    """Write a part's summary. It also holds the part's size and SHA-256, so that a later check finds damage."""
    said = {
        "trace": footer.trace,
        "number": footer.number,
        "part_bytes": len(part),
        "part_sha256": hashlib.sha256(part).hexdigest(),
        "width": layout.bin_width,
    }
    summary = summaries.summarise(columns, footer.runs, layout.origin, layout.bin_width)
    encoded = arrow_files.encode(summaries.as_columns(summary, layout.channels), said)
    write_whole(layout.summary(footer.number), encoded)


def _write_part(layout: Layout, number: int, content: Content) -> None:
    pairs = time_base.thinned(content.pairs, layout.rate_hz, 1, content.restarts)
    footer = Footer(layout.trace, number, tuple(content.runs), tuple(pairs))
    part = parts.encode(layout.channels, content.columns, footer, layout.part_room)
    write_summary(layout, footer, content.columns, part)
    write_whole(layout.part(number), part)


def _add_gaps(layout: Layout, found: Sequence[Gap]) -> None:
    if not found:
        return
    known = read_gaps(layout.gaps)
    gaps = ledger.merged(known, found)
    if gaps != known:
        write_gaps(layout, gaps)
