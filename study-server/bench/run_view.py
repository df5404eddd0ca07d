# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure the page of a run over a trace of 24 million samples beside the page of a run that is still sealed.

The trace is four minutes of one channel at 100 kS/s. The first look computes summaries from the parts, as many as it
has time for; later ones take these; closer looks read parts. A look is the whole answer, in process: database, record,
power, charts, page. Ratios are to the bare page, of neighbouring looks. Memory is the most that a process had which
does nothing but look, above what it had after a look at the same run over a trace of a hundredth of the rate.

Then Chromium looks at another such run, which nobody has looked at: the time to its first paint, and the long tasks of
its main thread while the crosshair crosses the charts. A task over 50 ms is a long task (W3C Long Tasks API).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import given_accounts
import given_power
from happe_study import migrations
from happe_study.access.rights import Role
from happe_study.base.database import Database
from serve import Watched, WorldServer, browsers
from world import World, fixed_secrets

if TYPE_CHECKING:
    from flask.testing import FlaskClient

SECONDS = 230  # and five before and after
RATE_HZ = 100_000
FIRST_SECONDS = 1.0  # that the first look may take
LATER_RATIO = 10.0  # to the bare page
MOST_MIB = 150  # more than over a small trace
PAINT_SECONDS = 1.0  # from the request to the first paint
CROSSED = 100  # places of each chart that the crosshair is at
EMAIL = "analyst@example.org"
# Chromium reports tasks over 50 ms.
WATCH = "window.tasks = []; new PerformanceObserver(all => tasks.push(...all.getEntries())).observe({type: 'longtask'})"
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
LOOKS = {
    "whole": "",
    "a minute": "?from=60&to=120",
    "five seconds": "?from=60&to=65",
    "a tenth of a second": "?from=60&to=60.1",
    "single samples": "?from=60&to=60.005",
}


@dataclass(frozen=True)
class Look:
    """How long looks took, in seconds (medians except for the first), and their ratio to the bare page's neighbours."""

    seconds: float
    ratio: float
    bytes: int


def main() -> int:
    """Print what was measured; 1 if an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rate", type=int, default=RATE_HZ, help="samples a second")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--looks", nargs=5, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.looks:
        looks_at(chosen.looks, chosen.rounds)
        return 0
    with tempfile.TemporaryDirectory(prefix="happe-run-view-") as folder:
        results, said = measure(Path(folder), chosen.rate, chosen.rounds)
    aims = {
        f"first look under {FIRST_SECONDS} s": said["first"] < FIRST_SECONDS,
        f"later looks at the whole at most {LATER_RATIO} times a bare page": results["whole"].ratio <= LATER_RATIO,
        f"at most {MOST_MIB} MiB more": said["mib"] <= MOST_MIB,
        f"first paint in Chromium under {PAINT_SECONDS} s": said["paint"] < PAINT_SECONDS,
        "no long task under the crosshair": said["long_tasks"] == 0,
    }
    if chosen.json:
        looks = {name: asdict(look) for name, look in results.items()}
        print(json.dumps(said | {"looks": looks, "aims": aims}))
    else:
        print(f"{(SECONDS + 10) * chosen.rate / 1e6:.1f} million samples, at most {said['mib']:.0f} MiB more")
        print(f"  {'first':20} {1000 * said['first']:7.1f} ms; all of it is read after {1000 * said['whole']:.1f} ms")
        for name, look in results.items():
            print(
                f"  {name:20} {1000 * look.seconds:7.1f} ms  {look.ratio:5.1f} bare pages  {look.bytes / 1024:6.0f} KiB"
            )
        print(f"  {'in Chromium':20} {1000 * said['paint']:7.1f} ms to the first paint of a first look")
        print(f"  {'crosshair':20} {said['long_tasks']} tasks over 50 ms in {said['moves']} moves")
        print("\n".join(f"{'met' if met else 'MISSED'}: {aim}" for aim, met in aims.items()))
    return 0 if all(aims.values()) else 1


def measure(folder: Path, rate_hz: int, rounds: int) -> tuple[dict[str, Look], dict[str, float]]:
    """The looks by name; seconds of the first and until all was read, and MiB."""
    url = f"sqlite:///{folder / 'server.db'}"
    database = Database(url)
    migrations.upgrade(database, secrets=fixed_secrets())
    database.dispose()
    world = World(folder, url)
    try:
        small = given_power.measured_run(world, "small-trace", seconds=SECONDS, rate_hz=rate_hz // 100)
        sealed = given_power.measured_run(world, "sealed", seconds=10, rate_hz=100, unblinded=False)
        run = given_power.measured_run(world, "large-trace", seconds=SECONDS, rate_hz=rate_hz)
        other = given_power.measured_run(world, "for-the-browser", seconds=SECONDS, rate_hz=rate_hz)
        token = world.account(Role.ANALYST)
        given_accounts.account(world, Role.ANALYST, email=EMAIL)
        with redirect_stdout(sys.stderr):  # of the server, which logs each request
            said_there = in_browser(world, other.path)
    finally:
        world.close()
    command = [sys.executable, __file__, "--rounds", str(rounds), "--looks"]
    answer = subprocess.run(
        [*command, str(folder), token, small.path, sealed.path, run.path], check=True, stdout=subprocess.PIPE
    )
    said = json.loads(answer.stdout.splitlines()[-1]) | said_there
    return {name: Look(**look) for name, look in said.pop("looks").items()}, said


def in_browser(world: World, path: str) -> dict[str, float]:
    """Seconds to the first paint of a page, and the long tasks while the crosshair moves."""
    with WorldServer(world) as server, browsers() as start:
        window = Watched(start("chromium"), server.url)
        page = window.page
        window.sign_in(EMAIL)
        page.goto(path)
        page.wait_for_function(f"() => {PAINTED} > 0")
        paint_ms = page.evaluate(PAINTED)
        page.reload()  # all of it is read
        plots = page.locator("#figure .u-over")
        plots.first.wait_for()
        page.evaluate(WATCH)
        moves = 0
        for plot in plots.all():
            plot.scroll_into_view_if_needed()
            box = plot.bounding_box() or {"x": 0, "y": 0, "width": 0, "height": 0}
            for step in range(CROSSED):
                page.mouse.move(box["x"] + box["width"] * step / CROSSED, box["y"] + box["height"] / 2)
                moves += 1
        page.evaluate("() => new Promise(painted => requestAnimationFrame(() => setTimeout(painted)))")
        long_tasks = page.evaluate("tasks.length")
        window.close()
    return {"paint": paint_ms / 1000, "moves": moves, "long_tasks": long_tasks}


def looks_at(what: list[str], rounds: int) -> None:
    """Print the looks as JSON: what the process that does nothing else is for."""
    folder, token, small, sealed, path = what
    world = World(Path(folder), f"sqlite:///{folder}/server.db")
    client = world.client(token)
    _look(client, small)
    _look(client, sealed)
    before = _peak_kib()
    first, until_whole = _until_whole(client, path)
    looks = {name: asdict(_repeated(client, path + query, sealed, rounds)) for name, query in LOOKS.items()}
    grown = _peak_kib() - before
    world.close()
    print(json.dumps({"first": first, "whole": until_whole, "looks": looks, "mib": grown / 1024}))


def _peak_kib() -> int:
    """The most memory that this process had. getrusage counts the parent's, too."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0])


def _until_whole(client: FlaskClient, path: str) -> tuple[float, float]:
    """Seconds of the first look, and of all until nothing was left to be read."""
    took, left = [], True
    while left:
        begun = time.perf_counter()
        answer = client.get(path)
        took.append(time.perf_counter() - begun)
        left = "Look again" in answer.text
    return took[0], sum(took)


def _repeated(client: FlaskClient, path: str, bare: str, rounds: int) -> Look:
    pairs = [(_look(client, path), _look(client, bare)[0]) for _ in range(rounds)]
    ratio = statistics.median(look[0] / other for look, other in pairs)
    return Look(statistics.median(look[0] for look, _other in pairs), ratio, pairs[0][0][1])


def _look(client: FlaskClient, path: str) -> tuple[float, int]:
    """Seconds and bytes of an answer."""
    begun = time.perf_counter()
    answer = client.get(path)
    if answer.status_code != 200:  # noqa: PLR2004 - OK
        sys.exit(f"{path}: {answer.status}")
    return time.perf_counter() - begun, len(answer.data)


if __name__ == "__main__":
    sys.exit(main())
