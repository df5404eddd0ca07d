# SPDX-License-Identifier: GPL-2.0-or-later
"""A world on a port, and a real browser, for tests."""

import os
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Self
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from playwright.sync_api import Browser, Page, StorageState, expect, sync_playwright
from werkzeug.serving import WSGIRequestHandler, make_server

import given_accounts
from patience import PATIENCE_S
from world import World

CHROMIUM = "/usr/bin/chromium"
STUDY_SERVER = Path(__file__).parents[1]
AXE = STUDY_SERVER / "node_modules/axe-core/axe.min.js"
PICTURES = STUDY_SERVER.parent / "build/pictures/study-server"
EVERYTHING = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
HEIGHT = 800  # CSS pixels
WIDE, NARROW = 1280, 320
MOST_TABS = 200
COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}


class _Quiet(WSGIRequestHandler):
    """A handler that logs no requests."""

    def log_request(self, *_args: object) -> None:
        """Do nothing."""


def _closes(app: WSGIApplication) -> WSGIApplication:
    """The same application, which closes a file even if the browser leaves in the middle; werkzeug would forget it."""

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterator[bytes]:
        with closing(app(environ, start_response)) as parts:  # type: ignore[type-var] # Flask's answers have close()
            yield from parts

    return answer


class WorldServer:
    """A world that answers at `url`, until the `with` block ends."""

    def __init__(self, world: World) -> None:
        """Listen on a free port of the loopback."""
        self.world = world
        self._server = make_server("127.0.0.1", 0, _closes(world.app), threaded=True, request_handler=_Quiet)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> Self:
        """Start to answer."""
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium."""
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    patience: dict[str, Any] = {"timeout": 1000 * PATIENCE_S}
    expect.set_options(**patience)
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=arguments, **patience)


class Watched:
    """A browser's page, and its faults."""

    def __init__(  # noqa: PLR0913 - each describes a window
        self,
        browser: Browser,
        url: str,
        width: int = WIDE,
        height: int = HEIGHT,
        scale: float = 1,
        *,
        script: bool = True,
        signed_in: StorageState | None = None,
    ) -> None:
        """Open a window of this size on the server at `url`. `signed_in` is the state from another window's sign-in.

        `scale` is the number of pixels to a CSS pixel.
        """
        self.url = url
        self.context = browser.new_context(
            viewport={"width": width, "height": height},
            device_scale_factor=scale,
            base_url=url,
            locale="en-GB",
            java_script_enabled=script,
            storage_state=signed_in,
        )
        self.context.set_default_timeout(1000 * PATIENCE_S)
        self.page: Page = self.context.new_page()
        self.wrong: list[str] = []
        self.context.on("request", lambda request: self._same_origin(request.url))
        self.page.on("console", self._no_error)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))

    def close(self) -> None:
        """Close the window."""
        self.context.close()

    def sign_in(self, email: str) -> StorageState:
        """Sign in to an account of `given_accounts`. Returns the state with which other windows are signed in, too."""
        self.page.goto("/sign-in")
        self.page.fill("#email", email)
        self.page.fill("#password", given_accounts.PASSWORD)
        self.page.click("main button")
        self.page.wait_for_url("**/studies")
        return self.context.storage_state()

    def tab_to(self, selector: str, key: str = "Tab") -> None:
        """Press Tab, or Shift+Tab, until the element with the focus matches this."""
        wanted = self.page.locator(selector)
        for _ in range(MOST_TABS):
            self.page.keyboard.press(key)
            if wanted.evaluate_all("all => all.includes(document.activeElement)"):
                return
        raise AssertionError(selector)

    def looks_well(self, name: str) -> None:
        """Assert that a page is accessible and fits, light and dark, wide and narrow, and keep pictures of it."""
        width = self.page.viewport_size["width"] if self.page.viewport_size else WIDE
        assert self.page.locator("h1").count() == 1, name
        assert self.page.title().endswith(" \N{MIDDLE DOT} HAPPE"), name
        for scheme in ("dark", "light"):
            assert self.axe(scheme) == [], name
            self.picture(f"{name}-{width}-{scheme}")
        for each in (width, NARROW):
            self.resize(each)
            assert self.overflow() == 0, (name, each)
        self.picture(f"{name}-{NARROW}-light")
        self.resize(width)
        assert self.wrong == [], name

    def axe(self, scheme: str = "light") -> list[str]:
        """The faults that axe-core finds on the page: rule and place. With `dark` it checks only colours."""
        self.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce")
        assert self.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") == (scheme == "dark")
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text())
        run = "only => axe.run({runOnly: only}).then(found => found.violations.concat(found.incomplete.filter(one => "
        only = COLOURS if scheme == "dark" else EVERYTHING
        found: list[dict[str, Any]] = self.page.evaluate(run + "one.impact === 'critical')))", only)
        return [f"{one['id']}: {node['target']} {node['html'][:200]}" for one in found for node in one["nodes"]]

    def resize(self, width: int) -> None:
        """Make the window this wide, in CSS pixels."""
        self.page.set_viewport_size({"width": width, "height": HEIGHT})

    def overflow(self) -> int:
        """By how many CSS pixels the page is wider than the window."""
        wider: int = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return wider

    def picture(self, name: str) -> None:
        """Keep a picture of the whole page, if HAPPE_PICTURES is set."""
        if os.environ.get("HAPPE_PICTURES"):
            PICTURES.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=PICTURES / f"{name}.png", full_page=True)

    def _same_origin(self, url: str) -> None:
        if not url.startswith(self.url + "/"):
            self.wrong.append(f"asked for {url}")

    def _no_error(self, message: Any) -> None:  # noqa: ANN401 - Playwright's
        is_page_itself = message.location["url"] == self.page.url and message.text.startswith("Failed to load")
        if message.type in ("error", "warning") and not is_page_itself:
            self.wrong.append(f"{message.text} ({message.location['url']})")


class Staff:
    """Somebody of the staff, who has signed in to a server with a browser."""

    def __init__(self, browser: Browser, server: WorldServer, email: str) -> None:
        """Sign in to an account of `given_accounts`."""
        self.browser, self.server, self.world = browser, server, server.world
        window = Watched(browser, server.url)
        self.signed_in = window.sign_in(email)
        window.close()

    def open(self, path: str, width: int = WIDE, *, script: bool = True) -> Watched:
        """A window that shows a page."""
        window = Watched(self.browser, self.server.url, width, script=script, signed_in=self.signed_in)
        window.page.goto(path)
        return window
