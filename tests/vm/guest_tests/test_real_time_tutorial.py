# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/tutorials/laptop-owner.md: runs its commands from step 2 to step 8 in their order.

Here HAPPE comes from a build folder. ui/tests start the indicator and its window, which need a desktop.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from evdev import ecodes

from t61.conversation import Conversation
from t61.cpufreq import LADDER_KHZ
from t61.happe import CONFIGURATION, FOUND, UNIT, Happed
from t61.sessions import command
from t61.tutorial import blocks
from t61.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from t61.cpufreq import Policy
    from t61.keyboard import Keyboard
    from t61.sessions import Session

PAGE = Path(__file__).parents[1] / "tutorials/laptop-owner.md"
SOCKET = "happed-keys.socket"


def lines(heading: str) -> list[str]:
    """Return a section's commands, with another application in place of make, which this machine lacks."""
    text = "".join(blocks(PAGE, heading))
    return [
        re.sub(r"\s+#.*", "", line).replace("torcs", "desktop").replace("make -j8", "true")
        for line in text.splitlines()
    ]


def at(person: Session, line: str) -> Conversation:
    """Type a line at a terminal. With sudo it is root's terminal."""
    if line.startswith("sudo "):
        words = ["sh", "-c", f"exec {line.removeprefix('sudo ')}"]
        return Conversation(lambda its: subprocess.Popen(words, stdin=its, stdout=its, stderr=its, text=True))
    return Conversation(lambda its: person.start("sh", "-c", f"exec {line}", terminal=its))


def done(person: Session, line: str) -> str:
    """Type a line, wait for its end, and return its output."""
    talk = at(person, line)
    assert talk.ended() == 0, talk.said
    return talk.said


def interrupted(talk: Conversation) -> str:
    """Press Ctrl-C, which must end a program with success. Return its output."""
    talk.process.send_signal(signal.SIGINT)
    assert talk.ended() == 0, talk.said
    return talk.said


def reader_of(keyboard: Keyboard, besides: str = "") -> str | None:
    """Return the process of happed-keys that has the keyboard open."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            named = (process / "comm").read_text() == "happed-keys\n" and process.name != besides
            if named and any(file.readlink() == Path(keyboard.node) for file in (process / "fd").iterdir()):
                return process.name
    return None


@pytest.fixture
def as_before(policy: Policy) -> Iterator[dict[str, str]]:
    """Return the state of the machine before HAPPE, which the tutorial must restore."""
    shutil.rmtree("/var/lib/happe", ignore_errors=True)  # left by an earlier test
    before, configured = policy.state(), CONFIGURATION.read_text() if CONFIGURATION.exists() else None
    yield before
    command("systemctl", "disable", "--quiet", "--now", UNIT, SOCKET)
    command("systemctl", "--global", "disable", "--quiet", "happe-indicator.service")
    shutil.rmtree("/var/lib/happe", ignore_errors=True)
    if configured is None:
        CONFIGURATION.unlink(missing_ok=True)
    else:
        CONFIGURATION.write_text(configured)
    assert policy.state() == before
    assert not FOUND.exists()


def look_first(person: Session) -> None:
    """2. Look before HAPPE governs."""
    observe, shown = lines("2. Look before HAPPE governs")
    talk = at(person, observe)
    talk.hears("UAFP")
    for line in (shown, interrupted(talk)):
        assert re.search(r"GHz  busiest CPU +\d+ %  level \d .*UAFP", line), line


def set_up(person: Session, keyboard: Keyboard) -> None:
    """3. Set it up."""
    setup, doctor = lines("3. Set it up")
    talk = at(person, setup)
    talk.answers("Your choice [1]: ", "p")
    talk.hears('Press the key for "faster"')
    first = wait_until(lambda: reader_of(keyboard), "setup waits for a key")
    keyboard.press(ecodes.KEY_PROG1)
    talk.hears('Press the key for "save power"')
    wait_until(lambda: reader_of(keyboard, besides=first), "setup waits for the other key")
    keyboard.press(ecodes.KEY_PROG2)
    talk.answers("Do this?", "y")
    assert talk.ended() == 0, talk.said
    assert "fail" not in done(person, doctor)


def see(person: Session) -> None:
    """6. See what it learned, and why."""
    watch, listed, explain, show, events = lines("6. See what it learned, and why")[:5]
    talk = at(person, watch)
    talk.hears("desktop")
    interrupted(talk)
    assert "desktop" in done(person, listed)
    assert "faster" in done(person, explain)
    assert "GHz" in done(person, show)
    assert "faster" in done(person, events)


def test_an_owner_sets_it_up_teaches_it_and_turns_it_off(
    as_before: dict[str, str], policy: Policy, keyboard: Keyboard, alice: Session
) -> None:
    look_first(alice)
    assert policy.state() == as_before
    set_up(alice, keyboard)
    happed = Happed()
    happed.wait_for("governing")
    begun = LADDER_KHZ[1]
    wait_until(
        lambda: policy.governor == "userspace" and policy.khz("scaling_setspeed") == begun,
        "it begins in the middle of 2.3 GHz",
    )

    # 5. Teach it
    [faster] = re.findall(r"`(happectl feedback faster)`", PAGE.read_text(encoding="utf-8"))
    assert done(alice, faster) == ""
    wait_until(lambda: policy.khz("scaling_setspeed") > begun, "the frequency rises")
    see(alice)

    # 7. Undo a lesson
    undo, reset = lines("7. Undo a lesson")
    done(alice, undo)
    wait_until(lambda: policy.khz("scaling_setspeed") == begun, "the lesson is undone")
    talk = at(alice, reset)
    talk.answers("[y/N]", "y")
    assert talk.ended() == 0, talk.said
    assert "desktop" not in done(alice, "happectl profiles list")

    # 8. Turn it off, or remove it
    hold, restore, start, off, on = lines("8. Turn it off, or remove it")[:5]
    done(alice, hold)
    done(alice, restore)
    assert policy.state() == as_before
    done(alice, start)
    happed.wait_for("governing")
    done(alice, off)
    assert policy.state() == as_before
    done(alice, on)
    happed.wait_for("governing")
