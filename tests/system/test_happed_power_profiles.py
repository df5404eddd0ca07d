# SPDX-License-Identifier: GPL-2.0-or-later
"""happed beside a daemon of power profiles, which dbusmock plays under the older of its two names."""

import json
import subprocess
from collections.abc import Iterator

import pytest

from happed_t61 import T61, Machine, always_wants, shows
from happed_wire import DESTINATION, INTERFACE, MEMBER, PATH
from happed_world import MOCK, Client, Happed, World
from patience import PATIENCE_S, until
from seals import end, facts
from test_happed_governs import what
from test_happed_power import EPP, FOUND, charger, has, laptop

__all__ = ["charger", "laptop"]  # fixtures

TEMPLATE = "power_profiles_daemon"
OLDER = "net.hadess.PowerProfiles"
NEWER = "org.freedesktop.UPower.PowerProfiles"


class Profiles:
    """The daemon of power profiles."""

    def __init__(self, world: World) -> None:
        """Not yet started."""
        self.world = world

    def start(self) -> None:
        """Start it, in the profile balanced."""
        self.world.start_mock(TEMPLATE, OLDER)

    def stop(self) -> None:
        """Kill it, if it runs."""
        if TEMPLATE in self.world.mocks:
            self.world.stop_mock(TEMPLATE)

    def choose(self, profile: str) -> None:
        """Choose a profile, as the desktop's switch does."""
        fields = {PATH: "/net/hadess/PowerProfiles", INTERFACE: MOCK, MEMBER: "UpdateProperties", DESTINATION: OLDER}
        self.world.admin.call(fields, "sa{sv}", OLDER, {"ActiveProfile": ("s", profile)})


@pytest.fixture
def profiles(world: World) -> Iterator[Profiles]:
    """The daemon of power profiles, not yet started."""
    profiles = Profiles(world)
    yield profiles
    profiles.stop()


def test_happe_follows_the_power_profile(governing: Client, profiles: Profiles, t61: T61) -> None:
    always_wants(governing, 1_600_000)
    shows(t61, "scaling_setspeed", 1_600_000)
    assert governing.get("PowerProfile") == ""
    profiles.start()
    governing.sees("PowerProfile", "balanced")
    assert (governing.get("State"), governing.get("Savers"), t61["scaling_setspeed"]) == ("governing", [], "1600000")

    profiles.choose("power-saver")
    shows(t61, "scaling_setspeed", 1_200_000)
    assert governing.get("Savers") == [("power profile", "power-saver")]
    governing("Feedback", "s", "performance")
    until(lambda: governing("ListEvents", "ssxu", "", "desktop", 0, 10), "it learns")
    [event] = governing("ListEvents", "ssxu", "", "desktop", 0, 10)
    assert event[5:8] == (1_600_000, 2_200_000, 1_200_000)  # before, after, and the frequency in force

    profiles.choose("performance")
    governing.sees("State", "released")
    assert governing.get("Reason") == "the desktop's power profile is performance"
    assert t61.changed() == {}
    profiles.stop()
    governing.sees("State", "governing")
    assert (governing.get("PowerProfile"), governing.get("Savers")) == ("", [])


def test_under_its_newer_name_too_and_from_the_start(stopped: Happed, world: World) -> None:
    command = ["/usr/bin/python3", "-m", "dbusmock", "--system", NEWER, "/org/freedesktop/UPower/PowerProfiles", NEWER]
    with subprocess.Popen(command, env=world.bus.environment()) as daemon:
        until(lambda: world.there(NEWER), "it is on the bus")
        fields = {PATH: "/org/freedesktop/UPower/PowerProfiles", INTERFACE: MOCK, DESTINATION: NEWER}
        me = stopped.start().client()
        me.sees("PowerProfile", "unknown")
        active = (NEWER, "ActiveProfile", ("s", "performance"))
        world.admin.call({**fields, MEMBER: "AddProperty"}, "ssv", *active)
        world.admin.call({**fields, MEMBER: "UpdateProperties"}, "sa{sv}", NEWER, {"ActiveProfile": active[2]})
        me.sees("State", "released")
        daemon.kill()
    me.sees("State", "observing")


def test_the_energy_preference_is_the_other_daemons(stopped: Happed, laptop: Machine, profiles: Profiles) -> None:
    stopped.configure('period_ms = 100\nbattery.epp = "power"\n')
    me = stopped.start().serves()
    has(laptop, "power")
    profiles.start()
    me.sees("Epp", "")
    assert (me.get("PowerProfile"), laptop.of_all(EPP)) == ("balanced", {"power"})
    file = stopped.folder / "found.json"
    until(file.exists, "HAPPE governs again")
    found = json.loads(file.read_text())
    assert not any("epp" in policy for policy in found["policies"])
    stopped.kill()
    subprocess.run([*stopped.command(), "--restore"], env=stopped.environment, check=True, timeout=PATIENCE_S)
    assert laptop.of_all(EPP) == {"power"}

    for policy in laptop.policies:
        (policy / EPP).write_text(FOUND + "\n")
    me = stopped.start().serves()
    until(lambda: laptop.of_all("scaling_max_freq") == {"400000"}, "HAPPE governs")
    assert laptop.of_all(EPP) == {FOUND}
    profiles.stop()
    has(laptop, "power")
    assert me.get("Epp") == "power"
    assert stopped.stop() == 0
    assert laptop.of_all(EPP) == {FOUND}


def test_what_a_killed_happed_left_is_the_other_daemons(stopped: Happed, laptop: Machine, profiles: Profiles) -> None:
    stopped.configure('period_ms = 100\nbattery.epp = "power"\n')
    stopped.start().serves()
    has(laptop, "power")
    stopped.kill()
    profiles.start()
    stopped.start().serves()
    until(lambda: laptop.of_all("scaling_max_freq") == {"400000"}, "HAPPE governs")
    assert laptop.of_all(EPP) == {"power"}


def test_a_run_only_notes_the_profile(stopped: Happed, laptop: Machine, profiles: Profiles, world: World) -> None:
    world.allow("run-study")
    profiles.start()
    me = stopped.start().serves()
    me.sees("PowerProfile", "balanced")
    name, message = me.refused("StartRun", "a{sv}", what("O-HAPPE") | {"epp": ("s", "power")})
    assert (name, "leaves the energy performance preference to it" in message) == ("Failed", True)
    run = me("StartRun", "a{sv}", what("O-HAPPE"))
    profiles.choose("performance")
    me.sees("PowerProfile", "performance")
    assert me.get("State") == "run"
    end(me, run)
    noted = [(each["reason"], each["detail"]) for each in facts(me, run)["interruptions"]]
    assert noted == [("other", "power profile: performance")]
    me.sees("State", "released")
    name, message = me.refused("StartRun", "a{sv}", what("O-HAPPE"))
    assert (name, message) == ("Busy", "happed can serve no user: the desktop's power profile is performance")
    assert laptop.of_all(EPP) == {FOUND}
