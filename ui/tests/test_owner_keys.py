# SPDX-License-Identifier: GPL-2.0-or-later
"""The window's settings that need a password, by a screen reader, with the real happed and happectl."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from accessible import ScreenReader
from desktop import USER, keep, program, x11
from happed_world import QUICK, Happed, Keyboards
from patience import PATIENCE_S, is_running, until
from test_owner_window import Window, opens_from_the_tray, tray_read_out, trays

# Tests have no polkit agent: this stand-in for pkexec runs the command as the same user, with the test's files.
PKEXEC = """#!/bin/sh
[ ! -e "{root}/refuses" ] || exit 126
[ ! -e "{root}/asks" ] || {{ echo $$ >"{root}/asking"; read -r _ <"{root}/asks"; }}
shift 2
exec "{happectl}" "$@" --root "{root}"
"""
FASTER = "Faster: Press another key"
SAVE = "Save power: Press another key"


class Owner(Window):
    """The window of an owner who may change the configuration. The test presses the owner's keys."""

    keyboards: Keyboards

    @property
    def refuses(self) -> Path:
        """The file that makes pkexec refuse."""
        return self.happed.world.bus.folder / self.happed.folder.name / "refuses"

    @property
    def asks(self) -> Path:
        """The pipe from which pkexec takes a password, if a test makes it."""
        return self.refuses.with_name("asks")

    def looks_for_a_key(self) -> socket.socket:
        """Wait until happed asks for a key, after other questions. Return the connection that waits for the answer."""
        while True:
            asking, _ = self.keyboards.listener.accept()
            asking.settimeout(PATIENCE_S)
            if b" learn 30000" in asking.recv(4096):
                return asking
            asking.close()

    def presses(self, key: str) -> None:
        """Press this key when happed looks for one."""
        with self.looks_for_a_key() as asking:
            asking.send(f"key {key}".encode())
            asking.send(b"end")


@pytest.fixture
def owner(stopped: Happed) -> Iterator[Owner]:
    """The owner, with a configuration of happed that the window's user may write."""
    root = stopped.world.bus.folder / stopped.folder.name
    file = root / "etc/happe/happe.toml"
    file.parent.mkdir(parents=True)
    file.write_text(QUICK + "# mine\n")
    (root / "pkexec").write_text(PKEXEC.format(happectl=program("happectl"), root=root))
    (root / "pkexec").chmod(0o755)
    for each in (root, *root.rglob("*")):
        os.chown(each, USER, -1)
    (stopped.folder / "happe.toml").unlink()
    (stopped.folder / "happe.toml").symlink_to(file)
    happed = stopped.start()
    happed.world.allow("configure")
    with x11() as desktop:
        desktop.environment["PATH"] = f"{root}:{os.environ['PATH']}"
        owner = Owner(desktop, happed, happed.serves())
        owner.keyboards = Keyboards(happed.folder / "keys")
        with contextlib.closing(owner.keyboards):
            yield owner


def says(reader: ScreenReader, words: str) -> None:
    """Wait until the dialog shows this text."""
    until(lambda: any(words in name for name in reader.names("label")), words)


def opens_dialog(owner: Window, reader: ScreenReader) -> None:
    """Open the dialog, once the window knows the keys."""
    says(reader, "Faster: Program 1\nSave power: Program 2\n")
    owner.key("alt+k")
    until(lambda: FASTER in reader.names("button"), "the dialog is there")


def test_the_keys_are_pressed_and_set(owner: Owner) -> None:
    with owner.read_out() as reader:
        opens_dialog(owner, reader)
        reader.press(FASTER)
        says(reader, "Press the key for: Faster.")
        until(lambda: "Seconds left" in reader.names("progress bar"), "the time runs")
        keep(owner.settled().crop((340, 110, 940, 690)), "owner-keys")
        owner.presses("KEY_F14")
        says(reader, 'Chosen: F14. "Apply" sets it.')

        reader.press(SAVE)
        owner.presses("KEY_F14")
        says(reader, "F14 is the other key. The two keys must differ.")
        reader.press(SAVE)
        owner.presses("KEY_F13")
        says(reader, "Chosen: F13.")
        owner.refuses.touch()
        owner.key("Return")  # "Apply" is the default
        until(lambda: reader.focused() == "Apply", "the button has the keyboard again")
        owner.refuses.unlink()
        assert owner.me.get("Settings")["keys.power"] == "KEY_PROG2"

        owner.key("space")
        says(reader, "The keys are set.")
        until(lambda: reader.focused() == "Close", "another button has the keyboard")
        settings = owner.me.get("Settings")
        assert (settings["keys.performance"], settings["keys.power"]) == ("KEY_F14", "KEY_F13")
        says(reader, "Faster: F14\nSave power: F13\n")  # in the window behind the dialog
    keys = '\n[keys]\nperformance = "KEY_F14"\npower = "KEY_F13"\n'
    assert (owner.happed.folder / "happe.toml").read_text() == QUICK + "# mine\n" + keys


def test_who_may_not_or_stops_changes_nothing(owner: Owner) -> None:
    owner.happed.world.allow()
    with owner.read_out() as reader:
        opens_dialog(owner, reader)
        reader.press(FASTER)
        says(reader, "nobody gave. In a terminal:\nsudo happectl keys set --press")

        owner.happed.world.allow("configure")
        reader.press(FASTER)
        says(reader, "Press the key for: Faster.")
        with owner.looks_for_a_key():
            owner.key("Escape")
            until(lambda: FASTER in reader.names("button"), "the dialog no longer waits for one")
            reader.press(SAVE)  # happed would refuse this if it still waited for the first key
            owner.presses("KEY_F13")
        says(reader, "Chosen: F13.")
        owner.key("Escape")
        until(lambda: FASTER not in reader.names("button"), "the dialog is closed")
    assert owner.me.get("Settings")["keys.power"] == "KEY_PROG2"
    assert (owner.happed.folder / "happe.toml").read_text() == QUICK + "# mine\n"


def test_the_tray_ends_with_the_indicator_while_it_asks_for_a_password(owner: Owner) -> None:
    """The dialog of the keys does not close then."""
    with tray_read_out(owner) as reader:
        opens_from_the_tray(owner)
        opens_dialog(owner, reader)
        reader.press(FASTER)
        owner.presses("KEY_F14")
        says(reader, "Chosen: F14.")
        os.mkfifo(owner.asks)
        owner.key("Return")
        says(reader, "An administrator's password may be needed.")
        asking = owner.asks.with_name("asking")
        pkexec = int(until(lambda: asking.exists() and asking.read_text().strip(), "pkexec asks"))
        owner.process.kill()
        until(lambda: not trays(owner), "the tray has ended, too")
        until(lambda: not is_running(pkexec), "and pkexec no longer asks")
