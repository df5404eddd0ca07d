# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of several blocks, one after the other in memory."""

from __future__ import annotations

import numpy as np
import pytest

from given_sources import SHUNT, SUPPLY, samples
from happe_power.recording.rows import Rows, concatenated


def test_blocks_are_copied_behind_each_other() -> None:
    rows = Rows((SHUNT, SUPPLY), 30)
    first, second, third = samples(0, 10), samples(10, 5), samples(15, 15)
    one, two = rows.joined([first, second]), rows.joined([third])
    assert (one.first_index, one.rows, two.first_index, two.rows) == (0, 15, 15, 15)
    for column, given in enumerate(zip(first.columns, second.columns, third.columns, strict=True)):
        whole = concatenated([one.columns[column], two.columns[column]])
        assert np.array_equal(whole, np.concatenate(given))
        assert np.shares_memory(whole, one.columns[column])
        assert not any(np.shares_memory(whole, each) for each in given)


def test_what_there_is_no_room_for_is_joined_elsewhere() -> None:
    rows = Rows((SHUNT, SUPPLY), 12)
    blocks = [samples(0, 10), samples(10, 5)]
    one, two = rows.joined(blocks[:1]), rows.joined(blocks[1:])
    whole = concatenated([one.columns[0], two.columns[0]])
    assert np.array_equal(whole, np.concatenate([block.columns[0] for block in blocks]))
    assert not np.shares_memory(whole, one.columns[0])


WHOLE = np.arange(20, dtype=np.int16)
OTHER = np.arange(20, dtype=np.int16)


@pytest.mark.parametrize(
    "pieces",
    [
        [WHOLE[:5], WHOLE[6:9]],
        [WHOLE[5:], WHOLE[:5]],
        [WHOLE[:5], OTHER[5:]],
        [WHOLE[:5], WHOLE[10:20].view(np.int32)],
        [WHOLE[:10:2], WHOLE[5:]],
        [WHOLE[10:0:-1], WHOLE[5:]],
        [WHOLE[::2]],
        [WHOLE.copy()],
        [np.frombuffer(WHOLE.tobytes(), np.int16), WHOLE[:2]],
    ],
)
def test_arrays_that_lie_elsewhere_are_copied(pieces: list[np.ndarray]) -> None:
    whole = concatenated(pieces)
    assert np.array_equal(whole, np.concatenate(pieces))
    assert not any(np.shares_memory(whole, each) for each in pieces)


def test_neighbours_are_a_view() -> None:
    whole = concatenated([WHOLE[2:5], WHOLE[5:6], WHOLE[6:11]])
    assert np.array_equal(whole, WHOLE[2:11])
    assert np.shares_memory(whole, WHOLE)
