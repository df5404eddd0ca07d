# SPDX-License-Identifier: GPL-2.0-or-later
"""happectl keys set changes the two keys in the owner's file and in the running happed."""

import contextlib
import fcntl
import json
import os
from pathlib import Path

import pytest

from happed_stand_in import HappeCtl, error
from happed_world import IS_ROOT, ME, QUICK, Client, Happed
from patience import PATIENCE_S, until
from test_happectl_setup import two_pressed_keys

EX_USAGE, EX_DATAERR, EX_IOERR, EX_TEMPFAIL, EX_NOPERM = 64, 65, 74, 75, 77
TEXT = (
    '# mine\n[keys]\nperformance = "KEY_F1" # on the left\n#power = "KEY_PROG2"\n\n[calibration]\n2201000 = 2300000\n'
)
BOTH = ["--performance", "KEY_F10", "--power", "KEY_F9"]
WRITTEN = TEXT.replace("KEY_F1", "KEY_F10").replace('#power = "KEY_PROG2"', 'power = "KEY_F9"')


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An owner's configuration."""
    (tmp_path / "etc/happe").mkdir(parents=True)
    (tmp_path / "etc/happe/happe.toml").write_text(TEXT)
    return tmp_path


def text_of(root: Path) -> str:
    """Return the configuration. Assert that no other file is beside it."""
    [file] = (root / "etc/happe").iterdir()
    return file.read_text()


def administered(happed: Happed, happectl: HappeCtl, text: str) -> tuple[Path, Client, HappeCtl]:
    """Start happed with this configuration. Return the machine's folder, the user, and an administrator's happectl."""
    root = happed.folder / "root"
    file = root / "etc/happe/happe.toml"
    file.parent.mkdir(parents=True)
    file.symlink_to(happed.folder / "happe.toml")
    happed.configure(text)
    me = happed.start().serves()
    happed.world.allow("configure")
    return root, me, HappeCtl(happectl.program, happed.world.bus)


def test_the_happed_that_runs_has_the_keys_at_once(stopped: Happed, happectl: HappeCtl) -> None:
    root, me, owner = administered(stopped, happectl, QUICK + TEXT)
    file = root / "etc/happe/happe.toml"

    ran = owner.run("keys", "set", "--root", root, "--power", "KEY_F9")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == "faster      KEY_F1\nsave power  KEY_F9\nhapped has this now.\n"
    assert me.get("Settings")["keys.power"] == "KEY_F9"
    for changed in (True, False):
        shown = json.loads(owner.run("keys", "set", "--root", root, *BOTH, "--json").stdout)
        keys = {"performance": "KEY_F10", "power": "KEY_F9"}
        assert shown == {**keys, "configuration_changed": changed, "applied": True}
    assert owner.run("keys", "show").stdout.startswith("faster      KEY_F10\nsave power  KEY_F9\n")
    assert file.is_symlink()
    assert file.read_text() == QUICK + WRITTEN


def test_without_happed_they_wait_in_the_file(happectl: HappeCtl, root: Path) -> None:
    ran = happectl.run("keys", "set", "--root", root, *BOTH, "--json")
    assert (ran.returncode, json.loads(ran.stdout)["applied"]) == (0, False)
    assert f"the change is in {root}/etc/happe/happe.toml; happed is not running: sudo systemctl" in ran.stderr
    assert text_of(root) == WRITTEN
    with happectl.daemon(Reload=error("Busy", "a run is in progress")):
        ran = happectl.run("keys", "set", "--root", root, "--power", "KEY_F8")
    assert (ran.returncode, "but happed has not read it: a run is in progress; try" in ran.stderr) == (
        EX_TEMPFAIL,
        True,
    )


def test_a_missing_file_begins_as_the_shipped_one(happectl: HappeCtl, root: Path) -> None:
    (root / "etc/happe/happe.toml").unlink()
    (root / "etc/happe").rmdir()
    (root / "usr/share/happe").mkdir(parents=True)
    (root / "usr/share/happe/happe.toml").write_text("# shipped\n")
    assert happectl.run("keys", "set", "--root", root, *BOTH).returncode == 0
    assert text_of(root).startswith("# shipped\n\n[keys]\n")


REFUSED = [
    ([], "name a key (--performance, --power), or press both"),
    (["--press", "--power", "KEY_F9"], "--power excludes --press"),
    (["--power", "KEY_F1"], "keys.power: "),  # the other one's
    (["--performance", "KEY_A"], "keys.performance: "),
    (["--performance", "KEY_F99"], "keys.performance: "),
    (["--performance", 'KEY_F10"\n[x]\ny = "'], "keys.performance: "),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED)
def test_what_cannot_be_a_key_changes_nothing(happectl: HappeCtl, root: Path, arguments: list[str], said: str) -> None:
    ran = happectl.run("keys", "set", "--root", root, *arguments)
    assert (ran.returncode, ran.stdout) == (EX_USAGE, "")
    assert ran.stderr.startswith(f"happectl: {said}")
    assert text_of(root) == TEXT


def test_a_file_with_mistakes_is_named_with_its_line(happectl: HappeCtl, root: Path) -> None:
    file = root / "etc/happe/happe.toml"
    file.write_text(TEXT.replace("#power", "performance"))
    ran = happectl.run("keys", "set", "--root", root, *BOTH)
    assert (ran.returncode, f"{file}:4" in ran.stderr) == (EX_DATAERR, True)
    file.unlink()
    file.mkdir()
    ran = happectl.run("keys", "set", "--root", root, *BOTH)
    assert (ran.returncode, ran.stderr) == (EX_IOERR, f"happectl: {file}: cannot read: Is a directory\n")


def test_they_can_be_pressed(happectl: HappeCtl, root: Path) -> None:
    with two_pressed_keys(root):
        ran = happectl.run("keys", "set", "--root", root, "--press")
    assert 'Press the key for "faster"' in ran.stderr
    assert ran.stdout == "faster      KEY_F14\nsave power  KEY_F13\n"


def test_what_somebody_else_writes_before_the_presses_stays(happectl: HappeCtl, root: Path) -> None:
    written = "mains.govern = false\n"
    with two_pressed_keys(root, meanwhile=lambda: (root / "etc/happe/happe.toml").write_text(written)):
        assert happectl.run("keys", "set", "--root", root, "--press").returncode == 0
    assert text_of(root) == written + '\n[keys]\nperformance = "KEY_F14"\npower = "KEY_F13"\n'


def test_two_who_change_the_file_at_once_change_it_one_after_the_other(happectl: HappeCtl, root: Path) -> None:
    """The test is the other one: it has read the file, and has yet to write it."""
    folder = os.open(root / "etc/happe", os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    with happectl.start("keys", "set", "--root", root, *BOTH) as process:
        until(lambda: process.poll() is not None or has_open(process.pid, root / "etc/happe"))
        (root / "etc/happe/happe.toml").write_text("mains.govern = false\n" + TEXT)
        os.close(folder)
        assert process.wait(PATIENCE_S) == 0
    assert text_of(root) == "mains.govern = false\n" + WRITTEN


def has_open(pid: int, file: Path) -> bool:
    """Whether a process has this file open."""
    with contextlib.suppress(FileNotFoundError):
        return str(file) in [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
    return False


def test_who_is_no_administrator_changes_nothing(happectl: HappeCtl, root: Path) -> None:
    ran = happectl.run("keys", "set", "--root", root, *BOTH, PKEXEC_UID=str(ME))
    assert (ran.returncode, ran.stderr) == (EX_NOPERM, "happectl: pkexec changes this machine's configuration only\n")
    assert text_of(root) == TEXT
    process = happectl.start("keys", "set", *BOTH, **({"user": ME, "cwd": "/"} if IS_ROOT else {}))
    _, said = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, "only an administrator may do this: sudo happectl keys set" in said) == (
        EX_NOPERM,
        True,
    )
