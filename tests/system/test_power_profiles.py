# SPDX-License-Identifier: GPL-2.0-or-later
"""The desktop's power switch, served by happe-power-profiles, and its effect on the real happed."""

from __future__ import annotations

import resource
import signal
from typing import TYPE_CHECKING

import pytest

from happed_limits import always_wants, shows
from happed_profiles import LEGACY, MODERN, Desktop, Service
from happed_wire import DESTINATION, INTERFACE, MEMBER, PATH, Peer
from patience import PATIENCE_S, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from happed_t61 import T61
    from happed_world import Client, Happed, World

EX_TEMPFAIL = 75
RUN = {"condition": ("s", "O-HAPPE"), "subject": ("s", "p1"), "application": ("s", "torcs")}


@pytest.fixture
def service(world: World, tmp_path: Path) -> Iterator[Service]:
    """The service, not yet started."""
    service = Service(world, tmp_path)
    yield service
    service.close()
    print(service.log.read_text() if service.log.exists() else "")


@pytest.fixture
def desktop(service: Service, me: Client) -> Desktop:
    """A desktop; happed serves me."""
    assert me
    return service.start()


def described(profile: str, reason: str, application: str) -> dict[str, str]:
    """A hold, as in ActiveProfileHolds."""
    return {"ApplicationId": application, "Profile": profile, "Reason": reason}


def test_happed_does_what_the_profile_means(desktop: Desktop, service: Service, me: Client) -> None:
    other = service.desktop(LEGACY)
    assert desktop.get("ActiveProfile") == "balanced"
    assert [each["Profile"] for each in desktop.get("Profiles")] == ["power-saver", "balanced", "performance"]
    assert (desktop.get("Actions"), desktop.get("ActionsInfo"), desktop.get("BatteryAware")) == ([], [], False)
    assert (desktop.get("PerformanceInhibited"), desktop.get("PerformanceDegraded")) == ("", "")
    assert desktop.get("Version") == me.get("Version")

    desktop.choose("performance")
    me.sees("State", "held")
    assert me.get("Holds") == [("power profile", "performance")]
    for each in (desktop, other):
        assert each.heard("PropertiesChanged")[1]["ActiveProfile"] == "performance"
        assert each.get("ActiveProfile") == "performance"

    other.choose("power-saver")
    me.sees("Savers", [("power profile", "power-saver")])
    me.sees("State", "observing")

    desktop.choose("balanced")
    me.sees("Savers", [])
    assert me.get("Holds") == []


def test_power_saver_is_one_step_lower_and_a_press_is_one_step(governing: Client, service: Service, t61: T61) -> None:
    desktop = service.start()
    always_wants(governing, 1_600_000)
    shows(t61, "scaling_setspeed", 1_600_000)

    desktop.choose("power-saver")
    shows(t61, "scaling_setspeed", 1_200_000)
    governing("Feedback", "s", "performance")
    until(lambda: governing("ListEvents", "ssxu", "", "desktop", 0, 10), "it learns")
    [event] = governing("ListEvents", "ssxu", "", "desktop", 0, 10)
    assert event[5:8] == (1_600_000, 2_200_000, 1_200_000)  # before, after, and the frequency in force

    always_wants(governing, 800_000)
    shows(t61, "scaling_setspeed", 800_000)
    desktop.choose("balanced")
    always_wants(governing, 1_600_000)
    shows(t61, "scaling_setspeed", 1_600_000)


def test_a_limit_of_others_degrades_performance(governing: Client, service: Service, t61: T61) -> None:
    desktop = service.start()
    t61["scaling_max_freq"] = "1600000"
    assert desktop.heard("PropertiesChanged")[1]["PerformanceDegraded"] == "frequency-limited"
    desktop.choose("performance")
    governing.sees("State", "held")
    assert desktop.get("PerformanceDegraded") == "frequency-limited"  # as it was when HAPPE stepped aside
    desktop.choose("balanced")
    t61["scaling_max_freq"] = "2300000"
    until(lambda: desktop.get("PerformanceDegraded") == "", "the limit is gone")


def test_a_hold_has_reason_and_cookie_and_ends_with_its_holder(desktop: Desktop, service: Service, me: Client) -> None:
    game, tool = service.desktop(), service.desktop(LEGACY)

    cookie = game.hold("performance", "a race", "torcs")
    me.sees("Holds", [("torcs", "a race")])
    assert desktop.get("ActiveProfile") == "performance"
    assert desktop.get("ActiveProfileHolds") == [described("performance", "a race", "torcs")]
    saver = tool.hold("power-saver", "", "sync")
    me.sees("Savers", [("sync", "power-saver")])
    assert me.get("Holds") == []

    assert game.refused(game.send(game.name, "ReleaseProfile", "u", saver)) == (
        "InvalidArgs",
        "cookie: not one of your holds",
    )
    tool("ReleaseProfile", "u", saver)
    assert tool.heard("ProfileReleased") == [saver]
    me.sees("Holds", [("torcs", "a race")])
    game.peer.close()
    me.sees("State", "observing")
    assert desktop.get("ActiveProfileHolds") == []

    cookie = tool.hold("performance")
    desktop.choose("power-saver")
    assert tool.heard("ProfileReleased") == [cookie]
    me.sees("Savers", [("power profile", "power-saver")])


def test_the_choice_survives_and_holds_do_not(desktop: Desktop, service: Service, happed: Happed, me: Client) -> None:
    desktop.choose("power-saver")
    me.sees("Savers", [("power profile", "power-saver")])
    desktop.hold("performance")
    me.sees("State", "held")

    service.end(signal.SIGKILL)
    me.sees("Savers", [])
    me.sees("State", "observing")
    again = service.start()
    assert (again.get("ActiveProfile"), again.get("ActiveProfileHolds")) == ("power-saver", [])
    me.sees("Savers", [("power profile", "power-saver")])

    happed.kill()
    again.choose("performance")
    happed.start().client().sees("State", "held")
    assert service.end() == 0


def test_a_file_that_names_no_profile_is_balanced(service: Service, me: Client) -> None:
    for text in ("turbo\n", "", "balanced" * 100):
        service.state.write_text(text)
        assert service.start().get("ActiveProfile") == "balanced"
        service.end()
    assert "names no profile" in service.log.read_text()
    assert me.get("Holds") == []


def test_on_a_full_disk_the_choice_is_in_force_and_what_was_kept_stays(desktop: Desktop, service: Service) -> None:
    desktop.choose("power-saver")
    assert service.process
    resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    desktop.choose("performance")
    assert desktop.get("ActiveProfile") == "performance"
    assert service.state.read_text() == "power-saver\n"


def test_during_a_run_no_profile_changes(service: Service, me: Client) -> None:
    service.state.write_text("performance\n")
    run = me("StartRun", "a{sv}", RUN)
    desktop = service.start()
    assert me.get("State") == "run"
    for refused in (desktop.refused_choice("balanced"), desktop.refused_hold("performance", "", "")):
        assert refused == ("Busy", "a run of a study is in progress: change the profile after it ends")
    assert me.get("Holds") == []
    me("StopRun", "s", run)
    me.sees("Holds", [("power profile", "performance")])
    assert me.refused("StartRun", "a{sv}", RUN) == (
        "Busy",
        "happed can serve no user: held by power profile: performance",
    )


def test_who_may_not_is_refused(desktop: Desktop, service: Service, world: World, me: Client) -> None:
    service.allow()
    assert desktop.refused_choice("performance")[0] == "AccessDenied"
    assert desktop.refused_hold("performance", "", "")[0] == "AccessDenied"
    world.stop_mock("polkitd")
    assert desktop.refused_choice("performance")[0] == "AccessDenied"
    assert (desktop.get("ActiveProfile"), me.get("Holds")) == ("balanced", [])


def test_hostile_callers_change_nothing(desktop: Desktop, service: Service, me: Client) -> None:
    properties = "org.freedesktop.DBus.Properties"
    mine, kept = ("ActiveProfile", ("u", 1)), ("BatteryAware", ("b", True))
    for profile in ("", "turbo", "Performance", "x" * 100_000):
        assert desktop.refused_choice(profile)[0] == "InvalidArgs"
    assert desktop.refused(desktop.send(properties, "Set", "ssv", desktop.name, *mine))[0] == "InvalidArgs"
    assert desktop.refused(desktop.send(properties, "Set", "ssv", desktop.name, *kept))[0] == "PropertyReadOnly"
    assert desktop.refused(desktop.send(properties, "Set", "s", desktop.name))[0] in {"InvalidArgs", "UnknownMethod"}
    assert desktop.refused(desktop.send(properties, "Set", "ssv", "org.example", *mine))[0] == "UnknownProperty"
    assert desktop.refused_hold("balanced", "", "")[0] == "InvalidArgs"
    assert desktop.refused_hold("performance", "x" * 256, "")[0] == "LimitsExceeded"
    assert desktop.refused(desktop.send(desktop.name, "HoldProfile", "s", "performance"))[0] == "InvalidArgs"
    for cookie in (0, 1, 2**32 - 1):
        assert desktop.refused(desktop.send(desktop.name, "ReleaseProfile", "u", cookie))[0] == "InvalidArgs"
    assert desktop.refused(desktop.send(desktop.name, "ReleaseProfile", "i", -1))[0] == "InvalidArgs"

    greedy = service.desktop()
    calls = [greedy.send(greedy.name, "HoldProfile", "sss", "power-saver", "", "greedy") for _ in range(60)]
    answers = [name for name, _ in map(greedy.refused, calls[40:])]
    assert set(answers) == {"LimitsExceeded"}
    holds = until(lambda: desktop.get("ActiveProfileHolds"), "happed grants holds")
    assert len(holds) <= 16
    greedy.peer.close()
    me.sees("Savers", [])
    assert desktop.get("ActiveProfileHolds") == []
    for _ in range(30):
        with Peer.connect(service.world.address) as hasty:
            fields = {PATH: MODERN[1], INTERFACE: MODERN[0], MEMBER: "HoldProfile", DESTINATION: MODERN[0]}
            hasty.send(fields, "sss", "performance", "", "hasty")
    until(lambda: desktop.get("ActiveProfileHolds") == [], "all holds are dropped")
    me.sees("State", "observing")


def test_another_program_with_its_name_is_named(world: World, service: Service) -> None:
    with Peer.connect(world.address) as other:
        other.bus("RequestName", "su", LEGACY[0], 0)
        assert service.launch().wait(PATIENCE_S) == EX_TEMPFAIL
    assert f"another program has the name {LEGACY[0]}" in service.log.read_text()
