# SPDX-License-Identifier: GPL-2.0-or-later
"""The overlay in real KWin: a layer above full-screen windows that clicks pass through, at any scale."""

import pytest
from PIL import Image

from agent import Agent
from desktop import AS_USER, MARGIN, SIZE, Output, changed
from happed_world import Happed
from locks import lockable, rests_while_locked
from overlay import Box, clicks_go_through, is_in_the_corner, is_readable
from patience import until
from shells import KWin, opens_the_owners_window, shell

pytestmark = pytest.mark.slow

GAME = "happe-ui-window"  # happed's name for the full-screen program
LAYERS = "windows.map(window => [window.pid, String(window).startsWith('KWin::X11') ? 0 : window.layer])"


def looks(desktop: KWin, *screen: str) -> tuple[Image.Image, Box | None]:
    """Return a steady picture of a screen, and the box of all that is not black."""

    def same() -> tuple[Image.Image, Box | None] | None:
        seen = desktop.seen(*screen)
        black = Image.new("RGB", seen.size)
        return (seen, changed(black, seen)) if changed(seen, desktop.seen(*screen)) is None else None

    return until(same, "nothing moves")


def overlay_on(desktop: KWin, scale: float = 1) -> Box:
    """Wait until the overlay is on the first screen, in its corner, and readable. Return its place in the pixels."""
    seen, box = until(lambda: (found := looks(desktop))[1] and found, "the overlay is seen")
    assert box
    if scale == 1:
        is_in_the_corner(box, seen.size)
    assert box[0] == pytest.approx(scale * MARGIN, abs=1)
    assert box[3] == pytest.approx(seen.height - scale * MARGIN, abs=1)
    is_readable(seen, box)
    return box


def is_a_layer_above(desktop: KWin, agent: Agent, window: Output) -> None:
    """Assert that KWin has the overlay in a higher layer than the window, and that it is not an XWayland window."""
    layers = dict(desktop.said(LAYERS))
    assert layers[agent.process.pid] > layers[window.process.pid] > 0


def follows_the_game_to_the_other_screen(desktop: KWin, agent: Agent) -> None:
    """Move the game and the focus to the other screen."""
    assert looks(desktop, desktop.screens[1])[1] is None
    desktop.run("workspace.sendClientToScreen(workspace[front], screen(1))")
    # Then click on it, and press a key: KWin tells nobody which screen has the focus.
    one, other = desktop.screens
    desktop.click(SIZE[0] + 100, 100)
    agent.me("Feedback", "s", "power")
    until(lambda: looks(desktop, other)[1], "the overlay is on the other screen")
    until(lambda: looks(desktop, one)[1] is None, "it has left the first one")  # each screen has frames of its own


def test_kwin_shows_the_overlay_above_a_full_screen_game(happed: Happed) -> None:
    """One KWin runs all parts. The test kills it, and it comes back with other monitors."""
    with lockable(happed.world), shell(KWin, happed.world.address) as desktop:
        agent = Agent(desktop, happed).start("--where", "auto", "--battery", "simulated")
        window = desktop.window("black", *AS_USER)
        agent.serves(GAME)
        box = overlay_on(desktop)
        is_a_layer_above(desktop, agent, window)
        clicks_go_through(desktop, window, box)
        rests_while_locked(desktop, agent, box, lambda: agent.me("Feedback", "s", "performance"))
        agent.me("Feedback", "s", "performance")
        opens_the_owners_window(desktop, "desktop-kde")

        for scale, screens in ((1.5, 1), (1, 2)):
            desktop.restart_at(scale, screens)
            window = desktop.window("black", *AS_USER)
            agent.serves(GAME)
            _, top, _, bottom = overlay_on(desktop, scale)
            assert bottom - top == pytest.approx(scale * (box[3] - box[1]), abs=2)
        is_a_layer_above(desktop, agent, window)
        follows_the_game_to_the_other_screen(desktop, agent)
