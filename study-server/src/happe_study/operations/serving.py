# SPDX-License-Identifier: GPL-2.0-or-later
"""The server's processes: gunicorn's master, its workers with threads, the metrics' port, and the jobs' worker."""

import gc
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIServer

import structlog
from flask import Flask
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.glogging import Logger
from gunicorn.workers.base import Worker

from happe_study.base.config import OFF, Config, Secrets, host_and_port, is_loopback
from happe_study.operations import logs, worker
from happe_study.web import metrics
from happe_study.web.assembly import create_app

log = structlog.get_logger(__name__)

LONGEST_LINE = 4094  # bytes of a request's first line
MOST_HEADERS = 64
LONGEST_HEADER = 8190
STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
SWITCH_SECONDS = 0.001
PAUSE_SECONDS = 2.0  # before another worker of jobs starts
SILENT_SECONDS = 60  # gunicorn replaces a worker whose loop stops for so long


class GunicornLog(Logger):  # type: ignore[misc] # gunicorn has no types
    """Logs gunicorn's messages as events. It cuts a worker's messages, which may repeat a path or an address."""

    def setup(self, cfg: Any) -> None:  # noqa: ANN401 - gunicorn's
        """Configure nothing: `logs.configure` has done it."""
        self.cfg = cfg
        self._master = os.getpid()
        self._access_log_enabled = False

    def access(self, *_arguments: Any) -> None:  # noqa: ANN401 - gunicorn's
        """Log nothing: `watch` logs requests."""

    def log(self, lvl: Any, msg: Any, *args: Any, **fields: Any) -> None:  # noqa: ANN401 - gunicorn's
        """Log a message of gunicorn's."""
        getattr(self, lvl if isinstance(lvl, str) else "info")(msg, *args, **fields)

    def debug(self, msg: Any, *args: Any, **_fields: Any) -> None:  # noqa: ANN401 - gunicorn's
        """Log nothing: gunicorn's debug messages contain its configuration."""

    def info(self, msg: Any, *args: Any, **fields: Any) -> None:  # noqa: ANN401 - gunicorn's
        """Log progress, at the level debug."""
        log.debug("gunicorn", **self._fields(msg, args, fields))

    def warning(self, msg: Any, *args: Any, **fields: Any) -> None:  # noqa: ANN401 - gunicorn's
        """Log a warning, such as a request that is no HTTP."""
        log.warning("gunicorn", **self._fields(msg, args, fields))

    def error(self, msg: Any, *args: Any, **fields: Any) -> None:  # noqa: ANN401 - gunicorn's
        """Log an error."""
        log.error("gunicorn", **self._fields(msg, args, fields))

    critical = error  # what ends the server

    def exception(self, msg: Any, *args: Any, **fields: Any) -> None:  # noqa: ANN401 - gunicorn's
        """Log an error with its place in the code."""
        self.error(msg, *args, **fields, exc_info=True)

    def _fields(self, msg: Any, args: tuple[Any, ...], fields: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - gunicorn's
        if isinstance(msg, BaseException):
            return {"message": type(msg).__name__, "exc_info": msg}
        failed = {"exc_info": True} if fields.get("exc_info") else {}
        if os.getpid() == self._master:
            return {"message": str(msg) % args if args else str(msg), **failed}
        return {"message": str(msg).partition(" from ")[0], **failed}


class Master(Arbiter):  # type: ignore[misc] # gunicorn has no types
    """gunicorn's master, which also keeps the worker of jobs running."""

    def manage_workers(self) -> None:
        """Start processes that are missing. gunicorn calls this every second."""
        super().manage_workers()
        self.app.keep_worker()


class Serving(BaseApplication):  # type: ignore[misc] # gunicorn has no types
    """A server with a configuration. `run` ends by SystemExit when the server has stopped."""

    def __init__(self, config: Config, secrets: Secrets, pid_file: Path | None = None) -> None:
        """Store the settings. Nothing listens yet."""
        self._config = config
        self._secrets = secrets
        self._pid_file = pid_file
        self._shared: Path | None = None
        self._metrics: WSGIServer | None = None
        self._worker: subprocess.Popen[bytes] | None = None
        self._worker_begun = 0.0
        super().__init__()

    def load_config(self) -> None:
        """Set gunicorn's settings. No file and no environment variable changes them."""
        settings = {**self._processes(), **_trust_nothing(), **self._hooks()}
        for name, value in settings.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        """Make a worker's application."""
        return create_app(self._config, self._secrets)

    def run(self) -> None:
        """Serve until a signal stops the server."""
        Master(self).run()

    def keep_worker(self) -> None:
        """Start the worker of jobs, or another one if it has died."""
        if not self._config.jobs or time.monotonic() < self._worker_begun + PAUSE_SECONDS:
            return
        if self._worker is None or self._worker.poll() is not None:
            if self._worker is not None:
                log.error("worker died")
            self._worker = worker.start(self._config)
            self._worker_begun = time.monotonic()

    def _processes(self) -> dict[str, Any]:
        return {
            "bind": [self._config.listen],
            "worker_class": "gthread",
            "workers": self._config.workers,
            "threads": self._config.threads,
            "timeout": SILENT_SECONDS,
            "graceful_timeout": self._config.stop_seconds,
            "keepalive": 5,
            "worker_tmp_dir": "/dev/shm" if os.access("/dev/shm", os.W_OK) else None,  # noqa: S108 - unlinked at once
            "pidfile": str(self._pid_file) if self._pid_file else None,
            "proc_name": "happe-server",
            "umask": 0o077,
            "logger_class": GunicornLog,
        }

    def _hooks(self) -> dict[str, Any]:
        return {
            "on_starting": self._share,
            "when_ready": self._ready,
            "post_fork": self._forked,
            "post_worker_init": _settle,
            "child_exit": self._forget,
            "on_exit": self._end,
        }

    def _share(self, _arbiter: Arbiter) -> None:
        if self._config.metrics_listen != OFF:
            self._shared = metrics.share()

    def _ready(self, arbiter: Arbiter) -> None:
        where = {}
        if self._shared is not None:
            host, port = host_and_port(self._config.metrics_listen)
            self._metrics, _thread = metrics.serve(self._shared, host, port)
            where = {"metrics": f"{host}:{self._metrics.server_port}"}
        log.info("ready", listens=[str(each) for each in arbiter.LISTENERS], pid=os.getpid(), **where)

    def _forked(self, _arbiter: Arbiter, _worker: Worker) -> None:
        if self._metrics is not None:
            self._metrics.socket.close()  # only the master uses it

    def _forget(self, _arbiter: Arbiter, worker: Worker) -> None:
        if self._shared is not None:
            metrics.forget(self._shared, worker.pid)

    def _end(self, _arbiter: Arbiter) -> None:
        if self._worker is not None:
            self._worker.terminate()
            self._worker.wait()
        if self._shared is not None:
            metrics.end(self._shared)
        log.info("stopped", pid=os.getpid())


def _settle(_worker: Worker) -> None:
    """Prepare a worker for its first request.

    The garbage collector ignores objects that live as long as the worker. A thread waits a millisecond for the
    interpreter instead of five, because a writing thread waits for it at each statement.
    """
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_SECONDS)


def _trust_nothing() -> dict[str, Any]:
    """Limits on requests. gunicorn ignores X-Forwarded headers; only the application's ProxyFix reads them."""
    return {
        "limit_request_line": LONGEST_LINE,
        "limit_request_fields": MOST_HEADERS,
        "limit_request_field_size": LONGEST_HEADER,
        "forwarded_allow_ips": "",
        "secure_scheme_headers": {},
        "forwarder_headers": "",
        "header_map": "drop",
        "control_socket_disable": True,
    }


def run(config: Config, secrets: Secrets, pid_file: Path | None = None) -> None:
    """Serve until a signal stops the server. Ends by SystemExit, in workers too. Raises OSError if it can't listen."""
    logs.configure(config.log_level)
    if not is_loopback(config.listen):
        log.warning("listens beyond this machine without TLS", listen=config.listen)
    for option in ("listen", "metrics_listen"):
        if (address := getattr(config, option)) != OFF:
            _try_to_listen(option, address)
    _let_new_workers_be_stopped()
    Serving(config, secrets, pid_file).run()


def _let_new_workers_be_stopped() -> None:
    """Let a stopping signal end a new worker that has not set its own signal handlers yet.

    Until then it has the master's handlers, which only queue the signal. Stopping would then take all `stop_seconds`.
    """

    def be_stopped() -> None:
        for each in STOPPING:
            signal.signal(each, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)

    os.register_at_fork(
        before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING),
        after_in_parent=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING),
        after_in_child=be_stopped,
    )


def _try_to_listen(option: str, address: str) -> None:
    """Raise an OSError that names the address and its option, before gunicorn tries five times."""
    try:
        with socket.create_server(host_and_port(address), family=_family(address)):
            pass
    except OSError as error:
        why = f"can't listen there, as {option} says: {os.strerror(error.errno or 0)}"
        raise OSError(error.errno, why, address) from error


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if address.startswith("[") else socket.AF_INET
