# SPDX-License-Identifier: GPL-2.0-or-later
"""A study of simulated people on this machine, through the server, devices and measuring hosts of a real one."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from happe_demo.children import DemoError
from happe_demo.demonstration import ROOT, Demonstration
from happe_demo.office import STUDY
from happe_demo.screen import is_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

FEWEST, MOST = 2, 48
INTERRUPTED = 130


def main() -> NoReturn:
    """Run it. Ends by SystemExit: 0 done, 1 it could not be done, 130 interrupted."""
    options = _options()
    with ExitStack() as stack:
        _listen()
        folder = stack.enter_context(_folder(options.keep))
        demonstration = Demonstration(folder, options.participants, options.seed)
        stack.callback(_undisturbed, demonstration.end)
        sys.exit(_run(demonstration, options))


def _run(demonstration: Demonstration, options: argparse.Namespace) -> int:
    try:
        print(f"A study of {options.participants} simulated people, through everything that a real one goes through:")
        demonstration.run()
        print("\n".join(demonstration.summary()), flush=True)
        if is_terminal() and not options.exit:
            _stay(demonstration)
    except KeyboardInterrupt:
        print("\ninterrupted; everything that was begun is ended and removed", file=sys.stderr)
        return INTERRUPTED
    except (DemoError, OSError) as error:
        _complain(error, demonstration.folder, keep=options.keep)
        return 1
    if options.keep:
        print(f"\n  Kept in {options.keep}: export/, measures.json, the meters' traces, the server's data, logs/")
    return 0


def _stay(demonstration: Demonstration) -> None:
    """Let people look at the pages until Ctrl-C."""
    try:
        _invite(demonstration)
        while demonstration.children[0].alive:
            time.sleep(0.5)
    except KeyboardInterrupt:
        print()
        return
    raise demonstration.children[0].ended()


def _invite(demonstration: Demonstration) -> None:
    """Say where the pages are and who may see them; open them, where there is a desktop."""
    address = f"{demonstration.url}/sign-in?next=/studies/{STUDY}/report/1"
    print(f"\n  Look at it: {address}\n")
    for person in demonstration.people:
        print(f"    {person.email:20} {person.password:32} {person.role}: {person.does}")
    print("\n  Ctrl-C ends it and leaves nothing behind.", flush=True)
    if (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) and shutil.which("xdg-open"):
        subprocess.Popen(
            ["xdg-open", address], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip


def _complain(error: Exception, folder: Path, *, keep: Path | None) -> None:
    """Say why it ended, and keep the logs beyond the folder."""
    for line in error.lines if isinstance(error, DemoError) else [str(error)]:
        print(f"demo: {line}", file=sys.stderr)
    logs = folder / "logs"
    if keep is None:
        logs = ROOT / "build/demo-failed"
        shutil.rmtree(logs, ignore_errors=True)
        shutil.copytree(folder / "logs", logs)
    print(
        f"demo: the step that is marked `not done` above failed; what its programs said is in {logs}", file=sys.stderr
    )


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """Where everything is: a folder that goes away, or the one that is to be kept. Ends by SystemExit."""
    if keep is not None:
        try:
            keep.mkdir(mode=0o700, parents=True)
        except FileExistsError:
            print(f"demo: {keep}: is there already; name a folder that is not", file=sys.stderr)
            sys.exit(os.EX_CANTCREAT)
        yield keep.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="happe-demo-", ignore_cleanup_errors=True) as name:
        yield Path(name).resolve()


def _listen() -> None:
    """Let a hang-up or SIGTERM end it as Ctrl-C does."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)


def _undisturbed(act: Callable[[], None]) -> None:
    """Do something that a second Ctrl-C must not keep from being done."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    act()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("demo", description=__doc__)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep everything in this folder, which is made")
    parser.add_argument("--exit", action="store_true", help="end after the tables, also on a terminal")
    parser.add_argument("--participants", type=_count, default=24, metavar="N", help="how many take part [24]")
    parser.add_argument("--seed", type=int, default=1, help="what they are drawn from [1]")
    return parser.parse_args()


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and FEWEST <= int(text) <= MOST):
        raise argparse.ArgumentTypeError(f"must be {FEWEST} to {MOST}")
    return int(text)
