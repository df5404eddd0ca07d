# SPDX-License-Identifier: GPL-2.0-or-later
"""The laptop's side of the emulated laboratory: enrols it, seats each participant, and notes what the kernel does.

usage: python -m t61.sitting      the host sends the plan by the port `plan`; this program leaves results/sitting.json

This program knows no run and no condition: its notes only have times.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import dbus

from t61.cpufreq import Policy
from t61.hands import GREEN, YELLOW, Hands
from t61.happe import FOUND, NAME, OBJECT, Happed
from t61.keyboard import Keyboard
from t61.sessions import Session, command, log_in
from t61.waiting import wait_until
from t61.wizard import Wizard

PORTS = Path("/dev/virtio-ports")
HERS = Path("/run/laboratory")
SCREEN = HERS / "screen"
PLAN_S = 1200  # a busy host takes minutes to find people with both kinds of probes
RESULT = Path("results/sitting.json")
PICTURE = RESULT.with_name("guess.xwd")
RULE = """polkit.addRule(function (action, subject) {
    if (action.id == "org.happe.governor1.run-study" && subject.isInGroup("happe-study"))
        return polkit.Result.YES;
});
"""
JOURNAL = ["journalctl", "--boot", "--no-pager", "--output=short-monotonic"]
ANSWERS = {"ready": ["Return"], "interrupted": ["Return"], "rate": ["4", "Return"], "guess": ["3", "Return"]}
Json = dict[str, Any]


class Notes:
    """Notes what the kernel does in runs. Each look has two times of CLOCK_MONOTONIC around it."""

    def __init__(self, policy: Policy) -> None:
        """Connect to happed, which must be on the bus."""
        self.looks: list[Json] = []
        self._policy = policy
        self._happed = dbus.Interface(dbus.SystemBus().get_object(NAME, OBJECT[1]), dbus.PROPERTIES_IFACE)

    def look(self, page: str) -> None:
        """Look while somebody plays. Keep the look if happed names the same run before and after it."""
        if page != "playing" or (run := self._run())[0] != "run":
            return
        look: Json = {"from_us": now_us(), "governor": self._policy.governor, "indicator": run[2]}
        look["seconds"] = {str(khz): spent for khz, spent in self._policy.time_in_state_s().items()}
        look["transitions"] = int(self._policy.read("stats/total_trans"))
        look["to_us"] = now_us()
        if self._run() == run:
            self.looks.append(look)

    def _run(self) -> tuple[str, str, bool]:
        """Return happed's state, its run, and whether the indicator is visible."""
        told = self._happed.GetAll(NAME)
        return str(told["State"]), str(told["Run"]), bool(told["Indicator"])


def now_us() -> int:
    """Return CLOCK_MONOTONIC, which happed uses too."""
    return time.monotonic_ns() // 1000


def prepare() -> None:
    """Make an experimenter's account that may start runs, her folder, and the serial ports to the host."""
    command("modprobe", "virtio_console")
    command("udevadm", "settle")
    Path("/etc/polkit-1/rules.d/50-happe-study.rules").write_text(RULE)
    command("groupadd", "happe-study")
    command("usermod", "--append", "--groups", "happe-study", "alice")
    command("install", "--directory", "--owner=alice", str(HERS))
    command(sys.executable, "-m", "compileall", "-q", str(Path(__file__).parent))  # so that a game starts faster


def told_plan() -> Json:
    """Read the host's plan. A port is at its end until the host has connected to it."""
    with (PORTS / "plan").open("rb") as line:
        plan: Json = json.loads(wait_until(line.readline, "there is a plan", PLAN_S))
    return plan


def begin(module: str, *words: str) -> None:
    """Start one of our programs on CPU 1 with a high priority, until the machine is off."""
    program = ["taskset", "-c", "1", "nice", "-n", "-10", sys.executable, "-B", "-m", f"t61.{module}", *words]
    subprocess.Popen(program)


def enrol(alice: Session, server: str, code: str) -> None:
    """Become a laptop of the study."""
    (HERS / "code").write_text(code + "\n")
    ran = alice.run("sh", "-c", f"happe-study enrol {server} <{HERS}/code")
    assert ran.returncode == 0, ran.stderr  # noqa: S101 - a test's
    (HERS / "code").unlink()


def sit(plan: Json, alice: Session, notes: Notes) -> Json:
    """Seat all participants, one after the other. Return the wizard's status at the end."""
    wizard = Wizard(alice, HERS)

    def watch(page: str) -> None:
        notes.look(page)
        if page == "guess" and not PICTURE.exists():  # the window is there, because the rating came before
            wizard.keep(PICTURE)

    for number, link in enumerate(plan["links"], start=1):
        say(f"participant {number} of {len(plan['links'])}")
        wizard.sit_down(link)
        wizard.answer(ANSWERS, "goodbye", plan["within_s"], watch)
        wizard.press("Return")
        wizard.until("welcome")
    pages = wizard.pages()
    wizard.close()
    status: Json = json.loads(alice.run("happe-study", "status", "--json").stdout)
    return {"pages": pages, "status": status}


def say(what: str) -> None:
    """Tell the host, with the seconds since the machine started."""
    print(f"sitting: {time.monotonic():6.1f} s  {what}", flush=True)


def main() -> None:
    """Run a whole sitting. An AssertionError says what went wrong."""
    os.sched_setaffinity(0, {1})  # CPU 0 is the game's
    say("the laptop is up")
    prepare()
    plan = told_plan()
    say("the plan is there")
    policy = Policy()
    policy.governor = "ondemand"
    begin("relay", str(PORTS / "server"), str(plan["port"]))
    begin("telling", str(PORTS / "power"), str(HERS / "told.log"))
    found = policy.state()
    alice = log_in("alice", session_type="x11")
    with Keyboard() as keyboard:
        happed = Happed()
        happed.wait_for_keyboards(1)
        enrol(alice, plan["server"], plan["enrolment_code"])
        say("enrolled")
        notes, hands = Notes(policy), Hands(keyboard, SCREEN, plan["seed"])
        hands.start()
        told = sit(plan, alice, notes)
        say("everything is sent")
        happed.stop()
    wait_until(lambda: policy.state() == found, "the machine is as it was found")
    assert not FOUND.exists()  # noqa: S101 - a test's
    presses = {"green": hands.presses.count(GREEN), "yellow": hands.presses.count(YELLOW)}
    RESULT.write_text(json.dumps({"looks": notes.looks, "presses": presses, "found": found, **told}))


if __name__ == "__main__":
    try:
        main()
        say("done")
    finally:
        for log in HERS.glob("*.log"):
            shutil.copy(log, RESULT.parent)
        with RESULT.with_name("happed.log").open("w") as kept:
            subprocess.run([*JOURNAL, "--unit=happed*"], check=False, stdout=kept)
