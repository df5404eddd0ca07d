# SPDX-License-Identifier: GPL-2.0-or-later
"""A whole lecture hall joins a study at once on the real server: it fills every place once, exactly balanced."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select

from enrolled import sequences
from happe_study.model.studies import Slot
from joining import PLACES, Browser, all_join, invited
from postgres import ON_BOTH
from server_process import ServerProcess
from world import World

pytestmark = pytest.mark.slow

TOO_MANY = 5
OPENINGS = 3  # of a link: a preview, the page, and once more


@ON_BOTH
def test_two_hundred_and_five_join_at_once_and_five_are_told_that_it_is_full(database_url: str, tmp_path: Path) -> None:
    # given
    world = World(tmp_path, database_url)
    _study, links = invited(world, PLACES + TOO_MANY)
    server = ServerProcess(tmp_path, database_url)  # with the limits as shipped: they all have one address
    server.start()
    # when
    try:
        with ThreadPoolExecutor(len(links)) as threads:
            list(threads.map(lambda link: [Browser(server.port).get(link) for _ in range(OPENINGS)], links))
        joined = all_join(server.port, links)
    finally:
        server.stop()
    # then
    assert [("All places are taken" in each.told) for each in joined if not each.placed] == [True] * TOO_MANY
    with world.database.reading() as session:
        taken = [each for each in session.scalars(select(Slot.participant_id)) if each is not None]
        counts = sequences(session, taken)
    world.close()
    assert len(set(taken)) == PLACES
    assert len(counts) == 2 * 4  # applications, and sequences of conditions
    assert set(counts.values()) == {PLACES // 4}
