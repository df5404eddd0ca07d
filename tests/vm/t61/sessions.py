# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions of people at the machine, as logind knows them."""

import fcntl
import os
import pwd
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from t61.waiting import wait_until

VT_ACTIVATE = 0x5606
EMPTY_VT = 12
LOGIND = "org.freedesktop.login1"


def command(*words: str) -> str:
    """Run a command that must succeed. Return its standard output."""
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def foreground(vt: int) -> None:
    """Bring a virtual terminal to the front, as Ctrl+Alt+F<vt> does."""
    console = os.open("/dev/tty0", os.O_RDWR | os.O_NOCTTY)
    try:
        fcntl.ioctl(console, VT_ACTIVATE, vt)
    finally:
        os.close(console)


def nobody_at_the_machine() -> None:
    """Bring a terminal to the front on which nobody is logged in."""
    foreground(EMPTY_VT)
    wait_until(lambda: active_session() == "", "seat0 has no active session")


def active_session() -> str:
    """The id of seat0's active session; empty if there is none."""
    return command("loginctl", "show-seat", "seat0", "--property=ActiveSession", "--value")


@dataclass
class Session:
    """A person logged in at seat0, on their own virtual terminal."""

    user: str
    vt: int
    identity: str
    pid: int  # its first process
    unit: str

    @property
    def runtime(self) -> str:
        """The user's XDG_RUNTIME_DIR."""
        return f"/run/user/{pwd.getpwnam(self.user).pw_uid}"

    def activate(self) -> None:
        """Bring it to the front."""
        foreground(self.vt)
        wait_until(lambda: active_session() == self.identity, f"session {self.identity} of {self.user} is active")

    def property(self, name: str) -> str:
        """Return a property from logind: "Class", "Active", "LockedHint", ..."""
        return command("loginctl", "show-session", self.identity, f"--property={name}", "--value")

    def lock(self) -> None:
        """Lock the screen: send the Lock signal, and set the hint as a lock screen does."""
        command("loginctl", "lock-session", self.identity)
        self._hint_locked(locked=True)

    def unlock(self) -> None:
        """Unlock the screen."""
        command("loginctl", "unlock-session", self.identity)
        self._hint_locked(locked=False)

    def _hint_locked(self, *, locked: bool) -> None:
        # systemd names objects by escaping: a leading digit becomes _3d.
        name = re.sub(r"^\d", lambda digit: f"_{ord(digit[0]):02x}", self.identity)
        path = f"/org/freedesktop/login1/session/{name}"
        hint = "true" if locked else "false"
        command("busctl", "call", LOGIND, path, f"{LOGIND}.Session", "SetLockedHint", "b", hint)

    def start(self, *words: str, terminal: int | None = None) -> subprocess.Popen[str]:
        """Start a program with the session's user and cgroup, so that polkit and logind count it to the session.

        terminal: the descriptor of a terminal for the program to read and write, in place of pipes for its output.
        """
        scope = cgroup(self.pid)
        person = pwd.getpwnam(self.user)
        environment = {"PATH": os.environ["PATH"], "HOME": person.pw_dir, "USER": self.user, "LANG": "C.UTF-8"}
        environment |= {"XDG_SESSION_ID": self.identity, "XDG_RUNTIME_DIR": self.runtime}
        become = f"setpriv --reuid={self.user} --regid={self.user} --init-groups"
        enter = f'echo $$ >/sys/fs/cgroup{scope}/cgroup.procs && exec {become} "$@"'
        return subprocess.Popen(
            ["sh", "-c", enter, "sh", *words],
            env=environment, text=True, stdin=terminal,
            stdout=terminal or subprocess.PIPE, stderr=terminal or subprocess.PIPE,
        )  # fmt: skip

    def run(self, *words: str, timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
        """Run a program in the session to its end."""
        with self.start(*words) as process:
            try:
                out, errors = process.communicate(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return subprocess.CompletedProcess(words, process.returncode, out, errors)

    def close(self) -> None:
        """Log out. A second call does nothing."""
        subprocess.run(["systemctl", "stop", "--quiet", self.unit], check=False, stderr=subprocess.DEVNULL)
        wait_until(lambda: not Path(f"/run/systemd/sessions/{self.identity}").exists(), f"{self.user} is logged out")


def cgroup(pid: int) -> str:
    """Return a process's cgroup, as a path from the hierarchy's root."""
    return Path(f"/proc/{pid}/cgroup").read_text().strip().removeprefix("0::")


def log_in(user: str, vt: int = 1, *, session_class: str = "user", session_type: str = "tty") -> Session:
    """Log somebody in on a virtual terminal, and bring it to the front. session_class: "user", "greeter", ...

    session_type: "tty", which logind calls idle five minutes after the last key, or "x11", whose desktop says it.
    """
    unit = f"person-on-tty{vt}.service"
    properties = {
        "User": user, "PAMName": "login", "TTYPath": f"/dev/tty{vt}", "StandardInput": "tty",
        "UtmpIdentifier": f"tty{vt}", "UtmpMode": "user",
    }  # fmt: skip
    settings = [f"--property={name}={value}" for name, value in properties.items()]
    settings += [f"--setenv=XDG_SESSION_CLASS={session_class}", f"--setenv=XDG_SESSION_TYPE={session_type}"]
    command("systemd-run", "--quiet", "--collect", f"--unit={unit}", *settings, "sleep", "infinity")
    pid = int(wait_until(lambda: main_pid(unit), f"{unit} runs"))
    found = wait_until(lambda: re.search(r"/session-(\w+)\.scope$", cgroup(pid)), f"{user} has a session")
    session = Session(user, vt, found[1], pid, unit)
    session.activate()
    return session


def main_pid(unit: str) -> str:
    """Return a unit's main process; empty if there is none."""
    return command("systemctl", "show", "--property=MainPID", "--value", unit).removeprefix("0")
