# SPDX-License-Identifier: GPL-2.0-or-later
"""The emulated laboratory's judgement: a correct study gets no complaint, and each fault gets its own."""

from __future__ import annotations

import copy
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from image import Image
from laboratory import desktop
from laboratory.analysing import Found
from laboratory.judging import complaints, table
from laboratory.server import CROSSOVER, EXTENDED
from t61.cpufreq import LADDER_KHZ
from t61.power import watts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ORDER = ("T-HAPPE", "ondemand", "B-HAPPE", "ondemand+indicator", "O-HAPPE")
TRYING = ("T-HAPPE", "L-HAPPE", "O-HAPPE")
RUN_US, LOOKS = 1_200_000_000, 20
AHEAD_US = 1_700_000_000_000_000  # the server's clock minus the laptop's


def look(condition: str, begin_us: int, number: int) -> dict[str, Any]:
    """Return a look in a run. Each look adds one change of the frequency and half a second at 1.6 GHz."""
    at = begin_us + number * RUN_US // LOOKS
    spent = {str(khz): begin_us / 1e6 + (number / 2 if khz == LADDER_KHZ[2] else 0) for khz in LADDER_KHZ}
    governor = "userspace" if condition.endswith("-HAPPE") else "ondemand"
    seen = {"governor": governor, "indicator": condition in ("B-HAPPE", "ondemand+indicator")}
    return {"from_us": at, "to_us": at + 1000, "seconds": spent, "transitions": number, **seen}


def study(scheme: str = CROSSOVER, order: Sequence[str] = ORDER) -> Found:
    """Return one participant's sitting: at 1.6 GHz under HAPPE, at 2.3 GHz under ondemand, always half busy."""
    names = ("runs", "ratings", "records", "samples", "keys", "probes", "learning_events", "traces", "clocks")
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    looks, told, measured = [], [], {}
    for place, condition in enumerate(order):
        run, begin, happe = f"RUN{place}", (place + 1) * 2 * RUN_US, condition.endswith("-HAPPE")
        khz = LADDER_KHZ[2] if happe else LADDER_KHZ[4]
        times = {"started_us": begin, "ended_us": begin + RUN_US}
        served = {"started_us": begin + AHEAD_US, "ended_us": begin + RUN_US + AHEAD_US, "laptop": "T61"}
        tables["runs"].append({"run": run, "participant": "P", "condition": condition, "state": "complete", **served})
        tables["ratings"].append({"run": run, "rating": 4, "guess": "dont-know"})
        machine = {"driver": "acpi-cpufreq", "backend": "setspeed", "governor": "userspace" if happe else "ondemand"}
        tables["records"].append({"run": run, **machine, **times})
        for at, one in ((-1, LADDER_KHZ[0]), (0, khz), (RUN_US, khz)):
            tables["samples"].append({"run": run, "t_us": begin + at, "cur_khz": one})
        told += [(begin - 1_000_000, khz, 0.5), (begin + RUN_US, LADDER_KHZ[0], 0.0)]
        tables["learning_events"] += [{"run": run, "condition": condition}] * (condition == "T-HAPPE")
        looks += [look(condition, begin, number) for number in range(LOOKS)]
        looks.append(look("ondemand", begin, LOOKS))  # in no run
        measured[run] = {"mean_w": watts(khz, 0.5) + 0.3, "expanded_uncertainty": 0.2}
    tables["traces"].append({"sealed_us": 1})
    for device, offset, uncertainty in (("T61", AHEAD_US, 10), ("T61", 0, 5000), ("BENCH", 0, 1)):
        clock = {"clock": "monotonic:1", "offset_us": offset, "uncertainty_us": uncertainty}
        tables["clocks"].append({"device": device, **clock})
    totals = [{"condition": name, "improvement": 0.2 if name.endswith("-HAPPE") else 0.0} for name in order]
    results = {"sections": [{"key": "table-a1", "data": {"totals": totals}}]}
    tables["keys"].append({"run": "RUN0", "key": "performance", "t_us": 2 * RUN_US + 1})
    sitting = {"looks": looks, "status": {"waiting": 0, "refused": []}, "presses": {"green": 1, "yellow": 1}}
    return Found(scheme, tables, sitting, told, measured, results)


def extended() -> Found:
    """Return one under `extended`. A sham probe changes nothing. A real one takes a step, and a press refuses it."""
    found = study(EXTENDED, TRYING)
    begin, minute = 4 * RUN_US, 60_000_000
    times = (begin + 10 * minute, begin + 13 * minute)
    served = {"run": "RUN1", "served_us": begin + 20 * minute}
    found.tables["probes"] += [
        {"t_us": times[0], "sham": True, "outcome": "accepted", **served},
        {"t_us": times[1], "sham": False, "outcome": "refused", **served},
    ]
    for at, step in ((times[0], 2), (times[0] + minute, 2), (times[1], 2), (times[1] + 1, 1), (times[1] + 2, 2)):
        found.tables["samples"].append({"run": "RUN1", "t_us": at, "cur_khz": LADDER_KHZ[step]})
    found.tables["keys"].append({"run": "RUN1", "key": "performance", "t_us": times[1] + 1})
    data = {"real": {"probes": 1, "pressed": 1}, "sham": {"probes": 1, "pressed": 0}, "trials": 2}
    found.results["sections"].append({"key": "probes", "data": data})
    return found


def test_a_study_as_it_must_be_has_no_complaint_and_a_line_for_each_run() -> None:
    found = study()
    assert list(complaints(found)) == []
    lines = list(table(found))
    assert len(lines) == 1 + len(ORDER) + 3
    assert lines[1].split() == ["P", "T-HAPPE", "0", "0", "100", "0", "0", "1", "1", "29.81", "+-", "0.20", "29.51"]
    assert lines[-1] == "B-HAPPE saves 20.0% of ondemand's power"


def governed_by(place: int, governor: str) -> Callable[[Found], None]:
    """Make another governor appear in one look of a run."""

    def change(found: Found) -> None:
        found.sitting["looks"][place * (LOOKS + 1) + 3]["governor"] = governor

    return change


def fixed(place: int) -> Callable[[Found], None]:
    """Make a run's frequency constant."""

    def change(found: Found) -> None:
        for one in found.sitting["looks"][place * (LOOKS + 1) :][:LOOKS]:
            one["transitions"] = 7

    return change


WRONG: dict[str, Callable[[Found], Any]] = {
    "(ondemand): ondemand and userspace governed, in 20 looks": governed_by(1, "userspace"),
    "(B-HAPPE): ondemand and userspace governed, in 20 looks": governed_by(2, "ondemand"),
    "(ondemand): ondemand changed the frequency 0 times": fixed(1),
    "(T-HAPPE): happed did not change the frequency": lambda found: found.tables["samples"].__delitem__(0),
    "(T-HAPPE): userspace governed, in 2 looks": lambda found: found.sitting["looks"].__delitem__(slice(0, 18)),
    "(B-HAPPE): the indicator was not": lambda found: found.sitting["looks"][2 * (LOOKS + 1)].update(indicator=False),
    "(T-HAPPE): 1 presses taught 0 times": lambda found: found.tables["learning_events"].clear(),
    "nobody taught anything under T-HAPPE": lambda found: found.tables["learning_events"].clear(),
    "(ondemand): 0 presses taught 1 times": lambda found: found.tables["learning_events"].append(
        {"run": "RUN1", "condition": "ondemand"}
    ),
    "(T-HAPPE): it is complete, with {'ratings': 2,": lambda found: found.tables["ratings"].append({"run": "RUN0"}),
    "(O-HAPPE): it is complete, with {'ratings': 1, 'records': 0}": lambda found: found.tables["records"].pop(),
    "(ondemand): it is started": lambda found: found.tables["runs"][1].update(state="started"),
    "the rating or the guess is missing": lambda found: found.tables["ratings"][3].update(guess=None),
    "the back-end cap": lambda found: found.tables["records"][3].update(backend="cap"),
    "(ondemand): 31.00 W were measured, where Table A.2 has 36.78 W": lambda found: found.watts["RUN1"].update(
        mean_w=31
    ),
    "P played ondemand, T-HAPPE": lambda found: found.tables["runs"][0].update(
        started_us=AHEAD_US + 4 * RUN_US + 1, ended_us=AHEAD_US + 4 * RUN_US + 2
    ),
    "the laptop has not sent everything": lambda found: found.sitting["status"].update(waiting=1),
    "of 10 presses 1 were recorded": lambda found: found.sitting["presses"].update(green=9),
    "of 2 presses 3 were recorded": lambda found: found.tables["keys"].extend([{"run": "RUN1"}] * 2),
    "there is not one sealed trace": lambda found: found.tables["traces"][0].update(sealed_us=None),
    "O-HAPPE saves -1.0%": lambda found: found.results["sections"][0]["data"]["totals"][4].update(improvement=-0.01),
}


@pytest.mark.parametrize("complaint", WRONG)
def test_what_is_wrong_is_told(complaint: str) -> None:
    found = copy.deepcopy(study())
    WRONG[complaint](found)
    told = list(complaints(found))
    assert any(complaint in each for each in told), told
    assert len(list(table(found))) == 1 + len(ORDER) + 3


def test_a_study_of_probes_as_it_must_be_has_no_complaint_and_a_line_for_each_probe() -> None:
    found = extended()
    assert list(complaints(found)) == []
    assert list(table(found))[-2:] == [
        "RUN1: a sham probe, accepted, at 1.6 GHz, no press",
        "RUN1: a real probe, refused, at 1.6 to 1.2 to 1.6 GHz, a press",
    ]


WRONG_PROBES: dict[str, Callable[[Found], Any]] = {
    "P played T-HAPPE, O-HAPPE, O-HAPPE": lambda found: found.tables["runs"][1].update(condition="O-HAPPE"),
    "(L-HAPPE): it has 1 probes, not of both kinds": lambda found: found.tables["probes"].pop(),
    "(O-HAPPE): it has 1 probes": lambda found: found.tables["probes"][0].update(run="RUN2"),
    "a sham probe was cut short": lambda found: found.tables["probes"][0].update(outcome=""),
    "a real probe was accepted": lambda found: found.tables["probes"][1].update(outcome="accepted"),
    "a real probe began in the run's last minute": lambda found: found.tables["probes"][1].update(served_us=0),
    "a real probe was not followed by a press": lambda found: found.tables["keys"].pop(),
    "a sham probe was followed by a press": lambda found: found.tables["keys"].append(
        {"run": "RUN1", "key": "performance", "t_us": found.tables["probes"][0]["t_us"] + 1}
    ),
    "a sham probe ran at [1600000, 1200000] kHz": lambda found: found.tables["samples"][-4].update(
        cur_khz=LADDER_KHZ[1]
    ),
    "a real probe ran at [1600000] kHz": lambda found: found.tables["samples"][-2].update(cur_khz=LADDER_KHZ[2]),
    "the report says of probes [], the export has": lambda found: found.results["sections"].pop(),
    "the report says of probes [{'real': {'probes': 2,": lambda found: found.results["sections"][1]["data"].update(
        real={"probes": 2, "pressed": 1}
    ),
}


@pytest.mark.parametrize("complaint", WRONG_PROBES)
def test_what_is_wrong_with_probes_is_told(complaint: str) -> None:
    found = extended()
    WRONG_PROBES[complaint](found)
    told = list(complaints(found))
    assert any(complaint in each for each in told), told


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with HAPPE in it, to which `desktop.make` adds one program."""
    made = tmp_path / "tree"
    for name in ("usr/bin/happe-study", "usr/libexec/happe/happe-keep"):
        (made / name).parent.mkdir(parents=True)
        shutil.copy("/usr/bin/true", made / name)
    monkeypatch.setattr(desktop, "PROGRAMS", [Path("/usr/bin/xkbcomp")])
    monkeypatch.setattr(desktop, "PLUGIN", Path("/usr/bin/xdotool"))
    return made


@pytest.mark.slow
def test_the_guest_gets_the_libraries_that_it_lacks_and_no_other(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "libc.so.6").touch()
    (tmp_path / "libX11.so.6").touch()
    packed = ["bsdtar", "-cf", "root.cpio", "--format", "newc", "libc.so.6", "libX11.so.6"]
    subprocess.run(packed, check=True, cwd=tmp_path)
    desktop.make(tree, Image(tmp_path))
    libraries = {path.name for path in tree.rglob("*.so*")}
    assert {"libxkbfile.so.1", "libxdo.so.3"} <= libraries
    assert not {"libc.so.6", "libX11.so.6"} & libraries
    assert (tree / "usr/bin/xkbcomp").stat().st_mode & 0o111
    assert (tree / "usr/share/X11/xkb/rules/evdev").exists()


def test_a_program_that_is_missing_is_named(tree: Path, tmp_path: Path) -> None:
    (tree / "usr/bin/happe-study").unlink()
    with pytest.raises(SystemExit, match=r"usr/bin/happe-study is missing; run `make setup build`"):
        desktop.make(tree, Image(tmp_path))
