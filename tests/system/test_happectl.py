# SPDX-License-Identifier: GPL-2.0-or-later
"""happectl's commands that ask happed and print, against a stand-in."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from happed_stand_in import HIDDEN, T61_KHZ, UAFP_KHZ, HappeCtl, denied, error
from patience import PATIENCE_S
from program import ROOT

EX_USAGE, EX_DATAERR, EX_NOINPUT, EX_UNAVAILABLE = 64, 65, 66, 69
EX_CANTCREAT, EX_IOERR, EX_TEMPFAIL, EX_PROTOCOL, EX_NOPERM = 73, 74, 75, 76, 77

# 3:14 on 2026-03-14, UTC, and some microseconds.
LESSON = [7, 1_773_458_040_000_123, "performance", 0, 3, 800_000, 1_200_000, 800_000, 970_000, 0]

STATUS = """\
HAPPE    0.1.0  governing (setspeed)
serving  alice, torcs
keys     faster KEY_PROG1, save power KEY_PROG2; on 2 keyboards
mode     paper
holds    none
run      none
limits   none

policy  CPUs  decided        ran at   busiest CPU  level  ladder
0       0-1   1.2 GHz (2/5)  0.8 GHz  97 %         3      0.8 GHz to 2.3 GHz

UAFP of alice, torcs
  2.3 GHz │                           ━━━
  2.2 GHz │                     ━━━━━━
  1.6 GHz │
  1.2 GHz │         ━━━━━━━━━━━━
  0.8 GHz │━━━━━━━━━
            0  1  2 [3] 4  5  6  7  8  9  level
"""


def test_status_shows_who_is_served_and_what_they_taught(happectl: HappeCtl) -> None:
    with happectl.daemon():
        ran = happectl.run("status")
    assert (ran.returncode, ran.stderr, ran.stdout) == (0, "", STATUS)


def test_status_names_who_asks_for_one_step_lower_and_says_what_happened_to_the_database(happectl: HappeCtl) -> None:
    told = "p.db is damaged and was set aside as p.db.corrupt-1; HAPPE goes on with the copy of 2026-03-14 03:14 UTC"
    with happectl.daemon({"Savers": [["powerprofilesctl", "on a train"]], "Database": told}):
        ran = happectl.run("status")
        assert json.loads(happectl.run("status", "--json").stdout)["database"] == told
    assert "\nlower    powerprofilesctl (on a train)\n" in ran.stdout
    assert f"\n\n{told}\n" in ran.stdout


@pytest.mark.parametrize(("arguments", "locale"), [(["--ascii"], "C.UTF-8"), ([], "C"), ([], "no_SUCH.locale")])
def test_status_draws_with_ascii_where_it_must(happectl: HappeCtl, arguments: list[str], locale: str) -> None:
    with happectl.daemon({"User": "björn"}):
        ran = happectl.run("status", *arguments, LC_ALL=locale)
    assert ran.stdout.isascii()
    assert "bj\\xf6rn, torcs" in ran.stdout
    assert "  1.2 GHz |         ============\n" in ran.stdout


def test_status_as_json_has_everything(happectl: HappeCtl) -> None:
    with happectl.daemon({"Holds": [["vlc", "a film"]], "Savers": [["x", ""]], "Application": "jeu \x1b[2J é"}):
        ran = happectl.run("status", "--json")
    assert ran.stdout.isascii()
    shown = json.loads(ran.stdout)
    policy = {"policy": 0, "cpus": [0, 1], "ladder_khz": T61_KHZ, "target_khz": 1_200_000, "khz": 800_000}
    assert shown["policies"] == [policy | {"util_ppm": 970_000, "level": 3, "limits_khz": None, "error": None}]
    assert (shown["user"], shown["application"], shown["hidden"]) == ("alice", "jeu \x1b[2J é", False)
    assert shown["profile_khz"] == UAFP_KHZ
    assert shown["holds"] == [{"application": "vlc", "reason": "a film"}]
    assert shown["savers"] == [{"application": "x", "reason": ""}]
    assert shown["settings"]["period_ms"] == 1000
    assert shown["settings"]["algorithm.warm_start"] is False
    assert shown["settings"]["calibration"] == {"2201000": 2_300_000}
    assert shown["run"] is None


def test_status_says_what_it_may_not_show(happectl: HappeCtl) -> None:
    with happectl.daemon({**HIDDEN, "State": "run", "Run": "4f2a"}):
        text = happectl.run("status").stdout
        shown = json.loads(happectl.run("status", "--json").stdout)
    assert "serving  not shown (another user's, or a blind run)\n" in text
    assert "run      4f2a\n" in text
    assert "UAFP" not in text
    assert (shown["hidden"], shown["user"], shown["profile_khz"]) == (True, None, None)


def test_status_says_why_nobody_is_served(happectl: HappeCtl) -> None:
    with happectl.daemon({**HIDDEN, "State": "released", "Reason": "nobody is at seat0", "Keyboards": 0}):
        text = happectl.run("status").stdout
    assert "released (setspeed): nobody is at seat0\n" in text
    assert "serving  nobody\n" in text
    assert "on no keyboard: happectl keys learn\n" in text


HOSTILE = "\x1b]0;owned\x07\x1b[2J\u009b31m\u202egnp.exe\u200b\r\n\x7f\u2028"


def test_no_escape_sequence_from_happed_reaches_the_terminal(happectl: HappeCtl) -> None:
    strings = dict.fromkeys(
        ("Version", "Backend", "State", "Reason", "User", "Application", "Run", "Database"), HOSTILE
    )
    settings = {"keys.performance": ["s", HOSTILE], "keys.power": ["s", HOSTILE]}
    hostile = {**strings, "Settings": settings, "Holds": [[HOSTILE, HOSTILE]], "Errors": [[0, HOSTILE]]}
    answers = {
        "ListProfiles": [[[HOSTILE, UAFP_KHZ]]],
        "GetProfile": error("NotFound", HOSTILE),
        "LearnKey": [HOSTILE],
        "Reload": error("Failed", HOSTILE),
    }
    commands = [["status"], ["profiles", "list"], ["profiles", "show", "a"], ["keys", "show"]]
    with happectl.daemon(hostile, **answers):
        for command in [*commands, ["keys", "learn"], ["reload"], ["doctor"]]:
            ran = happectl.run(*command)
            shown = ran.stdout + ran.stderr
            assert not [c for c in shown if c != "\n" and not c.isprintable()], command
            assert "\\x1b]0;owned\\x07" in shown, command


def test_what_no_happed_can_mean_is_another_versions(happectl: HappeCtl) -> None:
    twice = [[0, [0], [800_000, 800_000]]]
    for state in ({"Profile": [800_000] * 9}, {"Profile": UAFP_KHZ[::-1]}, {"Ladders": twice}):
        with happectl.daemon(state):
            ran = happectl.run("status")
        assert (ran.returncode, "of one version" in ran.stderr) == (EX_PROTOCOL, True)


def test_profiles_are_listed(happectl: HappeCtl) -> None:
    with happectl.daemon(ListProfiles=[[["desktop", [800_000] * 10], ["torcs", UAFP_KHZ]]]) as daemon:
        text = happectl.run("profiles", "list", "--user", "bob").stdout
        shown = json.loads(happectl.run("profiles", "list", "--json").stdout)
        assert daemon.calls() == [("ListProfiles", ["bob"]), ("ListProfiles", [""])]
    assert text.splitlines()[2] == "torcs        0.8   0.8   0.8   1.2   1.2   1.2   1.2   2.2   2.2   2.3"
    assert shown[1] == {"application": "torcs", "khz": UAFP_KHZ}


def test_a_profile_is_drawn(happectl: HappeCtl) -> None:
    with happectl.daemon(GetProfile=[UAFP_KHZ]) as daemon:
        ran = happectl.run("profiles", "show", "torcs")
        shown = json.loads(happectl.run("profiles", "show", "torcs", "--json").stdout)
        assert daemon.calls() == [("GetProfile", ["", "torcs"])] * 2
    assert ran.stdout.splitlines()[0] == "UAFP for torcs"
    assert ran.stdout.splitlines()[1:-1] == STATUS.splitlines()[12:-1]
    assert shown == {"application": "torcs", "khz": UAFP_KHZ}


def test_reset_wants_to_be_confirmed(happectl: HappeCtl) -> None:
    with happectl.daemon() as daemon:
        ran = happectl.run("profiles", "reset", "torcs", stdin="y\n")
        assert (ran.returncode, ran.stdout) == (EX_USAGE, "")
        assert "--yes" in ran.stderr
        assert happectl.run("profiles", "reset", "torcs", "--yes").stdout == "torcs: forgotten\n"
        assert daemon.calls() == [("ResetProfile", ["", "torcs"])]


@pytest.mark.parametrize(("answer", "done"), [("y", ["ResetProfile"]), ("n", []), ("", [])])
def test_reset_asks_on_a_terminal_about_a_profile_that_exists(happectl: HappeCtl, answer: str, done: list[str]) -> None:
    master, slave = os.openpty()
    os.write(master, answer.encode() + b"\n")
    with happectl.daemon(GetProfile=[UAFP_KHZ]) as daemon:
        with happectl.start("profiles", "reset", "torcs", stdin=slave) as process:
            assert "Forget the profile for torcs" in process.communicate(timeout=PATIENCE_S)[1]
        assert process.returncode == 0
        assert [name for name, _ in daemon.calls()] == ["GetProfile", *done]
    there_is_none = happectl.daemon(GetProfile=error("NotFound", "no profile for torcs"))
    with there_is_none, happectl.start("profiles", "reset", "torcs", stdin=slave) as process:
        assert process.communicate(timeout=PATIENCE_S)[1] == "happectl: no profile for torcs\n"
    os.close(master)
    os.close(slave)


DOCUMENT = {
    "format": "happe-profile/1",
    "f_max_khz": 2_300_000,
    "profiles": [{"user": "alice", "app": "torcs", "khz": UAFP_KHZ}],
}


def test_what_is_exported_is_for_its_owner_alone_and_can_be_imported(happectl: HappeCtl, tmp_path: Path) -> None:
    file = tmp_path / "profiles.json"
    file.write_text("old")
    file.chmod(0o644)
    with happectl.daemon(ExportProfiles=[json.dumps(DOCUMENT)], ImportProfiles=[1]) as daemon:
        assert happectl.run("profiles", "export", "--out", file).returncode == 0
        assert json.loads(file.read_text()) == DOCUMENT
        assert file.stat().st_mode & 0o777 == 0o600
        assert list(tmp_path.iterdir()) == [file]
        assert json.loads(happectl.run("profiles", "export").stdout) == DOCUMENT
        assert happectl.run("profiles", "import", file, "--user", "bob").stdout == "1 profile imported\n"
        assert daemon.calls()[-1] == ("ImportProfiles", ["bob", json.dumps(DOCUMENT) + "\n"])


BAD_DOCUMENTS = [
    ("", "not JSON"),
    ("{", "not JSON"),
    ('{"format": "happe-profile/2"}', "format"),
    (json.dumps(DOCUMENT).replace("2300000", "-1", 1), "f_max_khz"),
    (" " * (1 << 20) + json.dumps(DOCUMENT), "longer than 1048576 bytes"),
]


@pytest.mark.parametrize(("text", "message"), BAD_DOCUMENTS)
def test_a_bad_document_is_refused_before_happed_sees_it(
    happectl: HappeCtl, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "bad.json").write_text(text)
    with happectl.daemon() as daemon:
        ran = happectl.run("profiles", "import", tmp_path / "bad.json")
        assert daemon.calls() == []
    assert (ran.returncode, ran.stdout) == (EX_DATAERR, "")
    assert f"{tmp_path}/bad.json: " in ran.stderr
    assert message in ran.stderr


def test_an_export_that_cannot_be_written_leaves_the_old_one(happectl: HappeCtl, tmp_path: Path) -> None:
    file = tmp_path / "profiles.json"
    file.write_text("old")
    # Twice 512 bytes, which is less than the document.
    limited: list[str | Path] = [
        "sh",
        "-c",
        'ulimit -f 2; trap "" XFSZ; exec "$0" profiles export --out "$1"',
        happectl.program,
        file,
    ]
    with happectl.daemon(ExportProfiles=[json.dumps(DOCUMENT) + " " * 3_000]):
        ran = subprocess.run(limited, capture_output=True, text=True, check=False, env=happectl.bus.environment())
        full = happectl.run("profiles", "export", "--out", "/dev/full")
        nowhere = happectl.run("profiles", "export", "--out", "/nonexistent/p.json")
    assert (ran.returncode, "cannot write: File too large" in ran.stderr) == (EX_IOERR, True)
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]
    assert (full.returncode, full.stderr) == (EX_IOERR, "happectl: /dev/full: cannot write: No space left on device\n")
    assert nowhere.returncode == EX_CANTCREAT


def test_events_are_listed_page_by_page(happectl: HappeCtl) -> None:
    undoing = [8, LESSON[1], "undo", *LESSON[3:-1], 7]
    with happectl.daemon(ListEvents=[[LESSON, undoing]]) as daemon:
        text = happectl.run("events", "torcs", "--after", "6").stdout
        line, undone = map(json.loads, happectl.run("events", "torcs", "--json").stdout.splitlines())
        assert daemon.calls()[0] == ("ListEvents", ["", "torcs", 6, 1000])
    assert [line.split()[0] for line in text.splitlines()] == ["number", "7", "8"]
    assert text.splitlines()[1] == (
        "7       2026-03-14 04:44:00  faster          3    0.8 GHz -> 1.2 GHz           97 %"
    )
    assert line == {
        "number": 7,
        "time": "2026-03-14T03:14:00.000123Z",
        "key": "performance",
        "policy": 0,
        "level": 3,
        "from_khz": 800_000,
        "to_khz": 1_200_000,
        "ran_khz": 800_000,
        "util_ppm": 970_000,
    }
    assert "  undo 7  " in text.splitlines()[2]
    with happectl.daemon(ListEvents=[[]]):
        none = happectl.run("events", "doom")
        as_json = happectl.run("events", "doom", "--json")
    assert "no key press to show of doom" in none.stderr
    assert (none.returncode, none.stdout) == (0, "")
    assert (as_json.returncode, as_json.stdout, as_json.stderr) == (0, "", "")
    assert undone == {**line, "number": 8, "key": "undo", "undoes": 7}


def test_explain_names_the_press_and_what_comes_next(happectl: HappeCtl) -> None:
    probing = {"Descent": ["probing", 1_600_000, 41]}
    with happectl.daemon(ListEvents=[[LESSON]]) as daemon:
        text = happectl.run("explain").stdout
        told = json.loads(happectl.run("explain", "--json").stdout)
        assert daemon.calls()[0] == ("ListEvents", ["alice", "torcs", 0, 1000])
    with happectl.daemon(probing, ListEvents=[[LESSON]]):
        tries = json.loads(happectl.run("explain", "--json").stdout)
    with happectl.daemon(HIDDEN) as daemon:
        hidden = happectl.run("explain").stdout
        nothing = happectl.run("explain", "--json").stdout
        assert daemon.calls() == []
    assert text.splitlines() == [
        'HAPPE gives torcs 1.2 GHz at level 3, because you pressed "faster" on 2026-03-14 04:44:00.',
        "HAPPE tries nothing by itself: only key presses change what it has learned. " + ON_PRESS,
    ]
    assert told["taught"] == {"number": 7, "time": "2026-03-14T03:14:00.000123Z", "key": "performance"}
    assert (told["khz"], told["level"], told["probing"], told["seconds"]) == (1_200_000, 3, False, None)
    assert (tries["probing"], tries["restored_khz"], tries["seconds"]) == (True, 1_600_000, 41)
    assert "goes back to at least 1.6 GHz" in tries["next"]
    assert hidden == "HAPPE does not show you its decisions: they are another user's, or of a blind run.\n"
    assert nothing == "null\n"


ON_PRESS = '"Faster" goes above 1.2 GHz, and "save power" below 1.2 GHz.'


def test_explain_says_why_there_is_no_decision(happectl: HappeCtl) -> None:
    with happectl.daemon({**HIDDEN, "State": "held", "Reason": "held by vlc"}):
        held = happectl.run("explain").stdout
    undecided: dict[str, Any] = {"Targets": [], "Sample": []}
    with happectl.daemon({**undecided, "State": "failing", "Reason": "policy 0 is refused"}, ListEvents=[[]]):
        failing = happectl.run("explain").stdout
    with happectl.daemon(undecided, ListEvents=[[]]):
        early = happectl.run("explain").stdout
    assert failing == "HAPPE sets no frequency now: policy 0 is refused.\n"
    assert held == "HAPPE sets no frequency now: held by vlc.\n"
    assert early.startswith("HAPPE has not decided yet")


def test_undo_says_what_it_undid(happectl: HappeCtl) -> None:
    with happectl.daemon(Undo=[[["torcs", LESSON]]]) as daemon:
        one = happectl.run("undo")
        three = happectl.run("undo", "3", "--app", "torcs", "--user", "bob", "--json")
        none = [happectl.run("undo", bad).returncode for bad in ("0", "1001", "-1", "x")]
        assert daemon.calls() == [("Undo", ["", "", 1]), ("Undo", ["bob", "torcs", 3])]
    assert (one.stdout, one.stderr) == (
        "undone: lesson 7, faster in torcs; level 3 goes back from 1.2 GHz to 0.8 GHz\n",
        "",
    )
    assert three.stderr == "happectl: 1 undone; no older lesson can be undone\n"
    told = {"number": 7, "application": "torcs", "key": "performance", "level": 3}
    assert json.loads(three.stdout) == [{**told, "from_khz": 800_000, "to_khz": 1_200_000}]
    assert none == [EX_USAGE] * 4


def test_feedback_and_reload_are_one_call(happectl: HappeCtl) -> None:
    with happectl.daemon() as daemon:
        for command in (["feedback", "faster"], ["feedback", "save"], ["feedback", "power"], ["reload"]):
            ran = happectl.run(*command)
            assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
        pressed = [("Feedback", [key]) for key in ("performance", "power", "power")]
        assert daemon.calls() == [*pressed, ("Reload", [])]
    assert "did you mean 'performance'?" in happectl.run("feedback", "performanc").stderr


def test_keys_are_shown_and_learned(happectl: HappeCtl) -> None:
    with happectl.daemon(LearnKey=["KEY_F12"]) as daemon:
        lines = ["faster      KEY_PROG1", "save power  KEY_PROG2", "keyboards   2"]
        assert happectl.run("keys", "show").stdout.splitlines() == lines
        shown = {"performance": "KEY_PROG1", "power": "KEY_PROG2", "keyboards": 2}
        assert json.loads(happectl.run("keys", "show", "--json").stdout) == shown
        ran = happectl.run("keys", "learn", "power", "--seconds", "5")
        assert ran.stdout == "KEY_F12\nTo use it: sudo happectl keys set --power KEY_F12\n"
        assert 'Press the key for "save power" within 5 s' in ran.stderr
        learned = json.loads(happectl.run("keys", "learn", "--json").stdout)
        assert learned == {"key": "KEY_F12", "option": "keys.performance"}
        assert daemon.calls()[-1] == ("LearnKey", [30_000])


ERRORS = [
    (denied("no"), EX_NOPERM, "not allowed: no; an administrator may (sudo)"),
    (error("NotFound", "no profile for torcs"), EX_NOINPUT, "no profile for torcs"),
    (error("NotActive", "bob is not at the machine"), EX_NOPERM, "bob is not at the machine; it is for whoever"),
    (error("Busy", "a run is on"), EX_TEMPFAIL, "a run is on; try again"),
    (error("Failed", "profiles.db: disk full"), EX_IOERR, "profiles.db: disk full; journalctl"),
    ({"error": ["org.freedesktop.DBus.Error.InvalidArgs", "application: empty"]}, EX_DATAERR, "application: empty"),
    ({"error": ["org.freedesktop.DBus.Error.LimitsExceeded", "too long"]}, EX_DATAERR, "too long"),
    ({"error": ["org.example.New", "what now"]}, EX_UNAVAILABLE, "happed: what now (org.example.New)"),
    ({"exit": True}, EX_UNAVAILABLE, "happed does not answer"),
]


@pytest.mark.parametrize(("answer", "status", "message"), ERRORS)
def test_an_error_of_happed_is_explained(
    happectl: HappeCtl, answer: dict[str, object], status: int, message: str
) -> None:
    with happectl.daemon(GetProfile=answer):
        ran = happectl.run("profiles", "show", "torcs")
    assert (ran.returncode, ran.stdout) == (status, "")
    assert ran.stderr.startswith(f"happectl: {message}")


ASKING = [
    ["status"],
    ["status", "--watch"],
    ["events", "a", "--follow"],
    ["hold"],
    ["run", "fetch", "4f2a", "--out", "-"],
]


@pytest.mark.parametrize("arguments", ASKING, ids=" ".join)
def test_without_happed_it_says_how_to_start_it(happectl: HappeCtl, arguments: list[str]) -> None:
    ran = happectl.run(*arguments)
    assert (ran.returncode, "systemctl start happed; `happectl doctor`" in ran.stderr) == (EX_UNAVAILABLE, True)


def test_without_a_bus_it_says_so(happectl: HappeCtl) -> None:
    happectl.bus.stop()
    ran = happectl.run("status")
    assert (ran.returncode, "the system bus does not answer" in ran.stderr) == (EX_UNAVAILABLE, True)


BAD_ARGUMENTS = [
    [],
    ["nonsense"],
    ["profiles", "show", "a" * 256],
    ["profiles", "show", os.fsdecode(b"a\xff")],
    ["keys", "learn", "third"],
    ["run", "--condition", "fixed-0", "--subject", "P", "--application", "a", "--out", "-"],
    ["run", "--condition", "ondemand", "--subject", "P", "--application", "a"],
    ["run", "--condition", "ondemand", "--subject", "P", "--out", "-"],
    ["run", "--condition", "ondemand", "--subject", "P", "--application", "a", "--every-application", "--out", "-"],
    ["run", "--sealed", "-", "--study", "paper-a3", "--out", "t.jsonl"],
    ["run", "--sealed", "-", "--study", "paper-a3", "--run", "7ZK3M9QA"],
    ["run", "--sealed", "-", "--study", "a", "--run", "b", "--out", "t.jsonl", "--condition", "ondemand"],
    ["run", "--study", "a", "--condition", "ondemand", "--subject", "P", "--application", "a", "--out", "t.jsonl"],
]


@pytest.mark.parametrize("arguments", BAD_ARGUMENTS)
def test_wrong_usage_is_refused_without_asking_happed(happectl: HappeCtl, arguments: list[str]) -> None:
    with happectl.daemon() as daemon:
        ran = happectl.run(*arguments)
        assert daemon.calls() == []
    assert (ran.returncode, ran.stdout) == (EX_USAGE, "")
    assert "--help" in ran.stderr or "--json" in ran.stderr


def test_output_that_cannot_be_written_is_an_error(happectl: HappeCtl) -> None:
    with happectl.daemon():
        for redirection in (">/dev/full", ">&-"):
            script = f'exec "$0" status {redirection}'
            environment = happectl.bus.environment()
            ran = subprocess.run(
                ["sh", "-c", script, happectl.program], capture_output=True, check=False, env=environment
            )
            assert (ran.returncode, b"standard output" in ran.stderr) == (EX_IOERR, True)


def test_bash_completes_every_command(happectl: HappeCtl) -> None:
    script = (
        f'. {ROOT}/packaging/happectl.bash; COMP_WORDS=(happectl ""); COMP_CWORD=1; _happectl; echo "${{COMPREPLY[@]}}"'
    )
    offered = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()
    shown = happectl.run("--help").stdout.partition("Subcommands:\n")[2].partition("\n\n")[0]
    assert offered == sorted(re.findall(r"^  (\w+)", shown, re.MULTILINE))
