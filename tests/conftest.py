# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures that the tests share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from happed_fixtures import happed, happed_program, shared_world, stopped, world
from happed_stand_in import HappeCtl
from happed_t61 import CAPPED, T61
from happed_world import Client, Happed, World
from patience import until
from private_bus import PrivateBus, private_bus
from program import ROOT, HappeSim

__all__ = ["happed", "happed_program", "shared_world", "stopped", "world"]  # fixtures


@pytest.fixture(scope="session")
def happe_sim() -> HappeSim:
    """Return the program that HAPPE_SIM names, or the one that `make build` made."""
    return HappeSim(Path(os.environ.get("HAPPE_SIM", ROOT / "build/bin/happe-sim")).absolute())


@pytest.fixture
def bus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateBus]:
    """A system bus of the test's own."""
    with private_bus(tmp_path_factory.mktemp("bus")) as running:
        yield running


@pytest.fixture
def happectl(bus: PrivateBus) -> HappeCtl:
    """Return the client that HAPPECTL names, or the one that `make build` made, on the test's bus."""
    program = Path(os.environ.get("HAPPECTL", ROOT / "build/bin/happectl")).absolute()
    if not program.is_file():
        pytest.fail(f"{program} is missing: `make build` makes it, and HAPPECTL may name another")
    return HappeCtl(program, bus)


@pytest.fixture
def t61(stopped: Happed) -> T61:
    """The machine that happed will govern; happed is not started yet."""
    stopped.configure("period_ms = 100\n")
    return T61(stopped.cpus)


@pytest.fixture
def governing(stopped: Happed, t61: T61) -> Client:
    """My client of happed, which governs and serves me."""
    me = stopped.start().serves()
    until(lambda: t61["scaling_governor"] == "userspace")
    return me


@pytest.fixture
def capped_t61(stopped: Happed) -> T61:
    """A machine that runs every condition of a study, ondemand too, though its files are plain."""
    stopped.configure("period_ms = 100\n")
    machine = T61(stopped.cpus, **CAPPED)
    machine.has_ondemand(sampling_rate="10000", up_threshold="95")
    return machine


@pytest.fixture
def experimenter(stopped: Happed, world: World, capped_t61: T61) -> Client:
    """A client that may run studies. happed serves its user while there is no run."""
    me = stopped.start().serves()
    until(lambda: capped_t61["scaling_max_freq"] == "800000", "HAPPE governs")
    world.allow("run-study", "manage-profiles")
    me.listen()
    return me


@pytest.fixture
def me(happed: Happed) -> Client:
    """My client: happed serves me, the user at the machine."""
    return happed.serves()
