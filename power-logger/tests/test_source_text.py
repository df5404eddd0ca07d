# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of numbers, good, bad and hostile."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from happe_power.sources.text import LONGEST_LINE, Bad, Lines, LongLineError, Shape, tables

TWO = Shape(2, (0, 1))


@given(st.lists(st.binary(max_size=20), max_size=20))
def test_no_byte_is_lost_between_lines(parts: list[bytes]) -> None:
    lines = Lines()
    assert b"".join([*map(lines.take, parts), lines.last()]) == b"".join(parts)


def test_a_line_without_end_is_refused_before_it_fills_the_memory() -> None:
    lines = Lines()
    half = b"9" * (LONGEST_LINE // 2)
    assert lines.take(half) + lines.take(half) == b""
    with pytest.raises(LongLineError):
        lines.take(half)


def test_nan_and_infinity_are_numbers_for_the_recorder_to_judge() -> None:
    [found] = tables(b"nan,1\n-inf,2\n", TWO)
    assert not isinstance(found, Bad)
    assert math.isnan(found[0][0])
    assert found[0][1] == -math.inf


@pytest.mark.parametrize(
    "line",
    [
        b"1",
        b"1,2,3",
        b"1;2",
        b"1,two",
        b"1,",
        b",",
        b"",
        b'"1",2',
        b"1,0x10",
        b"1,1_0",
        b"\x00,1",
        b"\xff\xfe,1",
        b"1,2 V",
    ],
)
def test_a_bad_line_is_found_between_good_ones(line: bytes) -> None:
    before, bad, after = tables(b"1,2\n3,4\n" + line + b"\n5,6\n", TWO)
    assert isinstance(bad, Bad)
    assert bad.place == 2
    assert not isinstance(before, Bad)
    assert not isinstance(after, Bad)
    assert [column.tolist() for column in before] == [[1, 3], [2, 4]]
    assert [column.tolist() for column in after] == [[5], [6]]


@given(st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line and b"\r" not in line), max_size=20))
def test_every_line_is_a_row_or_a_bad_line(lines: list[bytes]) -> None:
    found = tables(b"".join(line + b"\n" for line in lines), TWO)
    assert sum(1 if isinstance(one, Bad) else len(one[0]) for one in found) == len(lines)
