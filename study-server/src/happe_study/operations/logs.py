# SPDX-License-Identifier: GPL-2.0-or-later
"""The log: one JSON object a line on standard error, or lines for people at a terminal.

Events are constant strings with fields. The text of an exception or a library may repeat what a client sent (a token,
a code, a condition), so it is left out except at the level `debug`; where it happened is always logged.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import structlog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from structlog.typing import EventDict, Processor, WrappedLogger

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}  # syslog's
MOST_FRAMES = 12
PACKAGE = Path(__file__).parents[2]


def configure(level: str = "info", stream: TextIO | None = None) -> None:
    """Send structlog's and the standard library's records to a stream (standard error). Call it once a process."""
    stream = stream or sys.stderr
    processors: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        _Failure(tells_messages=level == "debug"),
        *_renderers(stream),
    ]
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(file=stream),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers = [_Libraries(tells_messages=level == "debug")]
    root.setLevel(logging.WARNING)


class _Libraries(logging.Handler):
    """What libraries log by the standard library: who and where, and the text before anything was put into it."""

    def __init__(self, *, tells_messages: bool) -> None:
        super().__init__()
        self._tells_messages = tells_messages

    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, Any] = {"library": record.name, "where": f"{record.module}:{record.lineno}"}
        if self._tells_messages:
            fields["message"] = record.getMessage()
        elif record.args:
            fields["template"] = str(record.msg)
        if record.exc_info:
            fields["exc_info"] = record.exc_info
        structlog.get_logger(record.name).log(record.levelno, "library message", **fields)


class _Failure:
    """Replaces an exception by its types and the places it came through."""

    def __init__(self, *, tells_messages: bool) -> None:
        self._tells_messages = tells_messages

    def __call__(self, _logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
        info = event.pop("exc_info", None)
        if not info:
            return event
        error = info if isinstance(info, BaseException) else (info if isinstance(info, tuple) else sys.exc_info())[1]
        if error is None:
            return event
        chain = list(_causes(error))
        event["error"] = " < ".join(type(each).__name__ for each in chain)
        event["frames"] = [frame for each in chain for frame in _frames(each)][:MOST_FRAMES]
        if self._tells_messages:
            event["message"] = str(error)
        return event


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and what it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _frames(error: BaseException) -> Iterator[str]:
    """Where an exception came through, innermost first."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        place = path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else Path(*path.parts[-2:])
        yield f"{place}:{frame.lineno} {frame.name}"


def _renderers(stream: TextIO) -> list[Processor]:
    if stream.isatty():
        return [structlog.dev.ConsoleRenderer(colors="NO_COLOR" not in os.environ)]
    renderer: list[Processor] = [structlog.processors.JSONRenderer()]
    return [_note_priority, *renderer, _put_priority] if "JOURNAL_STREAM" in os.environ else renderer


_PRIORITY = "happe_priority"


def _note_priority(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """The first field tells the priority to the renderer's successor."""
    return {_PRIORITY: PRIORITIES.get(event["level"], 6)} | dict(event)


def _put_priority(_logger: WrappedLogger, _name: str, line: Any) -> str:  # noqa: ANN401 - what the renderer made
    """`<N>` before the line, by which journald knows how important it is."""
    head, _, rest = str(line).partition(", ")
    return f"<{head.rpartition(': ')[2]}>{{{rest}"
