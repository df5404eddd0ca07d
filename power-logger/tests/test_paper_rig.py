# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/watts-evidence.md has the figures of the arithmetic."""

from __future__ import annotations

from pathlib import Path

import pytest

import paper_rig

PAGE = Path(__file__).parents[2] / "docs/watts-evidence.md"


@pytest.mark.parametrize(
    ("which", "expanded", "told"),
    [(0, 2.4, "nominal supply"), (1, 0.5, "measured supply"), (2, 0.1, "calibrated shunt")],
)
def test_forty_watts_are_known_as_well_as_the_page_says(which: int, expanded: float, told: str) -> None:
    name, record, channels = paper_rig.RIGS[which]
    found = paper_rig.figure(record, channels)
    assert name == told
    assert found.mean_w == pytest.approx(40, abs=0.02)
    assert round(found.budget.expanded, 1) == expanded


def test_the_pages_tables_are_those_that_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    paper_rig.main()
    printed = [each.rstrip() for each in capsys.readouterr().out.splitlines() if each]
    page = [each.removeprefix("    ").rstrip() for each in PAGE.read_text(encoding="utf-8").splitlines()]
    begin = page.index(printed[0])
    assert [each for each in page[begin:] if each][: len(printed)] == printed
