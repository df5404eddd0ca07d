# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns a raw spool file into a part with its summaries and gaps.

It writes the gaps, then the summaries, then the part, and then frees the raw file. A part's rename closes it. If a kill
comes between two steps, the next run repeats them, and loses or doubles nothing. It never makes an existing part again,
because the uploader may have sent it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from happe_contract.parts import Footer
from happe_power.recording import arrow_files, journal, ledger, parts, summaries, time_base
from happe_power.recording.files import write_all, write_whole
from happe_power.recording.layout import gap_line
from happe_power.trace import read_gaps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from happe_contract.traces import Gap
    from happe_power.recording.journal import Content, Frame
    from happe_power.recording.layout import Layout
    from happe_power.recording.summaries import Summary


def close_part(layout: Layout, number: int, kept: Sequence[Frame] | None = None) -> None:
    """Make the part of this number from its raw spool file, and free that file for a later part.

    Raises OSError; may be called again. `kept`: the frames in the file, if they are still in memory.
    """
    raw = layout.journal(number)
    if not layout.part(number).exists():
        frames = journal.read(raw, number, layout.channels) if kept is None else kept
        content = journal.content_of(frames, layout.channels)
        _add_gaps(layout, content.gaps)
        if content.rows:
            _write_part(layout, number, content)
    raw.rename(layout.spare)


def write_gaps(layout: Layout, gaps: Sequence[Gap]) -> None:
    """Replace the file of gaps."""
    write_whole(layout.gaps, b"".join(map(gap_line, gaps)))


def write_summaries(layout: Layout, footer: Footer, columns: Sequence[NDArray[Any]], part: bytes | memoryview) -> None:
    """Write a part's summaries. They also hold its size and SHA-256, so that a later check finds damage."""
    _write_summaries(layout, footer, _fine(layout, footer, columns), part)


def _fine(layout: Layout, footer: Footer, columns: Sequence[NDArray[Any]]) -> Summary:
    return summaries.summarise(columns, footer.runs, layout.origin, layout.widths[summaries.FINE])


def _write_summaries(layout: Layout, footer: Footer, fine: Summary, part: bytes | memoryview) -> None:
    said = {
        "trace": footer.trace,
        "number": footer.number,
        "part_bytes": len(part),
        "part_sha256": hashlib.sha256(part).hexdigest(),
    }
    widths = layout.widths
    coarse = summaries.coarser(fine, layout.origin, widths[summaries.COARSE])
    files = {}
    for name, summary in ((summaries.FINE, fine), (summaries.COARSE, coarse)):
        encoded = arrow_files.encode(summaries.as_columns(summary, layout.channels), said | {"width": widths[name]})
        files[layout.summary(footer.number, name)] = encoded
    write_all(files)


def _write_part(layout: Layout, number: int, content: Content) -> None:
    pairs = time_base.thinned(content.pairs, layout.rate_hz, 1, content.restarts)
    footer = Footer(layout.trace, number, tuple(content.runs), tuple(pairs))
    fine = _fine(layout, footer, content.columns)  # first, while the columns are in the processor's cache
    part = parts.encode(layout.channels, content.columns, footer, layout.part_room)
    _write_summaries(layout, footer, fine, part)
    write_whole(layout.part(number), part)


def _add_gaps(layout: Layout, found: Sequence[Gap]) -> None:
    if not found:
        return
    known = read_gaps(layout.gaps)
    gaps = ledger.merged(known, found)
    if gaps != known:
        write_gaps(layout, gaps)
