# SPDX-License-Identifier: GPL-2.0-or-later
"""happectl setup: the first run, at a terminal and without one. tests/packaging runs it on an installed system."""

import contextlib
import json
import os
import pwd
import shutil
import signal
import socket
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from happed_stand_in import HappeCtl
from patience import PATIENCE_S
from private_bus import private_bus, stand_in
from program import ROOT
from t61.conversation import Conversation
from test_happectl_machine import listed, systemd

EX_USAGE, EX_DATAERR, EX_NOINPUT, EX_UNAVAILABLE = 64, 65, 66, 69
# KEY_F13 and KEY_F14 (183, 184), KEY_UP and KEY_DOWN (103, 108) on one keyboard.
DEVICES = 'N: Name="AT Translated Set 2 keyboard"\nB: KEY=180000000000000 108000000000 0\n'
STARTED = ["multi-user.target.wants/happed.service", "sockets.target.wants/happed-keys.socket"]


# The person who calls sudo.
CALLER = 65534 if os.geteuid() == 0 else os.geteuid()
EXTENSION = "usr/share/gnome-shell/extensions/happe@happe.org/metadata.json"
# Stands in for gsettings. It keeps each setting in a file, and writes down its user and its environment.
SETTINGS = """#!/bin/sh
cd {folder}
id -ru >who; id -u >>who; id -G >>who; grep ^NoNewPrivs /proc/self/status >>who; env >environment
case $1 in get) cat $3;; set) {set};; esac
"""


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder that everybody may enter."""
    with tempfile.TemporaryDirectory(prefix="happe-setup-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A T61's files with HAPPE installed, as the package leaves them."""
    policy = tmp_path / "sys/devices/system/cpu/cpufreq/policy0"
    policy.mkdir(parents=True)
    (policy / "scaling_driver").write_text("acpi-cpufreq\n")
    (policy / "scaling_available_governors").write_text("ondemand userspace\n")
    (tmp_path / "proc/bus/input").mkdir(parents=True)
    (tmp_path / "proc/bus/input/devices").write_text(DEVICES)
    units = tmp_path / "usr/lib/systemd"
    shutil.copytree(ROOT / "packaging/systemd", units / "system")
    (units / "user").mkdir()
    (units / "system/happe-indicator.service").rename(units / "user/happe-indicator.service")
    (tmp_path / "usr/lib/systemd/system/tlp.service").write_text(
        "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
    )
    wants = tmp_path / "etc/systemd/system/multi-user.target.wants"
    wants.mkdir(parents=True)
    (wants / "tlp.service").symlink_to("/usr/lib/systemd/system/tlp.service")
    (tmp_path / "usr/share/happe").mkdir(parents=True)
    shutil.copy(ROOT / "packaging/happe.toml", tmp_path / "usr/share/happe")
    return tmp_path


@pytest.fixture
def installed(happectl: HappeCtl) -> Iterator[HappeCtl]:
    """Run happectl where systemd reports that tlp is active."""
    with stand_in(happectl.bus, "org.freedesktop.systemd1", systemd([listed("tlp.service", "loaded", "active")])):
        yield happectl


def state_of(root: Path) -> dict[str, str]:
    """Return every file below a folder, with its content or its target."""
    return {
        str(file.relative_to(root)): str(file.readlink()) if file.is_symlink() else file.read_text()
        for file in root.rglob("*")
        if file.is_symlink() or file.is_file()
    }


def talk_to(happectl: HappeCtl, *arguments: str | Path, **environment: str) -> Conversation:
    """Start happectl at a terminal of its own."""
    env = happectl.bus.environment(LC_ALL="C.UTF-8", TERM="xterm", **environment)
    return Conversation(
        lambda its: happectl.start(*arguments, stdin=its, stdout=its, stderr=its, start_new_session=True, env=env)
    )


def test_what_is_answered_is_done_and_the_rest_stays(installed: HappeCtl, root: Path) -> None:
    extension = root / EXTENSION
    extension.parent.mkdir(parents=True)
    extension.touch()
    talk = talk_to(installed, "setup", "--root", root)
    talk.hears("cpufreq: 1 policy driven by acpi-cpufreq")
    talk.hears("  1  KEY_F14 and KEY_F13\r\n  2  CTRL+META+KEY_UP and CTRL+META+KEY_DOWN\r\n")
    talk.answers("Your choice [1]: ", "n")
    talk.answers('"faster"', "KEY_A")
    talk.answers('"save power"', "KEY_F13")
    talk.hears("keys.performance")  # a key that types can't be one
    talk.answers("Your choice [1]: ", "2")
    talk.answers("tlp.service sets frequencies too. Stop and disable it? [Y/n] ", "y")
    talk.hears("mode        govern")
    talk.hears("indicator   starts with the desktop")
    talk.answers("Do this? [Y/n] ", "")
    assert talk.ended() == 0, talk.said
    assert "enables HAPPE's extension: gnome-extensions enable happe@happe.org\r\n" in talk.said
    assert talk.said.endswith("happed starts with the machine.\r\n")

    before = (ROOT / "packaging/happe.toml").read_text()
    expected = before.replace('#mode = "govern"', 'mode = "govern"')
    expected = expected.replace('#performance = "KEY_PROG1"', 'performance = "CTRL+META+KEY_UP"')
    assert (root / "etc/happe/happe.toml").read_text() == expected.replace(
        '#power = "KEY_PROG2"', 'power = "CTRL+META+KEY_DOWN"'
    )
    assert all((root / "etc/systemd/system" / link).is_symlink() for link in STARTED)
    assert not (root / "etc/systemd/system/multi-user.target.wants/tlp.service").is_symlink()
    assert (root / "etc/systemd/user/graphical-session.target.wants/happe-indicator.service").is_symlink()


def _answer(listening: socket.socket, meanwhile: Callable[[], object]) -> None:
    for key in (b"KEY_F14", b"KEY_F13"):
        asking, _address = listening.accept()
        with asking:
            assert asking.recv(512) == b"happe-keys 1 learn 30000"
            meanwhile()
            asking.send(b"key " + key)
            asking.send(b"end")


@contextlib.contextmanager
def two_pressed_keys(root: Path, meanwhile: Callable[[], object] = int) -> Iterator[None]:
    """Answer as the keyboards' helper: F14 to the first caller, F13 to the second. Call `meanwhile` before each."""
    (root / "run").mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(str(root / "run/happe-keys.sock"))
        listening.listen()
        helper = threading.Thread(target=_answer, args=[listening, meanwhile])
        helper.start()
        yield
        helper.join(PATIENCE_S)


def test_keys_can_be_pressed(happectl: HappeCtl, root: Path) -> None:
    with two_pressed_keys(root):
        talk = talk_to(happectl, "setup", "--root", root, "--mode", "govern", "--autostart", "off")
        talk.hears("p  press them now (this starts happed-keys.socket before you agree)")
        talk.answers("Your choice [1]: ", "p")
        talk.hears('Press the key for "faster"')
        talk.hears('Press the key for "save power"')
        talk.answers("faster      KEY_F14\r\nsave power  KEY_F13\r\n", "y")
        assert talk.ended() == 0, talk.said


@pytest.mark.parametrize("how", ["no", "end", "interrupt"])
def test_who_does_not_agree_has_changed_nothing(installed: HappeCtl, root: Path, how: str) -> None:
    before = state_of(root)
    talk = talk_to(installed, "setup", "--root", root, "--autostart", "on", "--mode", "observe")
    talk.answers("Your choice [1]: ", "")
    talk.answers("Stop and disable it?", "n")
    talk.hears("Do this? [Y/n] ")
    if how == "interrupt":
        talk.process.send_signal(signal.SIGINT)
    else:
        os.write(talk.mine, b"n\n" if how == "no" else b"\x04")
    assert talk.ended() == (-signal.SIGINT if how == "interrupt" else EX_NOINPUT)
    assert state_of(root) == before


def test_without_a_terminal_it_takes_what_is_said(installed: HappeCtl, root: Path) -> None:
    keys = ["--performance", "KEY_F10", "--power", "KEY_F9"]
    ran = installed.run("setup", "--root", root, "--yes", "--json", "--stop-others", "--autostart", "off", *keys)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout) == {
        "mode": "govern",
        "performance": "KEY_F10",
        "power": "KEY_F9",
        "disabled": ["tlp.service"],
        "autostart": False,
        "extension": None,
        "configuration_changed": True,
        "started": False,
    }
    again = json.loads(installed.run("setup", "--root", root, "--yes", "--json", *keys).stdout)
    assert (again["configuration_changed"], again["autostart"]) == (False, False)
    checked = installed.run("check", root / "etc/happe/happe.toml")
    assert 'keys.performance = "KEY_F10"' in checked.stdout


def test_what_an_earlier_setup_left_stays(installed: HappeCtl, root: Path) -> None:
    wanted = root / "etc/systemd/user/graphical-session.target.wants/happe-indicator.service"
    for autostart in ("off", "on"):
        installed.run("setup", "--root", root, "--yes", "--mode", "observe", "--autostart", autostart)
        ran = installed.run("setup", "--root", root, "--yes", "--json")
        assert json.loads(ran.stdout)["mode"] == "observe"
        assert wanted.is_symlink() is (autostart == "on")


def test_everybody_reads_what_it_writes_and_a_link_stays(installed: HappeCtl, root: Path) -> None:
    file, kept = root / "etc/happe/happe.toml", root / "srv/happe.toml"
    kept.parent.mkdir()
    file.parent.mkdir()
    shutil.copy(root / "usr/share/happe/happe.toml", kept)
    file.symlink_to("../../srv/happe.toml")
    before = os.umask(0o077)
    try:
        ran = installed.run("setup", "--root", root, "--yes", "--mode", "observe")
    finally:
        os.umask(before)
    assert ran.returncode == 0, ran.stderr
    assert file.is_symlink()
    assert 'mode = "observe"\n' in kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o644


def test_it_makes_the_file_without_the_shipped_one(installed: HappeCtl, root: Path) -> None:
    (root / "usr/share/happe/happe.toml").unlink()
    assert installed.run("setup", "--root", root, "--yes").returncode == 0
    assert 'mode = "govern"' in (root / "etc/happe/happe.toml").read_text()


def refused(happectl: HappeCtl, root: Path, *arguments: str) -> tuple[int, str]:
    """Assert that setup refuses and changes nothing. Return its message."""
    before = state_of(root)
    ran = happectl.run("setup", "--root", root, *arguments)
    assert state_of(root) == before
    return ran.returncode, ran.stderr


def test_what_cannot_be_is_refused_before_anything_is_changed(happectl: HappeCtl, root: Path) -> None:
    assert refused(happectl, root)[0] == EX_USAGE
    assert "setup needs a terminal" in refused(happectl, root)[1]
    assert refused(happectl, root, "--yes", "--power", "KEY_F9")[0] == EX_USAGE
    status, said = refused(happectl, root, "--yes", "--performance", "KEY_A", "--power", "KEY_F9")
    assert (status, "keys.performance" in said) == (EX_USAGE, True)
    (root / "etc/happe").mkdir()
    (root / "etc/happe/happe.toml").write_text('mode = "drive"\n')
    status, said = refused(happectl, root, "--yes")
    assert (status, f"{root}/etc/happe/happe.toml:1: mode" in said) == (EX_DATAERR, True)


def test_without_systemctl_nothing_is_changed(happectl: HappeCtl, root: Path, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "sh").symlink_to("/bin/sh")
    before = state_of(root)
    ran = happectl.run("setup", "--root", root, "--yes", PATH=str(programs))
    assert (ran.returncode, "there is no systemctl here" in ran.stderr) == (EX_UNAVAILABLE, True)
    assert state_of(root) == before


@dataclass
class Session:
    """The session of the person who calls sudo, with GNOME Shell on its bus, and this person's settings."""

    root: Path
    settings: Path

    def environment(self, **more: str) -> dict[str, str]:
        """Return what sudo adds to happectl's environment."""
        return {"SUDO_UID": str(CALLER), "PATH": f"{self.settings}:{os.environ['PATH']}", **more}

    def install(self, setting: str = 'echo "$4" >$3') -> None:
        """Install the stand-in for gsettings. `setting` is the command by which it sets something."""
        program = self.settings / "gsettings"
        program.write_text(SETTINGS.format(folder=self.settings, set=setting))
        program.chmod(0o755)

    def lists(self) -> tuple[str, str]:
        """Return the extensions that are enabled, and those that are disabled."""
        enabled, disabled = (self.settings / f"{name}-extensions" for name in ("enabled", "disabled"))
        return enabled.read_text().strip(), disabled.read_text().strip()


@pytest.fixture
def gnome(root: Path) -> Iterator[Session]:
    """GNOME, with the extension HAPPE installed, and another one enabled."""
    session = Session(root, root / "settings")
    runtime = root / "run/user" / str(CALLER)
    for folder in (runtime, session.settings, (root / EXTENSION).parent):
        folder.mkdir(parents=True)
    (root / EXTENSION).touch()
    session.settings.chmod(0o777)
    for name, value in (("enabled", "['other@example.org']"), ("disabled", "@as []")):
        file = session.settings / f"{name}-extensions"
        file.write_text(value)
        file.chmod(0o666)
    session.install()
    with private_bus(runtime) as bus, stand_in(bus, "org.gnome.Shell", {}):
        yield session


def test_the_extension_is_enabled_as_the_person_who_called_sudo(installed: HappeCtl, gnome: Session) -> None:
    caller = pwd.getpwuid(CALLER)
    options = ("--mode", "observe", "--stop-others")
    talk = talk_to(installed, "setup", "--root", gnome.root, *options, **gnome.environment())
    talk.answers("Your choice [1]: ", "")
    talk.answers(f"extension   enabled for {caller.pw_name} in GNOME", "")
    assert talk.ended() == 0, talk.said
    assert gnome.lists() == ("['other@example.org', 'happe@happe.org']", "@as []")
    who = (gnome.settings / "who").read_text().splitlines()
    groups = " ".join(map(str, os.getgrouplist(caller.pw_name, caller.pw_gid)))
    assert who == [str(CALLER), str(CALLER), groups, "NoNewPrivs:\t1"]
    environment = (gnome.settings / "environment").read_text().splitlines()
    bus = f"DBUS_SESSION_BUS_ADDRESS=unix:path={gnome.root}/run/user/{CALLER}/bus"
    assert {bus, f"HOME={caller.pw_dir}", f"USER={caller.pw_name}"} <= set(environment)
    assert not any(line.startswith("SUDO_UID=") for line in environment)


def extension_after(happectl: HappeCtl, root: Path, *options: str, **environment: Any) -> tuple[object, str]:  # noqa: ANN401 - mypy would take a str for cwd
    """Set up without questions. Return whether setup has enabled the extension, and its remarks."""
    ran = happectl.run("setup", "--root", root, "--yes", "--json", *options, **environment)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)["extension"], ran.stderr


def test_without_questions_the_extension_is_as_its_owner_wants_it(installed: HappeCtl, gnome: Session) -> None:
    environment = gnome.environment()
    assert extension_after(installed, gnome.root, **environment) == (True, "")
    gnome.install("exit 1")  # setup does not write a setting twice
    assert extension_after(installed, gnome.root, **environment) == (True, "")
    gnome.install()
    assert extension_after(installed, gnome.root, "--extension", "off", **environment) == (False, "")
    assert gnome.lists() == ("['other@example.org']", "['happe@happe.org']")
    assert extension_after(installed, gnome.root, **environment) == (False, "")
    pkexec = gnome.environment(SUDO_UID="", PKEXEC_UID=str(CALLER))
    assert extension_after(installed, gnome.root, "--extension", "on", **pkexec) == (True, "")


def test_setup_touches_nobodys_extension_without_a_caller_on_gnome(installed: HappeCtl, gnome: Session) -> None:
    before = gnome.lists()
    stays = "happectl: GNOME's extension stays as it was: {}\n"
    nobody = stays.format("nobody with a desktop called sudo")
    for uid in ("0", "", "no number", "4294967294"):
        environment = gnome.environment(SUDO_UID=uid)
        assert extension_after(installed, gnome.root, **environment) == (None, "")
        assert extension_after(installed, gnome.root, "--extension", "on", **environment) == (None, nobody)
    (gnome.root / EXTENSION).unlink()
    missing = stays.format("the package happe-gnome-shell-extension is not installed")
    assert extension_after(installed, gnome.root, "--extension", "on", **gnome.environment()) == (None, missing)
    assert gnome.lists() == before


@pytest.mark.parametrize(
    ("how", "why"),
    [("echo locked >&2; exit 1", "locked\n"), ("true", "enabled-extensions of {} did not change\n")],
)
def test_setup_goes_on_where_the_extension_cannot_be_enabled(
    installed: HappeCtl, gnome: Session, how: str, why: str
) -> None:
    gnome.install(how)
    extension, said = extension_after(installed, gnome.root, **gnome.environment())
    assert extension is None
    assert why.format(pwd.getpwuid(CALLER).pw_name) in said
    assert "happectl: GNOME's extension stays as it was: " in said
    assert (gnome.root / "etc/systemd/system" / STARTED[0]).is_symlink()
