# SPDX-License-Identifier: GPL-2.0-or-later
"""The log on standard error: a JSON object per line, or text for people at a terminal.

Events are constant strings with fields. The message of an exception or a library may repeat a client's data (a token, a
code, a condition), so only the level `debug` logs it. The log always has the place in the code.
"""

import logging
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}  # syslog's
MOST_FRAMES = 12
PACKAGE = Path(__file__).parents[2]


def configure(level: str = "info", stream: TextIO | None = None) -> None:
    """Send structlog's and the standard library's records to a stream (standard error). Call it once per process."""
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
    """Logs libraries' records: the library, the place, and the message's template without its arguments."""

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
    """Replaces an exception by the types of its chain and the places that it came through."""

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
    """An exception and its causes."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _frames(error: BaseException) -> Iterator[str]:
    """The places in the code that an exception came through, innermost first."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        place = path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else Path(*path.parts[-2:])
        yield f"{place}:{frame.lineno} {frame.name}"


def _renderers(stream: TextIO) -> list[Processor]:
    if stream.isatty():
        return [structlog.dev.ConsoleRenderer(colors="NO_COLOR" not in os.environ)]
    return [_for_journald if "JOURNAL_STREAM" in os.environ else _JSON]


_JSON = structlog.processors.JSONRenderer()


def _for_journald(logger: WrappedLogger, name: str, event: EventDict) -> str:
    """A line of JSON behind its priority as `<N>`, as journald reads it."""
    return f"<{PRIORITIES.get(event['level'], 6)}>{_JSON(logger, name, event)!s}"
