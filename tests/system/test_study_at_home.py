# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-study at home: days of use with a real happed, a real study server, and a window."""

from __future__ import annotations

import json
import os
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from happe_study.people.participants.models import Participant
from happe_study.results.withdrawal import services as withdrawal
from happe_study.runs.course.models import Run, RunRecord
from happe_study.runs.records.stored import opened
from happed_world import ME, MY_SESSION, somebody
from patience import until
from sealed_runs import pressed
from study_wizard import command_lines
from world import fixed_secrets

if TYPE_CHECKING:
    from happed_world import Client, Happed, World
    from study_wizard import Laptop, Server

pytest_plugins = ["study_fixtures"]

Json = dict[str, Any]

PAIR = """
[[application]]
key = "days-1-2"
name = "Days 1 and 2"
seconds = 1
"""
NOON = 12
TODAY_HAS_BEGUN, TODAY_BEGINS_LATER = "--day-begins=04:00", "--day-begins=20:00"


class Home:
    """A participant's laptop at home, where it is noon."""

    def __init__(self, laptop: Laptop, server: Server) -> None:
        """Enrol it in a study of one pair of days, and let a participant join."""
        self.laptop, self.server = laptop, server
        laptop.environment["TZ"] = f"HOME{time.gmtime().tm_hour - NOON:+d}"
        study = server.study("field", PAIR)
        self.token = server.participant(study)
        server.start()
        laptop.enrol(server.laptop(study))
        nobody = laptop.run("at-home")
        assert (nobody.returncode, "happe-study join" in nobody.stderr) == (os.EX_NOINPUT, True)
        joined = laptop.run("--browser=/bin/true", "join", typed=f"{server.url}/p/{self.token}\n")
        assert (joined.returncode, joined.stderr) == (0, "Your link: ")
        assert "systemctl --user enable --now happe-study-at-home" in joined.stdout
        lab = laptop.run()
        assert (lab.returncode, "happe-study at-home" in lab.stderr) == (os.EX_DATAERR, True)

    def count(self, words: str) -> int:
        """How many lines of the log end with these words."""
        return self.laptop.log.count(f"{words}\n")

    def start(self, day: str = TODAY_BEGINS_LATER) -> None:
        """Start the program."""
        self.laptop.start("at-home", day)

    def begins(self, pieces: int) -> None:
        """Wait until so many pieces have begun."""
        until(lambda: self.count("a piece begins") == pieces, f"{pieces} pieces; {self.laptop.log}")

    def lasts(self) -> None:
        """Wait until the day has lasted as long as it must."""
        [day] = [run["day"] for run in self.laptop.status()["runs"] if "day" in run]
        until(lambda: time.time() > day["began_s"] + 2, "a second")

    def log_out(self) -> None:
        """End the program as a session does."""
        assert self.laptop.stop() == 0, self.laptop.log

    def is_shown(self) -> bool:
        """Return whether the window is on the screen."""
        with suppress(subprocess.CalledProcessError):  # no such window
            return bool(self.laptop.screen.ask("xdotool", "search", "--onlyvisible", "--name", "^HAPPE$"))
        return False

    def answer(self, page: str, *keys: str) -> None:
        """Turn to the window, which has not taken the keyboard, and type."""
        self.laptop.until_page(page)
        until(self.is_shown, "the window")
        self.laptop.screen.ask("xdotool", "search", "--onlyvisible", "--name", "^HAPPE$", "windowactivate", "--sync")
        until(self.laptop.has_keyboard, "the window has the keyboard")
        self.laptop.press(*keys)

    def records(self) -> dict[str, list[Json]]:
        """Return each run's records as they arrived."""
        with self.server.world.database.reading() as session:
            query = select(Run.code, RunRecord.document).join(RunRecord, RunRecord.run_id == Run.id)
            found: dict[str, list[Json]] = {}
            for code, document in session.execute(query.order_by(RunRecord.id)):
                found.setdefault(code, []).append(json.loads(opened(fixed_secrets().allocation, code, document)))
        return found


@pytest.fixture
def home(laptop: Laptop, server: Server, experimenter: Client) -> Home:
    """The laptop of somebody who has joined. happed serves them as without a study."""
    assert experimenter.get("State") == "governing"
    return Home(laptop, server)


def uses(home: Home, person: Client, daemon: Happed) -> None:
    """The first piece: the person wants an application to be faster, and logs out."""
    home.start()
    home.begins(1)
    run = person.get("Run")
    trace = daemon.folder / "runs" / f"{run}.jsonl"
    with somebody(ME, "/usr/bin/sleep", "600") as process:
        daemon.client()("SetFocus", "hs", 0, "", fds=(process,))
        until(lambda: '"sleep"' in trace.read_text(), "it is in front")
        pressed(person, "performance")
        assert '"sleep"' in trace.read_text()
        home.log_out()
    assert person.get("State") == "governing"
    assert home.laptop.status()["runs"][0]["day"]["pieces"] == 1


def is_killed(home: Home, person: Client) -> None:
    """The second piece: happed ends it, and keeps it for the program's next start."""
    home.start()
    home.begins(2)
    home.laptop.kill()
    until(lambda: person.get("State") == "governing", "the piece has ended")
    assert home.count("a piece has ended") == 1


def sees_happed_end(home: Home, daemon: Happed) -> None:
    """The third piece: happed is updated, and has kept it. The fourth: somebody kills happed."""
    home.start()
    home.begins(3)
    assert home.count("a piece has ended") == 2
    daemon.stop()
    until(lambda: "happed does not give the piece" in home.laptop.log, "it misses happed")
    daemon.start().serves()
    home.begins(4)
    assert home.count("a piece has ended") == 3
    daemon.kill()
    daemon.start().serves()
    home.begins(5)
    assert home.laptop.log.count("a piece is lost") == 1


def has_no_network(home: Home, person: Client) -> None:
    """The sixth piece begins when the server answers, because nobody stores its seal."""
    home.server.kill()
    home.log_out()
    home.start()
    until(lambda: person.get("State") == "governing", "no run")
    assert home.laptop.process
    assert home.laptop.process.poll() is None
    home.server.start()
    home.begins(6)


def ends_the_day(home: Home) -> None:
    """A later day has begun: the program asks, and asks again."""
    shown = command_lines() + home.laptop.screen.ask("xwininfo", "-root", "-tree")
    assert not any(word in shown for word in (home.token, "O-HAPPE", "L-HAPPE"))
    home.log_out()
    home.start(TODAY_HAS_BEGUN)
    home.answer("rate", "Tab", "space")
    until(lambda: not home.is_shown(), "later")
    home.log_out()
    home.start()
    home.answer("rate", "4", "Return")
    home.answer("guess", "1", "Return")


def test_two_days_of_use_with_everything_that_ends_a_piece(home: Home, experimenter: Client, stopped: Happed) -> None:
    # when
    uses(home, experimenter, stopped)
    is_killed(home, experimenter)
    sees_happed_end(home, stopped)
    has_no_network(home, experimenter)
    ends_the_day(home)
    home.begins(7)
    home.lasts()
    home.log_out()
    home.start(TODAY_HAS_BEGUN)
    home.answer("rate", "5", "Return")
    home.answer("guess", "3", "Return")
    home.answer("goodbye", "Return")
    assert home.laptop.process
    assert home.laptop.process.wait() == 0
    # then
    first, second = home.server.runs()
    assert [(run.state, run.rating) for run in (first, second)] == [("complete", 4), ("complete", 5)]
    assert None not in (first.guess, second.guess)
    records = home.records()
    assert [each["piece"] for each in records[first.code]] == [{"number": n, "of": 5} for n in (1, 2, 3, 4, 5)]
    assert [each["piece"] for each in records[second.code]] == [{"number": 1, "of": 1}]
    assert [len(each.get("notes", [])) for each in records[first.code]] == [1, 0, 0, 0, 0], "of the lost piece"
    all_records = [*records[first.code], *records[second.code]]
    assert [each["rating"] for each in all_records] == [4, 4, 4, 4, 4, 5]
    modes = [each["header"]["mode"] for each in all_records]
    assert modes in (["paper"] * 5 + ["extended"], ["extended"] * 5 + ["paper"])
    assert {line["app"] for line in all_records[0]["observations"]} - {"desktop"} == {"app-1"}
    assert [len(each["learned"]) for each in all_records] == [1, 0, 0, 0, 0, 0]
    assert [{each["app"] for each in record["header"]["uafp"]} for record in all_records[1:]] == [{"app-1"}] * 4 + [
        set()
    ]
    assert "sleep" not in json.dumps(all_records)
    status = home.laptop.status()
    assert (status["waiting"], status["refused"], status["participant"]) == (0, [], None)
    kept = (home.laptop.state / "journal.db").read_bytes().decode(errors="replace") + home.laptop.log
    assert not any(word in kept for word in (home.token, "sleep", "O-HAPPE", "L-HAPPE", "kHz"))


def test_a_day_that_staff_stop_and_plan_again_begins_again_under_its_new_code(home: Home, experimenter: Client) -> None:
    """The program hears of it when it renews the piece that is on, which stays the stopped run's."""
    # given
    home.laptop.start("at-home", TODAY_BEGINS_LATER, "--piece=2")
    until(lambda: home.count("a piece begins") > 1, "a new piece replaces the first")
    stopped = home.server.runs()[0].code
    # when
    again = home.server.repeat(stopped, "The laptop was lent to somebody.")
    # then
    until(lambda: home.count(f"run {again}: a piece begins") > 1, "the new run lasts long enough")
    home.log_out()
    assert home.count(f"run {stopped}: a piece has ended") == home.count(f"run {stopped}: a piece begins")
    home.start(TODAY_HAS_BEGUN)
    home.answer("rate", "4", "Return")
    home.answer("guess", "1", "Return")
    until(lambda: home.server.runs()[1].state == "complete", "its records arrive")
    assert list(home.records()) == [again]
    assert experimenter.get("Run") != stopped


def test_whoever_leaves_is_forgotten_and_their_day_does_not_count(
    home: Home, experimenter: Client, world: World
) -> None:
    # given a locked session, in which no run begins, as the log says once
    world.session(MY_SESSION, LockedHint=("b", True))
    experimenter.sees("State", "released")
    home.start()
    until(lambda: home.server.log.read_text().count("/start") > 2, "several tries")
    world.session(MY_SESSION, LockedHint=("b", False))
    home.begins(1)
    assert home.laptop.log.count("happed does not begin run") == 1
    # when
    assert home.laptop.run("leave").returncode == 0
    assert home.laptop.process
    assert home.laptop.process.wait() == 0
    # then
    assert experimenter.get("State") == "governing"
    first, second = home.server.runs()
    assert (first.state, second.state) == ("aborted", "planned")
    [record] = home.records()[first.code]
    assert (record["piece"], "rating" in record) == ({"number": 1, "of": 1}, False)
    status = home.laptop.status()
    assert (status["waiting"], status["refused"], status["participant"]) == (0, [], None)
    assert home.token not in (home.laptop.state / "journal.db").read_bytes().decode(errors="replace")
    assert home.laptop.run("leave").returncode == os.EX_NOINPUT


def test_a_withdrawal_in_the_browser_is_as_leaving(home: Home, experimenter: Client) -> None:
    # given
    home.start()
    home.begins(1)
    home.log_out()
    # when
    with home.server.world.database.writing() as session:
        person = session.scalars(select(Participant)).first()
        assert person
        withdrawal.withdraw(session, person, fixed_secrets(), None)
    home.start()
    # then
    assert home.laptop.process
    assert home.laptop.process.wait() == 0, home.laptop.log
    assert experimenter.get("State") == "governing"
    status = home.laptop.status()
    assert (status["waiting"], status["refused"], status["participant"]) == (0, [], None)
    kept = (home.laptop.state / "journal.db").read_bytes().decode(errors="replace")
    assert not any(word in kept for word in (home.token, "observations"))
