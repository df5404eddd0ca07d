# SPDX-License-Identifier: GPL-2.0-or-later
"""The measuring host of a command, from its configuration and its enrolment; and the signal that ends a command."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

from happe_cli.errors import Failure
from happe_power import config as configuration

if TYPE_CHECKING:
    from types import FrameType

    from happe_power.config import Config
    from happe_power.upload.identity import Identity
    from happe_power.upload.server import Server

ENROL = "`happe-power enrol --server URL --code CODE` enrols this host; an administrator makes the code"


class Host:
    """The host that the program runs on. Reads only what the command needs."""

    def __init__(self, path: Path | None) -> None:
        """Read nothing yet. `path` is the configuration file; None: the usual file, if it exists."""
        self._path = path

    @cached_property
    def config(self) -> Config:
        """The configuration. Raises ConfigError."""
        return configuration.load(self._path or configuration.DEFAULT, named=self._path is not None)

    @cached_property
    def identity(self) -> Identity | None:
        """The host's enrolment with the study server; None: not enrolled. Raises IdentityError, ConfigError."""
        from happe_power.upload import identity

        found = identity.load(self.config.state)
        wanted = (self.config.server or "").rstrip("/")
        if found and wanted and found.server != wanted:
            advice = "`happe-power enrol --again` enrols it with this server instead"
            raise self.config.wrong("server", f"this host is enrolled at {found.server}; {advice}")
        return found

    @property
    def enrolled(self) -> Identity:
        """The enrolment of a host that must have one. Raises Failure if it has none."""
        if self.identity is None:
            raise Failure(os.EX_CONFIG, "this host is not enrolled with a study server", ENROL)
        return self.identity

    def server(self) -> Server:
        """The study server at which this host enrolled. Raises Failure, AddressError."""
        from happe_power.upload.server import Server

        itself, config = self.enrolled, self.config
        return Server(itself.server, itself.token, ca_file=config.ca_file, plain_http=config.plain_http)

    def arguments(self) -> list[str]:
        """The options for another happe-power that works on the same host."""
        return ["--config", str(self._path.absolute())] if self._path else []

    def trace(self, name: str) -> Path:
        """The folder of a trace: a path, or the beginning of a UUID in the spool. Raises Failure."""
        if (Path(name) / "header.json").exists():
            return Path(name)
        found = sorted(path for path in self.config.spool.glob(f"*/{name}*") if (path / "header.json").exists())
        if len(found) == 1:
            return found[0]
        where = f"{name}: no folder of a trace, and {len(found) or 'none'} in {self.config.spool} begin like this"
        raise Failure(os.EX_NOINPUT, where, "`happe-power status` lists them")


spool_option = click.option(
    "--spool",
    "spool_folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where traces are  [`spool` of the file]",
)
pass_host = click.make_pass_decorator(Host)


class Ending:
    """SIGINT or SIGTERM ends a command at its next `wait`; a second signal ends the program at once.

    A signal may come in the middle of a wait. A `threading.Event` would then wait for its own lock; a SimpleQueue's
    `put` may interrupt its `get` (Python's library reference, queue).
    """

    def __init__(self) -> None:
        """Begin to listen for signals. Only the main thread can."""
        self._told = False
        self._news: queue.SimpleQueue[None] = queue.SimpleQueue()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._tell)

    def wait(self, seconds: float | None = None) -> bool:
        """True if a signal has come, or comes within these seconds. None: wait until one comes."""
        if not self._told:
            with contextlib.suppress(queue.Empty):
                self._news.get(timeout=seconds)
        return self._told

    def _tell(self, number: int, _frame: FrameType | None) -> None:
        if self._told:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self._told = True
        self._news.put(None)
