# SPDX-License-Identifier: GPL-2.0-or-later
"""A user's own systemd (`systemd --user`), and its units of HAPPE."""

import subprocess
from dataclasses import dataclass

from t61.sessions import Session, command
from t61.waiting import wait_until

TARGET = "graphical-session.target"
EVERY_S = 0.5  # each question starts programs, and the guest is slow


@dataclass(frozen=True)
class UserManager:
    """The systemd that runs a user's units during their login."""

    session: Session

    def systemctl(self, *words: str) -> str:
        """Run `systemctl --user`, which must succeed, and return its output."""
        return self.run("systemctl", "--user", *words)

    def run(self, *words: str) -> str:
        """Run a program in the session, which must succeed, and return its output."""
        done = self.session.run(*words, timeout_s=600.0)
        if done.returncode:
            raise AssertionError(f"{words} ended with {done.returncode}: {done.stderr}")
        return done.stdout.strip()

    def property(self, unit: str, name: str) -> str:
        """A property of a unit: "ActiveState", "NRestarts", ..."""
        return self.systemctl("show", "--value", f"--property={name}", unit)

    def wait_for(self, unit: str, state: str, timeout_s: float = 120.0) -> None:
        """Wait until a unit is in this state."""
        wait_until(lambda: self.property(unit, "ActiveState") == state, f"{unit} is {state}", timeout_s, EVERY_S)

    def set_environment(self, *settings: str) -> None:
        """Set variables of the units that start from now on."""
        self.systemctl("set-environment", *settings)

    def end(self) -> None:
        """End it and all its units, as happens a while after the last logout."""
        user = command("id", "--user", self.session.user)
        subprocess.run(["systemctl", "stop", f"user@{user}.service"], check=True)


@dataclass
class UserUnit:
    """A unit that somebody's systemd runs."""

    manager: UserManager
    unit: str
    invocation: str = ""  # systemd's name of the present run of the unit

    def state(self) -> dict[str, str]:
        """Return its state by systemd."""
        names = "ActiveState,Result,NRestarts,InvocationID,MainPID,ExecMainStatus"
        return dict(
            line.split("=", 1) for line in self.manager.systemctl("show", f"--property={names}", self.unit).splitlines()
        )

    def starts(self, timeout_s: float = 120.0) -> None:
        """Wait until it runs, in its first run since somebody started it."""
        self.manager.wait_for(self.unit, "active", timeout_s)
        self.invocation = self.state()["InvocationID"]
        self.goes_on()

    def goes_on(self) -> None:
        """Assert that it is still in the same run."""
        self._is(ActiveState="active", NRestarts="0", InvocationID=self.invocation)

    def stops(self, timeout_s: float = 120.0) -> None:
        """Wait until it has stopped by itself: systemd did not kill it, and does not start it again."""
        self.manager.wait_for(self.unit, "inactive", timeout_s)
        self._is(Result="success", NRestarts="0")

    def _is(self, **wanted: str) -> None:
        found = self.state()
        if not wanted.items() <= found.items():
            raise AssertionError(f"it is {found}, not {wanted}; it has written: {self.journal()}")

    def says(self, text: str, timeout_s: float = 120.0) -> None:
        """Wait until this run has logged this."""
        wait_until(lambda: text in self.journal(), f"{self.unit} says {text!r}", timeout_s, EVERY_S)

    def journal(self) -> str:
        """Return what this run has logged."""
        return command("journalctl", "--boot", "--output=cat", f"_SYSTEMD_INVOCATION_ID={self.invocation}")
