# SPDX-License-Identifier: GPL-2.0-or-later
"""HAPPE in real GNOME Shell: overlay and quick setting by the extension, before the real happed and its keys."""

import itertools
import os
import re

import pytest
from PIL import Image

from agent import Agent
from desktop import AS_USER, changed, keep, program
from happed_world import KEY_PROG1, KEY_PROG2, Client, Happed, Keyboards, press
from locks import lockable, rests_while_locked
from overlay import Box, clicks_go_through, is_in_the_corner, is_readable
from patience import until
from shells import LARGE, LEFT_ALT, Gnome, GnomeWithFractions, opens_the_owners_window, shell

pytestmark = pytest.mark.slow

GAME = "happe-ui-window"  # happed's name for the full-screen program
KEY_G = 34
TOGGLE = (
    "const {menu} = Main.panel.statusArea.quickSettings;"
    "const toggle = menu._grid.get_children().find(item => (item.title ?? item.label) === 'HAPPE');"
)


WORDS = "Main.uiGroup.get_children().filter(actor => actor.visible).map(actor => actor.accessible_name).join()"


def overlay_on(desktop: Gnome, before: Image.Image, scale: int = 1) -> tuple[Image.Image, Box]:
    """Wait until the overlay is in its corner. Return the picture, and the overlay's place."""

    def there() -> tuple[Image.Image, Box] | None:
        seen = desktop.seen()
        box = changed(before, seen)
        return (seen, box) if box and changed(seen, desktop.seen()) is None else None

    seen, box = until(there, "the overlay is seen")
    left, top, right, bottom = (edge // scale for edge in box)
    is_in_the_corner((left, top, right, bottom), (LARGE[0] // scale, LARGE[1] // scale))
    is_readable(seen, box)
    return seen, box


def shows_a_press(desktop: Gnome, me: Client, keyboard: int, game: Image.Image) -> None:
    """Press a key: the game's profile learns, and the overlay shows what the press changed."""
    _, narrow = overlay_on(desktop, game)
    press(keyboard, KEY_PROG1)
    until(lambda: me("ListEvents", "ssxu", "", GAME, 0, 10), "the game's profile learns")
    other_keys = itertools.cycle((KEY_PROG2, KEY_PROG1))

    def wider() -> bool:
        """Look, or press the other key: on a busy machine a screenshot may come after the effect's ten seconds."""
        seen = (changed(game, desktop.seen()) or narrow)[2] > narrow[2]
        if not seen:
            press(keyboard, next(other_keys))
        return seen

    until(wider, "the press's effect is seen")


def grows_with_the_monitors_scale(desktop: Gnome, game: Image.Image) -> None:
    """Set the monitor's scale to 200 % and back. The press, whose effect may end, changes only the width."""

    def left_and_height() -> tuple[int, int] | None:
        box = changed(game, desktop.seen())
        return box and (box[0], box[3] - box[1])

    _, (left, top, _, bottom) = overlay_on(desktop, game)
    desktop.scale(2)

    def twice_as_large() -> bool:
        large = left_and_height()
        return large is not None and large[0] == 2 * left and abs(large[1] - 2 * (bottom - top)) <= 2

    until(twice_as_large, "the overlay is twice as large")
    overlay_on(desktop, game, 2)
    desktop.scale(1)
    until(lambda: left_and_height() == (left, bottom - top), "it is as high as it was")


def is_enabled_in_the_owners_window(desktop: Gnome, agent: Agent) -> None:
    """Open the window, and press the letter of its button for GNOME until that has worked."""
    owner = desktop.start(*AS_USER, program("happe-indicator"), "--window", QT_QPA_PLATFORM="wayland")
    until(lambda: "HAPPE" in desktop.evaluate("global.display.focus_window?.title"), "the window has the keyboard")

    def pressed() -> bool:
        desktop.press(LEFT_ALT, KEY_G)
        return "GNOME's extension HAPPE shows the overlay" in agent.log

    until(pressed, "the window's button has enabled the extension")
    desktop.stop(owner)


def pauses_from_the_quick_settings(desktop: Gnome, me: Client) -> None:
    """Open the menu, and click on HAPPE: three times before happed has answered, and once more."""
    desktop.evaluate(TOGGLE + "menu.open(); toggle.menu.open()")
    said = TOGGLE + "toggle.menu._getMenuItems()[0].label.text"
    until(lambda: f" GHz · {GAME}" in desktop.evaluate(said), "the quick setting says what HAPPE does")
    assert desktop.evaluate(TOGGLE + "toggle.checked") == "'true')\n"
    until(lambda: changed(desktop.seen(), desktop.seen()) is None, "the menus are open")
    keep(desktop.seen().reduce(2), "quick-settings-gnome")
    desktop.evaluate(TOGGLE + "[1, 2, 3].forEach(() => toggle.emit('clicked', 1))")
    me.sees("State", "held")
    assert me.get("Holds") == [("GNOME Shell", "paused in the quick settings")]
    until(lambda: "Paused" in desktop.evaluate(said), "the quick setting says that HAPPE is paused")
    desktop.evaluate(TOGGLE + "toggle.emit('clicked', 1)")
    me.sees("Holds", [])
    cookie = me("Hold", "ss", "make", "compiling")
    until(lambda: "Paused: make" in desktop.evaluate(said), "it says that another program paused HAPPE")
    me("Release", "u", cookie)
    desktop.evaluate(TOGGLE + "menu.close()")


def opens_the_window_from_the_quick_settings(desktop: Gnome) -> None:
    """Click on "Open HAPPE" in the menu, and close the window."""
    desktop.evaluate(TOGGLE + "menu.open(); toggle.menu.open()")
    until(lambda: changed(desktop.seen(), desktop.seen()) is None, "the menus are open")
    middle = desktop.evaluate(
        TOGGLE + "const item = toggle.menu._getMenuItems().find(item => item.label.text === 'Open HAPPE');"
        "const [left, top] = item.get_transformed_position();"
        "`${Math.round(left + item.width / 2)} ${Math.round(top + item.height / 2)}`"
    )
    desktop.click(*map(int, re.findall(r"\d+", middle)))
    title = "global.display.focus_window?.title"
    until(lambda: "HAPPE" in desktop.evaluate(title), "the owner's window is in front")
    desktop.evaluate("global.display.focus_window.delete(global.get_current_time())")
    until(lambda: "HAPPE" not in desktop.evaluate(title), "the owner's window is closed")


def comes_back_with_the_shell(desktop: Gnome, game: Image.Image) -> None:
    """Kill the shell, and start it again."""
    desktop.kill_shell()
    desktop.start_shell()
    desktop.window("black", *AS_USER)
    until(lambda: "of battery left" in desktop.evaluate(WORDS), "the extension shows the overlay again")
    overlay_on(desktop, game)


def test_gnome_shows_the_overlay_of_a_press_above_a_full_screen_game(stopped: Happed) -> None:
    """One shell runs all parts, because it takes seconds to start."""
    keyboards = Keyboards(stopped.folder / "keys")
    happed = stopped.start()
    _, keyboard = keyboards.hand_out()
    keyboards.close()
    happed.world.allow("hold")
    with lockable(happed.world), shell(Gnome, happed.world.address) as desktop:
        agent = Agent(desktop, happed).start("--where", "auto", "--battery", "simulated")
        until(lambda: "a window of XWayland shows it" in agent.log, "without the extension XWayland shows the overlay")
        window = desktop.window("black", *AS_USER)
        game = Image.new("RGB", LARGE)
        overlay_on(desktop, game)

        is_enabled_in_the_owners_window(desktop, agent)
        agent.serves(GAME)
        shows_a_press(desktop, agent.me, keyboard, game)
        assert "of battery left" in desktop.evaluate(WORDS)
        clicks_go_through(desktop, window, overlay_on(desktop, game)[1])
        grows_with_the_monitors_scale(desktop, game)
        rests_while_locked(desktop, agent, overlay_on(desktop, game)[1], lambda: press(keyboard, KEY_PROG1))
        pauses_from_the_quick_settings(desktop, agent.me)
        opens_the_window_from_the_quick_settings(desktop)
        opens_the_owners_window(desktop, "desktop-gnome")

        before = agent.log.count("a window of XWayland shows it")
        desktop.switch_extension(on=False)
        until(lambda: agent.log.count("a window of XWayland shows it") > before, "XWayland shows it again")
        overlay_on(desktop, game)
        desktop.switch_extension(on=True)
        overlay_on(desktop, game)
        comes_back_with_the_shell(desktop, game)
        desktop.stop(agent.process)
        until(lambda: changed(game, desktop.seen()) is None, "the picture goes with its program")
    os.close(keyboard)


@pytest.mark.long
def test_gnome_shows_the_overlay_at_150_percent_on_the_monitor_with_the_game(happed: Happed) -> None:
    with shell(GnomeWithFractions, happed.world.address) as desktop:
        desktop.switch_extension(on=True)
        Agent(desktop, happed).start("--where", "auto", "--battery", "simulated")
        desktop.window("black", *AS_USER)
        desktop.scale(1.5)
        for monitor in (1, 0):

            def follows(monitor: int = monitor) -> bool:
                """Move the game again if a late change of the scale has put it back."""
                desktop.evaluate(f"global.display.focus_window.move_to_monitor({monitor})")
                return overlay_left_and_below(desktop.seen()) == (monitor, 24, 24)

            until(follows, f"it is on monitor {monitor}")


def overlay_left_and_below(seen: Image.Image) -> tuple[int, int, int] | None:
    """Return which of two monitors has the overlay, and how many pixels are at its left and below it."""
    lower = seen.crop((0, seen.height // 2, *seen.size))  # the lower half has no panel
    box = changed(Image.new("RGB", lower.size), lower)
    return box and (2 * box[0] // seen.width, box[0] % (seen.width // 2), lower.height - box[3])
