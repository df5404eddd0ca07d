# SPDX-License-Identifier: GPL-2.0-or-later
"""The owner's window and the tray's menu, by keyboard alone, with the real happed."""

import contextlib
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CalledProcessError
from typing import Self

import pytest
from PIL import Image

from accessible import TELLS, ScreenReader
from agent import Agent, window
from desktop import AS_USER, X11, changed, keep, program, x11
from happed_stand_in import GOVERNING, INTERFACE, NAME, OBJECT
from happed_wire import BusError
from happed_world import MY_SESSION, QUICK, Client, Happed
from laptop_stand_ins import MODEL, TRAY, WATCHER, battery, becomes, portal
from patience import PATIENCE_S, spend, until
from private_bus import PrivateBus, stand_in

SYSTEMD_XML = """<node><interface name="org.freedesktop.systemd1.Manager">
  <method name="GetUnitFileState"><arg type="s" direction="in"/><arg type="s" direction="out"/></method>
  <method name="EnableUnitFiles"><arg type="as" direction="in"/><arg type="b" direction="in"/>
    <arg type="b" direction="in"/><arg type="b" direction="out"/><arg type="a(sss)" direction="out"/></method>
  <method name="DisableUnitFiles"><arg type="as" direction="in"/><arg type="b" direction="in"/>
    <arg type="a(sss)" direction="out"/></method>
  <method name="Reload"/></interface></node>"""
WINDOW = (0, 0, 945, 547)
CHART = (472, 92, 917, 300)
WHY = (60, 130)  # the sentences below the headline
MARGIN = (8, 400, 9, 401)  # an empty part of the window
SLOWER = (0x1E, 0x84, 0x49)
SYSTEMD = "/org/freedesktop/systemd1"
UNIT = "happe-indicator.service"
AUTOSTART = "Start the indicator with the session"
NOTES_XML = """<node><interface name="org.freedesktop.Notifications">
  <method name="Notify"><arg type="s" direction="in"/><arg type="u" direction="in"/><arg type="s" direction="in"/>
    <arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="as" direction="in"/>
    <arg type="a{sv}" direction="in"/><arg type="i" direction="in"/><arg type="u" direction="out"/></method>
  <method name="GetCapabilities"><arg type="as" direction="out"/></method></interface></node>"""
NOTES = {"/org/freedesktop/Notifications": {"xml": NOTES_XML, "answers": {"Notify": [1], "GetCapabilities": [[]]}}}


@dataclass
class Window:
    """The window, on a desktop with a game that presses have taught."""

    desktop: X11
    happed: Happed
    me: Client
    process: subprocess.Popen[str] = field(init=False)

    def start(self, *options: str, **environment: str) -> Self:
        """Open it."""
        address = self.happed.world.address
        buses = {"DBUS_SYSTEM_BUS_ADDRESS": address, "DBUS_SESSION_BUS_ADDRESS": address}
        command = (*AS_USER, program("happe-indicator"), *(options or ("--window",)))
        environment = {"QT_QPA_PLATFORM": "xcb", "LC_ALL": "C.UTF-8", **buses, **environment}
        self.process = self.desktop.start(*command, **environment)
        return self

    @contextlib.contextmanager
    def read_out(self) -> Iterator[ScreenReader]:
        """Open the window beside a screen reader."""
        with ScreenReader.beside(self.desktop, self.happed.world.address, "happe-tray") as reader:
            self.start(**TELLS).opens()
            yield reader

    def opens(self) -> None:
        """Wait until the window has the keyboard."""
        title = ["xdotool", "getactivewindow", "getwindowname"]

        def active() -> bool:
            with contextlib.suppress(CalledProcessError):
                return self.desktop.ask(*title).strip() == "HAPPE"
            return False

        until(active, "the window has the keyboard")

    def key(self, *names: str) -> None:
        """Press keys."""
        self.desktop.ask("xdotool", "key", *names)

    def focused(self) -> str:
        """Return the X server's id of the window or its question, whichever gets the keys; empty if neither does."""
        with contextlib.suppress(CalledProcessError):
            here = self.desktop.ask("xdotool", "search", "--onlyvisible", "--name", "^HAPPE$").split()
            return next((each for each in self.desktop.ask("xdotool", "getwindowfocus").split() if each in here), "")
        return ""

    def says(self) -> str:
        """Select the text below the headline, and return it. Empty while it changes."""
        self.desktop.click(*WHY)
        self.key("ctrl+a")
        return self.desktop.ask(program("happe-ui-window"), "selection").strip()

    def shows_a_press(self) -> bool:
        """Return whether the chart has the mark of the last press, for "save power"."""
        colours = self.desktop.seen().crop(CHART).getcolors(CHART[2] * CHART[3]) or []
        return any(colour == SLOWER for _, colour in colours)

    def settled(self) -> Image.Image:
        """Return the screen's picture when it is steady."""
        while changed(before := self.desktop.seen(), after := self.seen_later()):
            del before
        return after

    def seen_later(self) -> Image.Image:
        """Return the picture after a moment in which it might change."""
        spend(0.1)
        return self.desktop.seen()


@pytest.fixture
def untaught(happed: Happed) -> Iterator[Window]:
    """Run a game for which nobody has pressed a key."""
    happed.world.allow("hold")
    with x11() as desktop:
        agent = Agent(desktop, happed).start()
        window(desktop, "torcs")
        agent.serves_for_good("torcs")  # else the press could count for another application
        yield Window(desktop, happed, agent.me)


@pytest.fixture
def owner(untaught: Window) -> Window:
    """Run a game that presses have taught."""
    untaught.me.listen()
    for key in ("performance", "power"):
        untaught.me("Feedback", "s", key)
        untaught.me.heard("KeyCounted")
    until(lambda: untaught.me("ListProfiles", "s", ""), "it is learned")
    return untaught


def profiles(me: Client) -> list[str]:
    """Return the applications that have a profile."""
    return [application for application, _ in me("ListProfiles", "s", "")]


def keys(me: Client) -> list[str]:
    """Return the key of each of torcs's lessons, or "undo" for an undone lesson."""
    return [key for _, _, key, *_ in me("ListEvents", "ssxu", "", "torcs", 0, 9)]


def test_it_pauses_undoes_forgets_and_closes_by_keys_alone(owner: Window) -> None:
    owner.start().opens()
    me = owner.me
    until(owner.shows_a_press, "the chart is painted")

    owner.key("alt+p")
    me.sees("State", "held")
    assert me.get("Reason") == "held by HAPPE: paused by its user"
    owner.key("alt+c")
    me.sees("State", "observing")

    owner.key("alt+u")
    until(lambda: keys(me) == ["performance", "power", "undo"], "the last press is undone")
    until(lambda: not owner.shows_a_press(), "it is no longer shown")

    assert profiles(me) == ["torcs"]
    first = owner.focused()

    def question() -> bool:
        """Ask again if the window did not take the letter: the X server gave it the keyboard an instant before."""
        if owner.focused() == first:
            owner.key("alt+o")
        return owner.focused() not in ("", first)

    until(question, "the question has the keyboard")
    owner.key("Return")  # this keeps the profile
    until(lambda: owner.focused() == first, "the window has the keyboard again")
    assert profiles(me) == ["torcs"]
    until(question, "the question has the keyboard")
    owner.key("alt+f")
    until(lambda: profiles(me) == [], "it is forgotten")

    owner.opens()
    owner.key("Escape")
    assert owner.process.wait(PATIENCE_S) == 0


def test_it_shows_what_another_program_undid_while_its_user_was_away(owner: Window) -> None:
    """While no window has the keyboard, happed serves "desktop". Afterwards the window shows torcs's profile again."""
    with owner.read_out() as reader:
        until(lambda: len(undo_buttons(reader)) == 2, "each press has a button")
        owner.desktop.ask("xdotool", "set_desktop", "1")
        owner.me.sees("Application", "desktop")
        owner.me("Undo", "ssu", "", "torcs", 1)
        owner.desktop.ask("xdotool", "set_desktop", "0")
        until(lambda: len(undo_buttons(reader)) == 1, "one press is left")


def test_it_forgets_the_application_that_it_asked_about(owner: Window) -> None:
    """Another application takes the keyboard before the answer, so the window shows that one."""
    with owner.read_out() as reader:
        until(lambda: undo_buttons(reader), "torcs's presses are shown")
        mine = owner.focused()
        owner.key("alt+o")
        question = until(lambda: (now := owner.focused()) != mine and now, "the question has the keyboard")
        window(owner.desktop, "zork")
        owner.me.sees("Application", "zork")
        until(lambda: not undo_buttons(reader), "zork's profile is shown, which nobody taught")
        owner.desktop.ask("xdotool", "windowactivate", "--sync", question)
        owner.key("alt+f")
        until(lambda: "torcs" not in profiles(owner.me), "torcs's profile is forgotten")


def undo_buttons(reader: ScreenReader) -> list[str]:
    """Return the names of the buttons that undo, the newest press first."""
    return [name for name in reader.names("button") if name.startswith("Undo")]


def test_a_press_is_undone_with_those_after_it(owner: Window) -> None:
    """The older press's button says that it undoes two presses, and does so."""
    with owner.read_out() as reader:
        newest, older = until(lambda: len(found := undo_buttons(reader)) == 2 and found, "each press has a button")
        assert re.fullmatch(r"Undo: .*, Save power, .* GHz → .* GHz", newest)
        assert re.fullmatch(r"Undo the last 2, back to: .*, Faster, .* GHz → .* GHz", older)
        reader.press(older)
        until(lambda: keys(owner.me) == ["performance", "power", "undo", "undo"], "both are undone")
        until(lambda: not undo_buttons(reader), "their buttons are gone")
        assert "2 presses undone." in reader.names("label")


def test_each_space_on_its_button_undoes_one_more_press(owner: Window) -> None:
    """The button keeps the keyboard while a press is left. Otherwise the next key would pause HAPPE."""
    with owner.read_out() as reader:
        until(lambda: len(undo_buttons(reader)) == 2, "each press has a button")
        while not (before := reader.focused()).startswith("Undo: "):
            owner.key("shift+Tab")
            until(lambda: reader.focused() not in ("", before), "the keyboard moves")
        owner.key("space")
        until(lambda: len(undo_buttons(reader)) == 1, "one press is left")
        assert reader.focused() in undo_buttons(reader)
        owner.key("space")
        until(lambda: keys(owner.me) == ["performance", "power", "undo", "undo"], "both are undone")


# A game for an hour at half of 2.4 GHz, on a machine that draws 20 W there and 50 W at 2.4 GHz when it is busy.
HALF_BUSY = {**MODEL, "frequencies_khz": [1_200_000, 2_400_000], "watts": [[10, 20], [20, 50]]}
HOUR = [[1_767_600_000_000_000, [[1_200_000, 100, 3_600_000]]]]


def test_it_says_what_was_saved_today_where_it_has_the_machines_power_model(bus: PrivateBus) -> None:
    model = bus.folder / "model.json"
    model.write_text(json.dumps(HALF_BUSY))
    daemon = {
        "xml": INTERFACE,
        "properties": {**GOVERNING, "Ladders": [[0, [0, 1], [1_200_000, 2_400_000]]]},
        "answers": {"TimeSpent": HOUR, "ListProfiles": [[]], "ListEvents": [[]]},
    }
    said = "Today since .* HAPPE has saved 30.0 Wh, or 90 min of battery, compared with the kernel's governor"
    buses = {"DBUS_SYSTEM_BUS_ADDRESS": bus.address, "DBUS_SESSION_BUS_ADDRESS": bus.address}
    with (
        stand_in(bus, NAME, {OBJECT: daemon}) as happed,
        x11() as desktop,
        ScreenReader.beside(desktop, bus.address, "happe-tray") as reader,
    ):

        def labels(*options: str) -> list[str]:
            command = (program("happe-indicator"), "--window", *options)
            window = desktop.start(*AS_USER, *command, **buses, **TELLS, QT_QPA_PLATFORM="xcb")
            until(lambda: any(name.startswith("HAPPE governs for torcs") for name in reader.names("label")), "it knows")
            if options:
                happed.until("call", "TimeSpent")
                until(
                    lambda: any(re.match(said, name) for name in reader.names("label")), "the window shows the saving"
                )
                keep(desktop.seen(), "owner-saving")
            names = reader.names("label")
            desktop.stop(window)
            return names

        labels("--model", str(model))
        assert not any("saved" in name for name in labels())


def test_it_shows_the_battery_while_it_discharges(owner: Window) -> None:
    with owner.read_out() as reader:
        with battery(owner.happed.world.bus):
            until(lambda: "2 hours 30 minutes of battery left · 56 %" in reader.names("label"), "the battery is shown")
            assert "Battery" in reader.names("progress bar")
            until(owner.shows_a_press, "the chart is painted")
            keep(owner.settled().crop(WINDOW), "owner-window")
        until(lambda: "Battery" not in reader.names("progress bar"), "it is gone with UPower")


def test_it_is_as_dark_as_the_desktop_becomes(owner: Window) -> None:
    with portal(owner.happed.world.bus) as desk:
        owner.start().opens()
        for style, (least, most) in {"dark": (0, 60), "light": (200, 255)}.items():
            becomes(desk, style)
            until(lambda: least <= owner.settled().crop(MARGIN).convert("L").tobytes()[0] <= most, f"it is {style}")  # noqa: B023 - in this turn


def mine(owner: Window, name: str) -> str:
    """Return the window's text while happed serves the window itself: earlier presses belong to another application."""
    says = owner.says()
    return says if f" {name} " in says else ""


def explained(owner: Window) -> str:
    """Return the second sentence of happectl explain."""
    bus = f"DBUS_SYSTEM_BUS_ADDRESS={owner.happed.world.address}"
    explain = owner.desktop.ask(*AS_USER, "env", bus, program("happectl"), "explain", "--json")
    return str(json.loads(explain)["next"])


def test_it_says_why_and_what_comes_next_as_happectl_explains_it(untaught: Window) -> None:
    """Press each key once, because a second press within a second belongs to the same series, which counts once."""
    owner = untaught
    owner.start().opens()
    nobody = "that taught it: the profile began so, or was imported. HAPPE tries nothing by itself"
    until(lambda: nobody in mine(owner, "this window"), "it has a cause")
    owner.me("Feedback", "s", "power")
    until(lambda: 'because you pressed "save power" on ' in owner.says(), "a press is the reason")
    owner.key("Escape")
    assert owner.process.wait(PATIENCE_S) == 0

    owner.happed.world.allow("configure")
    owner.happed.configure(QUICK + '[algorithm]\nmode = "extended"\n')
    owner.me("Reload", "")
    owner.start().opens()
    until(lambda: mine(owner, "this window"), "it is served itself")
    told = "HAPPE tries nothing lower, because the desktop does not tell"
    until(lambda: told in owner.says() and explained(owner).startswith(told), "both tell that they know of nobody")
    owner.happed.world.session(MY_SESSION, IdleSinceHint=("t", 1))
    owner.me("Feedback", "s", "performance")
    told = "HAPPE tries a lower frequency after "
    until(lambda: told in owner.says() and explained(owner).startswith(told), "both tell of the next probe")


def has_zork(owner: Window) -> None:
    """Import a profile that no press has taught."""
    document = json.loads(owner.me("ExportProfiles", "s", ""))
    (taught,) = document["profiles"]
    top = {**taught, "app": "zork", "khz": [2_300_000] * 10}
    owner.me("ImportProfiles", "ss", "", json.dumps({**document, "profiles": [top]}))


def test_another_application_is_chosen_by_keys(owner: Window) -> None:
    has_zork(owner)
    owner.start().opens()
    until(owner.shows_a_press, "what torcs was taught is shown")
    owner.key("alt+a", "Down")
    until(lambda: not owner.shows_a_press(), "zork's profile is shown, which nobody taught")
    owner.key("Up")
    until(owner.shows_a_press, "torcs is shown again")


def test_a_pause_ends_with_it_however_it_ends(owner: Window) -> None:
    owner.start().opens()
    owner.key("space")  # at first this button has the keyboard
    owner.me.sees("State", "held")
    owner.process.kill()
    owner.me.sees("State", "observing")


def test_a_second_click_counts_before_happed_has_answered_the_first(owner: Window) -> None:
    owner.start().opens()
    os.kill(owner.happed.pid, signal.SIGSTOP)
    owner.key("space", "space")  # pause, and continue
    owner.settled()
    os.kill(owner.happed.pid, signal.SIGCONT)
    owner.me("Hold", "ss", "test", "later")  # happed has answered the window before
    owner.me.sees("Holds", [("test", "later")])


def test_it_starts_the_indicator_with_the_session_and_no_longer(owner: Window) -> None:
    answers = {"GetUnitFileState": ["disabled"], "EnableUnitFiles": [True, []], "DisableUnitFiles": [[]]}
    units = {SYSTEMD: {"xml": SYSTEMD_XML, "answers": answers}}
    with stand_in(owner.happed.world.bus, "org.freedesktop.systemd1", units) as systemd, owner.read_out() as reader:
        systemd.until("call", "GetUnitFileState")
        systemd.tell("answer", SYSTEMD, "GetUnitFileState", ["enabled"])
        until(lambda: "sensitive" in reader.box(AUTOSTART), "the box can be ticked")
        owner.key("alt+s")
        systemd.until("call", "Reload")
        systemd.until("call", "GetUnitFileState")
        systemd.tell("answer", SYSTEMD, "GetUnitFileState", ["disabled"])
        owner.settled()
        reader.press(AUTOSTART)
        systemd.until("call", "Reload")
        systemd.until("call", "GetUnitFileState")
        calls = [(name, arguments[:2]) for name, arguments in systemd.calls()]
    assert calls == [("EnableUnitFiles", [[UNIT], False]), ("DisableUnitFiles", [[UNIT], False])]


def trays(owner: Window) -> list[str]:
    """Return the bus names of programs with a tray icon."""
    names = [name for name in owner.me.peer.bus("ListNames") if name.startswith(":")]
    found = []
    for name in names:
        with contextlib.suppress(BusError, FileNotFoundError):  # it may have left meanwhile
            pid = owner.me.peer.bus("GetConnectionUnixProcessID", "s", name)
            if Path(f"/proc/{pid}/comm").read_text() == "happe-tray\n":
                found.append(name)
    return found


def busctl(owner: Window) -> list[str]:
    """Return the command, for the test's bus."""
    return ["busctl", f"--address={owner.happed.world.address}", "--timeout=20"]


def opens_from_the_tray(owner: Window) -> None:
    """Open the window by a click on the icon."""
    item = ("/StatusNotifierItem", "org.kde.StatusNotifierItem", "Activate", "ii", "0", "0")

    def opened() -> bool:
        for tray in trays(owner):
            with contextlib.suppress(CalledProcessError):  # not the icon's connection
                owner.desktop.ask(*busctl(owner), "call", tray, *item)
        return bool(owner.focused())

    until(opened, "the icon opens the window")


@contextlib.contextmanager
def tray_read_out(owner: Window) -> Iterator[ScreenReader]:
    """Run the tray's icon beside a screen reader."""
    bus = owner.happed.world.bus
    with (
        stand_in(bus, WATCHER, TRAY),
        ScreenReader.beside(owner.desktop, bus.address, "happe-tray") as reader,
    ):
        owner.start("--where", "tray", "--battery", "simulated", **TELLS)
        yield reader


def test_the_trays_window_knows_what_has_changed_while_it_was_closed(owner: Window) -> None:
    units = {SYSTEMD: {"xml": SYSTEMD_XML, "answers": {"GetUnitFileState": ["disabled"]}}}
    with stand_in(owner.happed.world.bus, "org.freedesktop.systemd1", units) as systemd, tray_read_out(owner) as reader:
        opens_from_the_tray(owner)
        until(lambda: reader.box(AUTOSTART) & {"checked", "sensitive"} == {"sensitive"}, "the indicator does not start")
        owner.key("Escape")
        until(lambda: not owner.focused(), "the window is closed")
        systemd.tell("answer", SYSTEMD, "GetUnitFileState", ["enabled"])
        opens_from_the_tray(owner)
        until(lambda: "checked" in reader.box(AUTOSTART), "it starts with the session")


def test_the_trays_menu_pauses_undoes_and_opens_the_window(owner: Window) -> None:
    has_zork(owner)
    with stand_in(owner.happed.world.bus, WATCHER, TRAY) as watcher:
        owner.start("--where", "tray")
        watcher.until("call", "RegisterStatusNotifierItem")

        def layout(name: str) -> str:
            with contextlib.suppress(CalledProcessError):
                return owner.desktop.ask(*busctl(owner), "call", name, *menu, "GetLayout", "iias", "0", "--", "-1", "0")
            return ""

        menu = ["/MenuBar", "com.canonical.dbusmenu"]

        def found(label: str) -> tuple[str, str] | None:
            for tray in trays(owner):  # a hidden icon comes back under another name
                items = re.findall(r"(\d+) \d+ (?:\"\w+\" b \w+ )*\"label\" s \"_?([^\"]*)\"", layout(tray))
                for number, text in items:
                    if text == label:
                        return tray, number
            return None

        def click(label: str) -> None:
            tray, number = until(lambda: found(label), f"the menu has {label}")
            owner.desktop.ask(*busctl(owner), "call", tray, *menu, "Event", "isvu", number, "clicked", "s", "", "0")

        with stand_in(owner.happed.world.bus, "org.freedesktop.Notifications", NOTES) as desk:
            owner.happed.world.allow()
            click("Pause HAPPE")
            assert "Refused: " in desk.until("call", "Notify")["arguments"][4]
            owner.happed.world.allow("hold")
        click("Pause HAPPE")
        owner.me.sees("State", "held")
        click("Pause HAPPE")
        owner.me.sees("State", "observing")
        click("Undo the last press")
        until(lambda: "undo" in keys(owner.me), "it is undone")
        click("Open HAPPE")
        owner.opens()
        owner.key("alt+a", "Down", "Escape")  # zork's profile, which the closed window forgets
        owner.me.sees("Application", "torcs")

        def undone() -> bool:
            """Click until the tray knows of torcs's last press."""
            click("Undo the last press")
            return keys(owner.me) == ["performance", "power", "undo", "undo"]

        until(undone, "torcs's last one is undone")
        assert owner.process.poll() is None
