# SPDX-License-Identifier: GPL-2.0-or-later
"""A sitting: happe-study in its real window, a real happed, a real study server, and typed keys."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

import desktop
import given_participants
import given_studies
from desktop import X11
from happe_study.base.database import Database
from happe_study.model.devices import ClockEstimate, Device
from happe_study.model.rules import DeviceKind
from happe_study.model.runs import Run, RunRecord
from happe_study.model.studies import Study
from happe_study.operations import migrations
from happe_study.study.people import devices
from happe_study.study.records.stored import opened
from happe_study.study.runs import services as run_services
from happed_world import Happed
from operated import Operated
from patience import PATIENCE_S, until
from private_bus import PrivateBus
from study_server import ServerProcess
from world import fixed_secrets

Json = dict[str, Any]

GAME = Path(__file__).with_name("stand_in_game.py")
PROTOCOL = """\
name = "{name}"
title = "How a computer's speed is controlled while people play"
participants = {participants}

[order]
scheme = "{scheme}"
{order}
{applications}
[questionnaire]
computer_experience = false
game_experience = false
field_of_study = false

[consent]
version = "1"
text = "I take part of my own will."

[handout]
text = "Play as you like."

[guess]
ask = true
"""
APPLICATION = """
[[application]]
key = "{key}"
name = "{name}"
command = {command}
seconds = {seconds}
practice_seconds = {practice}
cpu = 0
"""


def application(key: str, name: str, told: Path, *, seconds: int = 2, practice: int = 0) -> str:
    """Return a stand-in for a game, which reports its processes in a file."""
    command = json.dumps([sys.executable, str(GAME), str(told), desktop.program("happe-ui-window")])
    return APPLICATION.format(key=key, name=name, command=command, seconds=seconds, practice=practice)


class Server(ServerProcess, Operated):
    """A study server as a process that tests may kill, and its data."""

    def __init__(self, folder: Path, **fields: object) -> None:
        """Make it. `fields` go into its configuration."""
        folder.mkdir()
        url = f"sqlite:///{folder / 'server.db'}"
        database = Database(url)
        migrations.upgrade(database, secrets=fixed_secrets())
        database.dispose()
        Operated.__init__(self, folder, url)
        ServerProcess.__init__(self, self.file)
        listen = {"listen": self.address, "metrics_listen": "off", "public_url": self.url}
        self.configure(**listen, workers=1, threads=4, log_level="info", **fields)

    def close(self) -> None:
        """End it, and the database's connections."""
        self.stop()
        super().close()

    def laptop(self, study: Study) -> str:
        """Add a laptop. Return its enrolment code."""
        with self.world.database.writing() as session:
            return devices.create(session, study.id, "t61", DeviceKind.LAPTOP, None)[1]

    def study(self, scheme: str, applications: str, participants: int = 2, order: str = "") -> Study:
        """Make and lock a study."""
        text = PROTOCOL.format(
            name="games", scheme=scheme, applications=applications, participants=participants, order=order
        )
        return given_studies.study(self.world, protocol=text)

    def participant(self, study: Study, *, enrolled: bool = True) -> str:
        """A participant's token."""
        return given_participants.participant(self.world, study, enrolled=enrolled)[1]

    def runs(self) -> list[Run]:
        """All runs, by position and attempt."""
        with self.world.database.reading() as session:
            return list(session.scalars(select(Run).order_by(Run.participant_id, Run.position, Run.attempt)))

    def repeat(self, code: str, why: str = "") -> str:
        """Plan an aborted run again, as staff does. Return the new code. `why`: abort it before, for this reason."""
        with self.world.database.writing() as session:
            run = session.scalars(select(Run).where(Run.code == code)).one()
            if why:
                run_services.abort(session, run, why, None)
            return run_services.replace(session, run, fixed_secrets(), None).code

    def clocks(self) -> int:
        """How often a laptop has compared its clock with the server's."""
        with self.world.database.reading() as session:
            return session.scalar(select(func.count()).select_from(ClockEstimate)) or 0

    def heartbeat(self) -> Json | None:
        """Return the laptop's last heartbeat."""
        with self.world.database.reading() as session:
            said: Json | None = session.scalars(select(Device.heartbeat)).one()
            return said

    def records(self) -> dict[str, Json]:
        """Return the records that have arrived, opened, by the run's code."""
        with self.world.database.reading() as session:
            rows = session.execute(select(Run.code, RunRecord.document).join(RunRecord, RunRecord.run_id == Run.id))
            key = fixed_secrets().allocation
            return {code: json.loads(opened(key, code, document)) for code, document in rows}


@dataclass
class Laptop:
    """A laptop with an experimenter's account."""

    folder: Path
    screen: X11
    bus: PrivateBus
    server: str
    browser: str = "/bin/true"
    process: subprocess.Popen[bytes] | None = None
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make its folder."""
        self.folder.mkdir()

    @property
    def state(self) -> Path:
        """Its wizard's folder."""
        return self.folder / "state"

    def command(self, *arguments: str) -> list[str]:
        """A command line of the program."""
        return [desktop.program("happe-study"), f"--state={self.state}", *arguments]

    def run(self, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            self.command(*arguments),
            input=typed,
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )

    def _environment(self) -> dict[str, str]:
        address = {"DBUS_SYSTEM_BUS_ADDRESS": self.bus.address}
        return {**self.screen.environment, **address, "QT_QPA_PLATFORM": "xcb", **self.environment}

    def enrol(self, code: str) -> None:
        """Enrol in the study."""
        ran = self.run("enrol", self.server, typed=code + "\n")
        assert ran.returncode == 0, ran.stderr

    def start(self, *options: str, settle_ms: int = 150, countdown_s: int = 0) -> None:
        """Start the wizard."""
        quick = [f"--countdown={countdown_s}", f"--settle={settle_ms}", f"--browser={self.browser}"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self.command(*quick), *options],
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        """End it with SIGKILL."""
        assert self.process
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def stop(self) -> int:
        """End it normally, and return its exit status."""
        assert self.process
        self.process.terminate()
        return self.process.wait(PATIENCE_S)

    @property
    def log(self) -> str:
        """Return its standard error."""
        return (self.folder / "log").read_text()

    def page(self) -> tuple[str, int]:
        """Return the page that accepts answers now, and the number of such pages before it."""
        pages = re.findall(r"^happe-study: page (\w+)", self.log, re.MULTILINE)
        return (pages[-1], len(pages)) if pages else ("", 0)

    def press(self, *keys: str) -> None:
        """Press keys. They reach the window that has the keyboard."""
        self.screen.ask("xdotool", "key", *keys)

    def has_keyboard(self) -> bool:
        """Return whether the wizard's window has the keyboard."""
        with suppress(subprocess.CalledProcessError):  # no window has the keyboard
            return self.screen.ask("xdotool", "getwindowfocus", "getwindowname").strip() == "HAPPE"
        return False

    def type(self, text: str) -> None:
        """Type into the wizard's window."""
        until(self.has_keyboard, "the wizard has the keyboard")
        self.screen.ask("xdotool", "type", "--", text)

    def until_page(self, page: str) -> None:
        """Wait for a page."""
        until(lambda: self.page()[0] == page, f"{page}; {self.log}")

    def leads_on(self, *keys: str) -> str:
        """Press keys until another page appears, because a busy desktop may lose them. Return that page."""
        before = self.page()
        end = time.monotonic() + PATIENCE_S
        while True:
            self.press(*keys)
            with suppress(AssertionError):
                until(lambda: self.page()[1] > before[1], "another page", 2)
                return self.page()[0]
            assert time.monotonic() < end, self.log

    def status(self) -> Json:
        """Return the output of `happe-study status`."""
        ran = self.run("status", "--json")
        assert ran.returncode == 0, ran.stderr
        told: Json = json.loads(ran.stdout)
        return told

    def close(self) -> None:
        """End everything."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE_S)


ANSWERS = {"ready": ["Return"], "interrupted": ["Return"], "trouble": ["Return"], "rate": ["4", "Return"]}
ANSWERS |= {"guess": ["1", "Return"]}


def play(laptop: Laptop, last: str, meanwhile: Callable[[], object] = bool) -> None:
    """Answer all questions until a page appears. Call `meanwhile` again and again until then."""
    answered, since = 0, 0.0

    def answer() -> bool:
        nonlocal answered, since
        page = laptop.page()
        meanwhile()
        keys = ANSWERS.get(page[0])
        again = time.monotonic() - since > 2  # noqa: PLR2004 - seconds; a busy desktop may lose a key
        if page[0] != last and keys and (page[1] > answered or again):
            answered, since = page[1], time.monotonic()
            laptop.press(*keys)
        return page[0] == last

    until(answer, f"the page {last}", 5 * PATIENCE_S)


def command_lines() -> str:
    """Return the command lines of all users' processes, as `ps` shows them."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return "\n".join(found)


@pytest.fixture
def screen(request: pytest.FixtureRequest) -> Iterator[X11]:
    """A screen, with openbox or the window manager that the test names."""
    with desktop.x11(getattr(request, "param", "openbox")) as shown:
        yield shown


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A study server that accepts runs as short as two seconds."""
    made = Server(tmp_path / "server", least_share_of_run=0.9)
    yield made
    made.close()


@pytest.fixture
def laptop(tmp_path: Path, screen: X11, server: Server, stopped: Happed) -> Iterator[Laptop]:
    """A laptop, not yet enrolled."""
    made = Laptop(tmp_path / "laptop", screen, stopped.world.bus, server.url)
    yield made
    made.close()
    if (made.folder / "log").exists():
        print(made.log)
