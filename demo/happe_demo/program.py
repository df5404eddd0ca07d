# SPDX-License-Identifier: GPL-2.0-or-later
"""A study of simulated people on this machine, through the server, devices and measuring hosts of a real one."""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from happe_demo.children import MARK, ROOT, SOURCES, end_all

FEWEST, MOST = 2, 48
INTERRUPTED = 130
ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
AWAITED = ENDING | {signal.SIGCHLD}


def main() -> NoReturn:
    """Run the demonstration. Ends by SystemExit: 0 done, 1 it could not be done, 130 interrupted.

    A separate process does the work (show.py). This one waits for it or for Ctrl-C, and cleans up. Signals can't
    disturb it, because they wait until it asks for them.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    options = _options()
    with _folder(options.keep) as folder:
        status = _shown(folder, options)
        if status not in (0, INTERRUPTED):
            _keep_logs(folder / "logs", options.keep)
    if status == INTERRUPTED:
        print(
            f"\ninterrupted; every process has ended{'' if options.keep else ', and everything is removed'}",
            file=sys.stderr,
        )
    if options.keep and status == 0:
        print(f"\n  Kept in {options.keep}: export/, measures.json, the meters' traces, the server's data, logs/")
    sys.exit(status)


def _shown(folder: Path, options: argparse.Namespace) -> int:
    """Run the show, end all of its processes, and return its exit status."""
    command = [sys.executable, "-m", "happe_demo.show", folder, options.participants, options.seed]
    show = subprocess.Popen(
        [*map(str, command), *(["--exit"] if options.exit else [])],
        stdin=subprocess.PIPE,  # the show ends when this pipe closes
        env=os.environ | {"PYTHONPATH": str(SOURCES), "PYTHONDONTWRITEBYTECODE": "1", MARK: str(folder)},
        start_new_session=True,
        preexec_fn=_signals_as_usual,  # noqa: PLW1509 - there is one thread
    )
    interrupted = False
    while show.poll() is None:
        if signal.sigwait(AWAITED) in ENDING:
            interrupted = True
            show.terminate()
            show.wait()
    end_all(folder)
    if interrupted and show.returncode == -signal.SIGTERM:
        return INTERRUPTED
    if show.returncode < 0:
        print(f"demo: ended by {signal.Signals(-show.returncode).name}", file=sys.stderr)
        return 1
    return show.returncode


def _signals_as_usual() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED)


def _keep_logs(logs: Path, keep: Path | None) -> None:
    """Print the folder of the programs' logs, which stays after a failed demonstration."""
    if keep is None and logs.exists():
        logs = Path(shutil.copytree(logs, _emptied(ROOT / "build/demo-failed")))
    print(
        f"demo: the step that is marked `not done` above failed; the output of its programs is in {logs}",
        file=sys.stderr,
    )


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return folder


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """The demonstration's folder: a temporary one, or the one to keep. Exits by SystemExit."""
    if keep is not None:
        try:
            keep.mkdir(mode=0o700, parents=True)
        except FileExistsError:
            print(f"demo: {keep}: exists already; name a new folder", file=sys.stderr)
            sys.exit(os.EX_CANTCREAT)
        except OSError as error:
            print(f"demo: {keep}: {error.strerror}; name a folder that can be made", file=sys.stderr)
            sys.exit(os.EX_CANTCREAT)
        yield keep.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="happe-demo-", ignore_cleanup_errors=True) as name:
        yield Path(name).resolve()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("demo", description=__doc__)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep everything in this new folder")
    parser.add_argument("--exit", action="store_true", help="end after the tables, also on a terminal")
    parser.add_argument("--participants", type=_count, default=24, metavar="N", help="the number of participants [24]")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the simulation [1]")
    return parser.parse_args()


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and FEWEST <= int(text) <= MOST):
        raise argparse.ArgumentTypeError(f"must be {FEWEST} to {MOST}")
    return int(text)
