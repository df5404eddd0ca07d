# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-study in its real window, beside a real happed and a real study server."""

import contextlib
import json
import os
import random
import resource
import signal
import sqlite3
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page
from sqlalchemy import func, select

import desktop
from happe_study.model.audit.models import AuditEntry
from happed_world import Client, Happed
from patience import PATIENCE_S, is_running, until
from serve import chromium
from study_wizard import Laptop, Server, application, command_lines, laptop, play, screen, server

__all__ = ["laptop", "screen", "server"]  # fixtures

Json = dict[str, Any]

GAMES = [("torcs", "Torcs"), ("quake3", "Quake 3"), ("glest", "Glest"), ("trackballs", "Trackballs")]
RUNS = 16
SEED = 5


def told(file: Path) -> list[Json]:
    """Return what the stand-ins for a game reported about themselves."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def until_games(file: Path, count: int) -> list[Json]:
    """Wait until this number of processes has reported that they run."""
    found: list[Json] = until(lambda: len(told(file)) >= count and told(file), f"{count} processes")
    return found


def press(page: Page, name: str) -> None:
    """Press a button, and wait for the next page."""
    with page.expect_navigation():
        page.get_by_role("button", name=name).first.click()


def take_part(address: str) -> None:
    """Read, agree and answer in a browser that opens this address."""
    with chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(1000 * PATIENCE_S)
        page.goto(address)
        page.wait_for_url("**/p/*")
        press(page, "Begin")
        page.get_by_label("Erase it.").check()
        press(page, "I agree and take part")
        press(page, "Send my answers")
        press(page, "I have read the instructions")


def keep(laptop: Laptop, name: str) -> None:
    """Save a picture of the steady screen, if somebody wants pictures."""
    if os.environ.get("HAPPE_PICTURES"):
        laptop.screen.ask("xdotool", "mousemove", "1279", "799")
        until(lambda: laptop.screen.seen() == laptop.screen.seen(), "nothing moves")
        desktop.keep(laptop.screen.seen(), f"study-{name}")


@contextlib.contextmanager
def full_disk(laptop: Laptop) -> Iterator[None]:
    """Let no file of the wizard grow, except for a little room for its log."""
    assert laptop.process
    resource.prlimit(laptop.process.pid, resource.RLIMIT_FSIZE, (16384, resource.RLIM_INFINITY))
    yield
    resource.prlimit(laptop.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def browser_that_writes_down(folder: Path) -> tuple[Path, Path]:
    """Make a program that takes a browser's place. Return it, and the file to which it writes its argument."""
    script, given = folder / "browser", folder / "opened"
    script.write_text(f'#!/bin/sh\nprintf %s "$1" > {given}.new && mv {given}.new {given}\n')
    script.chmod(0o755)
    return script, given


@dataclass
class Scene:
    """A participant, an experimenter, a laptop, and the game's processes."""

    server: Server
    laptop: Laptop
    experimenter: Client
    games: Path
    token: str
    happed: Happed

    def all_have_ended(self) -> None:
        """Wait until all processes of the game have ended."""
        until(lambda: not any(is_running(each["pid"]) for each in told(self.games)), "all of the game have ended")

    def plays(self) -> None:
        """The participant starts the run on the page, and the game fills the screen."""
        self.laptop.leads_on("Return")
        self.laptop.until_page("playing")
        until(lambda: desktop.fills(self.laptop.screen.seen(), "white"), "the game fills the screen")

    def experimenter_calls(self, how: Callable[[], object]) -> None:
        """Call the experimenter: the page comes, above the game."""
        before = self.laptop.log.count("the experimenter is asked")
        how()
        until(lambda: self.laptop.log.count("the experimenter is asked") > before, "the experimenter's page")
        until(lambda: not desktop.fills(self.laptop.screen.seen(), "white"), "it is above the game")


def arrives(scene: Scene, folder: Path) -> Path:
    """A participant types the link, and consents and reads in a browser. Return the file that led there."""
    laptop = scene.laptop
    script, opened = browser_that_writes_down(folder)
    laptop.browser = str(script)
    laptop.start(countdown_s=1)
    laptop.until_page("welcome")
    keep(laptop, "welcome")
    others = [laptop.run(*words).returncode for words in ([], ["upload"], ["enrol", scene.server.url, "X"])]
    assert others == 3 * [os.EX_TEMPFAIL]
    laptop.type(f"{scene.server.url}/p/{scene.token}")
    assert laptop.leads_on("Return") in ("waiting", "handout")
    laptop.until_page("handout")
    keep(laptop, "handout")
    until(opened.exists, "a browser is opened")
    page = Path(opened.read_text().removeprefix("file://"))
    leaves_at_the_questionnaire(scene, page)
    opened.unlink()
    laptop.type(f"{scene.server.url}/p/{scene.token}")
    laptop.leads_on("Return")
    laptop.until_page("handout")
    until(opened.exists, "a browser is opened again")
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert scene.token not in command_lines()
    take_part(opened.read_text())
    laptop.until_page("practice")
    return page


def leaves_at_the_questionnaire(scene: Scene, page: Path) -> None:
    """The experimenter lets a participant go who has not consented. The laptop is free for the next one at once."""
    scene.experimenter_calls(lambda: scene.laptop.run("abort"))
    scene.laptop.leads_on("Return")
    scene.laptop.until_page("welcome")
    assert not page.exists()


def practises(scene: Scene) -> None:
    """HAPPE steps aside meanwhile, even if happed restarts; the experimenter ends it."""
    keep(scene.laptop, "practice")
    scene.plays()
    assert scene.experimenter.get("State") == "held"
    scene.happed.stop()
    scene.happed.start()
    scene.experimenter.sees("State", "held")
    scene.experimenter_calls(lambda: scene.laptop.press("ctrl+alt+shift+q"))
    scene.laptop.leads_on("Return")
    scene.laptop.until_page("ready")
    scene.all_have_ended()
    assert scene.experimenter.get("State") == "governing"


def sees_the_game_crash(scene: Scene) -> None:
    """The crash interrupts the first run."""
    laptop, before = scene.laptop, len(told(scene.games))
    scene.plays()
    crashing = until_games(scene.games, before + 2)[before:]
    [game] = [process["pid"] for process in crashing if process["what"] == "game"]
    os.kill(game, signal.SIGKILL)
    assert {tuple(process["cpus"]) for process in crashing} == {(0,)}
    laptop.until_page("interrupted")
    keep(laptop, "interrupted")
    scene.all_have_ended()


def rates_and_guesses(scene: Scene) -> None:
    """The last number counts."""
    laptop = scene.laptop
    laptop.until_page("rate")
    laptop.press("3", "5", "4")
    keep(laptop, "rating")
    laptop.leads_on("Return")
    laptop.until_page("guess")
    scene.all_have_ended()
    laptop.press("3")
    keep(laptop, "guess")
    laptop.leads_on("Return")
    laptop.until_page("ready")
    keep(laptop, "ready")


def is_stopped(scene: Scene) -> str:
    """The experimenter stops the second run. Return the code of the run that the server plans in its place."""
    laptop, server = scene.laptop, scene.server
    scene.plays()
    titles = laptop.screen.ask("xwininfo", "-root", "-tree")
    assert '"HAPPE"' in titles
    shown = command_lines() + titles
    assert not any(word in shown for word in (scene.token, "fixed-", "-HAPPE", server.runs()[1].code))
    scene.experimenter_calls(lambda: laptop.run("abort"))
    laptop.type("a fire drill")
    keep(laptop, "experimenter")
    laptop.leads_on("Return")
    laptop.until_page("stopped")
    keep(laptop, "stopped")
    until(lambda: server.runs()[1].state == "aborted", "the run is aborted")
    again = server.repeat(server.runs()[1].code)
    laptop.until_page("ready")
    return again


def starts_while_the_disk_is_full(scene: Scene) -> None:
    """A run that the wizard cannot write down does not go on: it begins again, also in happed."""
    laptop, played = scene.laptop, scene.laptop.log.count(" begins\n")
    assert laptop.leads_on("Return") in ("waiting", "countdown")
    laptop.until_page("countdown")
    with full_disk(laptop):
        laptop.until_page("trouble")
        until(lambda: scene.experimenter.get("State") == "governing", "happed's run is over")
    assert laptop.leads_on("Return") == "ready"
    assert laptop.log.count(" begins\n") == played


def rates_while_the_disk_is_full(scene: Scene) -> None:
    """The wizard stores the rating as soon as the disk has room."""
    laptop = scene.laptop
    laptop.leads_on("Return")
    laptop.until_page("rate")
    with full_disk(laptop):
        laptop.leads_on("5", "Return")
        laptop.until_page("trouble")
        assert "journal.db: disk I/O error" in laptop.log  # the page has neither the file nor the error
        keep(laptop, "trouble")
    assert laptop.leads_on("Return") == "guess"
    play(laptop, "goodbye")
    keep(laptop, "goodbye")


def test_a_sitting_from_the_link_to_the_goodbye(
    tmp_path: Path, server: Server, laptop: Laptop, experimenter: Client, stopped: Happed
) -> None:
    """Consent in a real browser, practice, a game that crashes, a stopped run, a full disk."""
    # given
    games = tmp_path / "games"
    game = application("torcs", "Torcs, a car race", games, seconds=4, practice=60)
    study = server.study("levels", game, order="levels = 2")
    scene = Scene(server, laptop, experimenter, games, server.participant(study, enrolled=False), stopped)
    server.start()
    assert experimenter.get("State") == "governing"
    stopped.world.allow("run-study", "hold")
    laptop.enrol(server.laptop(study))
    # when
    page = arrives(scene, tmp_path)
    practises(scene)
    sees_the_game_crash(scene)
    laptop.leads_on("Return")
    rates_and_guesses(scene)
    again = is_stopped(scene)
    starts_while_the_disk_is_full(scene)
    rates_while_the_disk_is_full(scene)
    # A wizard that ends does not send a heartbeat or a record that still waits.
    until(lambda: (said := server.heartbeat()) and said["state"] == "idle", "the last sign of life")
    until(lambda: len(server.records()) == len(server.runs()), "the last record")
    assert laptop.stop() == 0
    # then
    first, aborted, second = server.runs()
    assert [run.state for run in (first, aborted, second)] == ["complete", "replaced", "complete"]
    assert (first.rating, first.guess, second.code, second.rating) == (4, "dont-know", again, 5)
    assert (aborted.rating, aborted.abort_reason) == (None, "a fire drill")
    records = server.records()
    assert set(records) == {first.code, aborted.code, second.code}
    assert (records[first.code]["rating"], len(records[first.code]["notes"])) == (4, 1)
    assert "rating" not in records[aborted.code]
    assert all(record["ended_us"] - record["started_us"] >= 4e6 for record in (records[first.code], records[again]))
    status = laptop.status()
    assert (status["waiting"], status["refused"], status["participant"]) == (0, [], None)
    assert server.clocks() == 2, "before and after"
    assert not page.exists()
    secret = json.loads((laptop.state / "device.json").read_text())["token"]
    assert not any(word in laptop.log for word in (scene.token, secret, "fixed", "kHz", "fire"))
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (laptop.state, *laptop.state.iterdir())}
    assert modes == {"state": 0o700, "device.json": 0o600, "journal.db": 0o600}


def test_what_waits_is_sent_without_a_window(
    tmp_path: Path, server: Server, laptop: Laptop, experimenter: Client
) -> None:
    """The server stops while a participant plays, and comes back after the wizard has ended."""
    # given
    assert experimenter.get("State") == "governing"
    study = server.study("levels", application("torcs", "Torcs", tmp_path / "games"), order="levels = 2")
    token = server.participant(study)
    server.start()
    laptop.enrol(server.laptop(study))
    laptop.environment["XDG_CURRENT_DESKTOP"] = "GNOME"  # under GNOME, Enter presses the widget that has the keyboard
    laptop.start("--language=de", settle_ms=4000)
    laptop.until_page("welcome")
    laptop.type(token)
    laptop.leads_on("Return")
    laptop.until_page("ready")
    keep(laptop, "ready-de")
    laptop.leads_on("Return")
    laptop.until_page("playing")
    # when
    server.kill()
    until(lambda: "has ended" in laptop.log, "the run has ended")
    laptop.press("1", "Return")  # hands that are still playing
    laptop.until_page("rate")
    laptop.leads_on("2", "Return")
    assert laptop.leads_on("3", "Return") == "ready"
    assert laptop.leads_on("Return") == "waiting"
    laptop.stop()
    # then
    assert laptop.status()["waiting"] == 4, "end, rating, record, guess"
    there_is_no_server = laptop.run("upload", "--patience=1")
    assert (there_is_no_server.returncode, "Connection refused" in there_is_no_server.stderr) == (
        os.EX_UNAVAILABLE,
        True,
    )
    server.start()
    assert laptop.run("upload").returncode == 0
    assert laptop.status()["waiting"] == 0
    first = server.runs()[0]
    assert (first.state, first.rating, set(server.records())) == ("complete", 2, {first.code})
    rates_what_has_no_record(laptop)
    second = server.runs()[1]
    assert (second.state, second.rating, second.guess) == ("rated", 4, "level-1")
    assert set(server.records()) == {first.code}


def rates_what_has_no_record(laptop: Laptop) -> None:
    """Play the second run, and spoil its stored trace."""
    laptop.start()
    laptop.until_page("ready")
    laptop.leads_on("Return")
    laptop.until_page("rate")
    with contextlib.closing(sqlite3.connect(laptop.state / "journal.db")) as journal, journal:
        journal.execute("UPDATE run SET trace = 'half a tra'")
    play(laptop, "goodbye")
    assert "has no record" in laptop.log
    assert "half" not in laptop.log


class Chaos:
    """Kills something every few seconds, and starts it again."""

    def __init__(self, laptop: Laptop, server: Server, daemon: Happed) -> None:
        """Decide what to kill, and when."""
        self.laptop, self.server, self.daemon = laptop, server, daemon
        self.chance = random.Random(SEED)
        self.victims = ["wizard", "daemon", "server"] * 4
        self.chance.shuffle(self.victims)
        self.killed: Counter[str] = Counter()
        self.next = self._soon()

    def _soon(self) -> float:
        return time.monotonic() + self.chance.uniform(0.5, 5)

    def __call__(self) -> None:
        """Kill the next one, if it is time."""
        if not self.victims or time.monotonic() < self.next:
            return
        victim = self.victims.pop()
        self.killed[victim] += 1
        if victim == "wizard":
            self.laptop.kill()
            self.laptop.start()
        elif victim == "daemon":
            self.daemon.kill()
            self.daemon.start()
        else:
            self.server.kill()
            self.server.start()
        self.next = self._soon()


@pytest.mark.parametrize("screen", ["xfwm4"], indirect=True)
def test_sixteen_runs_survive_kills_of_wizard_daemon_and_server(
    tmp_path: Path, server: Server, laptop: Laptop, experimenter: Client, stopped: Happed
) -> None:
    # given
    assert experimenter.get("State") == "governing"
    games = tmp_path / "games"
    study = server.study("paper", "".join(application(key, name, games) for key, name in GAMES), participants=1)
    token = server.participant(study)
    server.start()
    laptop.enrol(server.laptop(study))
    laptop.start()
    laptop.until_page("welcome")
    laptop.type(token)
    laptop.leads_on("Return")
    # when
    chaos = Chaos(laptop, server, stopped)
    play(laptop, "goodbye", chaos)
    # then
    assert chaos.killed == {"wizard": 4, "daemon": 4, "server": 4}
    runs, records = server.runs(), server.records()
    assert [run.state for run in runs] == ["complete"] * RUNS
    assert [(run.rating, run.guess) for run in runs] == [(4, "usual")] * RUNS
    assert set(records) == {run.code for run in runs}
    assert {record["rating"] for record in records.values()} == {4}
    assert all(record["ended_us"] - record["started_us"] >= 2e6 for record in records.values())
    assert sum("notes" in record for record in records.values()) > 0, "some were interrupted"
    status = laptop.status()
    assert (status["waiting"], status["refused"]) == (0, [])
    with server.world.database.reading() as session:
        query = select(AuditEntry.action, func.count()).group_by(AuditEntry.action)
        said = {str(action): int(count) for action, count in session.execute(query)}
    assert {said[f"run.{action}"] for action in ("started", "ended", "rated", "guessed")} == {RUNS}
