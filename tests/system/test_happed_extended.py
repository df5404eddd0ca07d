# SPDX-License-Identifier: GPL-2.0-or-later
"""Mode `extended` on a real happed: probes are only where somebody feels them."""

import contextlib
import sqlite3

import pytest

from happed_t61 import CAPPED, T61, always_wants, shows, turns
from happed_world import MY_SESSION, Happed, World
from patience import until

LOWER, LESS, LEARNED, TOP = 800_000, 1_200_000, 1_600_000, 2_300_000
EXTENDED = '[algorithm]\nmode = "extended"\n'
BACKENDS = pytest.mark.parametrize("found", [{}, CAPPED], ids=["setspeed", "cap"])


class Quiet:
    """happed with a profile whose quiet time is over: a probe begins as soon as it may."""

    def __init__(self, happed: Happed, found: dict[str, str]) -> None:
        """Start happed twice: the first one makes the profile."""
        happed.configure("period_ms = 100\n" + EXTENDED)
        self.machine = T61(happed.cpus, **found)
        self.file = "scaling_max_freq" if found else "scaling_setspeed"
        always_wants(happed.start().serves(), LEARNED)
        assert happed.stop() == 0
        with contextlib.closing(sqlite3.connect(happed.folder / "p.db")) as connection, connection:
            connection.execute("UPDATE uafp SET state = json_object('wait_us', 130000000, 'quiet_us', 130000000)")

    def begin(self, happed: Happed) -> None:
        """Start happed."""
        self.me = happed.start().serves()
        shows(self.machine, self.file, LEARNED)

    def sees(self, state: str, khz: int) -> int:
        """Wait for a state of probes at this frequency. Return the seconds that happed shows."""
        until(lambda: self.me.get("Descent")[0] == state, f"{state}, it is {self.me.get('Descent')}")
        shows(self.machine, self.file, khz)
        seconds: int = self.me.get("Descent")[2]
        return seconds


@BACKENDS
def test_a_probe_waits_for_the_idle_hint_and_ends_with_it(stopped: Happed, world: World, found: dict[str, str]) -> None:
    quiet = Quiet(stopped, found)
    quiet.begin(stopped)
    quiet.sees("unattended", LEARNED)
    world.session(MY_SESSION, IdleSinceHint=("t", 1), Type=("s", "tty"))  # logind announces no idle time of a terminal
    turns(stopped, 3)
    quiet.sees("unattended", LEARNED)

    world.session(MY_SESSION, Type=("s", "wayland"))
    assert quiet.sees("probing", LESS) > 14 * 60  # accepted only when the hint would have been set

    world.session(MY_SESSION, IdleHint=("b", True))
    quiet.sees("unattended", LEARNED)
    assert quiet.me("ListEvents", "ssxu", "", "desktop", 0, 10) == []
    assert quiet.me("GetProfile", "ss", "", "desktop") == [LEARNED] * 10


@BACKENDS
def test_under_a_lower_limit_of_another_no_probe_begins_or_goes_on(
    stopped: Happed, world: World, found: dict[str, str]
) -> None:
    quiet = Quiet(stopped, found)
    world.session(MY_SESSION, IdleHint=("b", True), IdleSinceHint=("t", 1))
    quiet.begin(stopped)
    quiet.machine["scaling_max_freq"] = str(LOWER)
    quiet.me.sees("Limits", [(0, LOWER, LOWER)])
    world.session(MY_SESSION, IdleHint=("b", False))
    quiet.sees("waiting", LOWER)
    turns(stopped, 3)
    quiet.sees("waiting", LOWER)

    quiet.machine["scaling_max_freq"] = str(TOP)
    quiet.sees("probing", LESS)

    quiet.machine["scaling_max_freq"] = str(LOWER)
    quiet.sees("waiting", LOWER)
    quiet.machine["scaling_max_freq"] = str(TOP)
    quiet.sees("waiting", LEARNED)
    assert quiet.me("GetProfile", "ss", "", "desktop") == [LEARNED] * 10
