# SPDX-License-Identifier: GPL-2.0-or-later
"""The log has constant events with fields, and never the content of requests."""

import io
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from flask import Flask

from happe_study.base.config import Config, host_and_port, is_loopback
from happe_study.operations import logs
from happe_study.web import watch
from happe_study.web.api.traces import MOST_PARTS
from happe_study.web.assembly import create_app
from happe_study.web.metrics import VARIABLE, Metrics, end, share
from world import fixed_secrets

SECRET = "opensesame"  # noqa: S105 - what must not be logged


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """The log as a stream. The end of the test restores logging."""
    handlers, level = logging.getLogger().handlers, logging.getLogger().level
    stream = io.StringIO()
    logs.configure("info", stream)
    yield stream
    logging.getLogger().handlers = handlers
    logging.getLogger().setLevel(level)
    structlog.reset_defaults()


def entries(stream: io.StringIO) -> list[dict[str, Any]]:
    """The lines of a log."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def fail() -> None:
    """Raise an error with a cause. Both contain a secret."""
    try:
        "".index(SECRET)
    except ValueError as error:
        raise RuntimeError(f"no {SECRET}") from error


def log_failure() -> None:
    """Log an error as the application does."""
    try:
        fail()
    except RuntimeError:
        structlog.get_logger().exception("unexpected error")


def test_an_exception_is_logged_by_type_and_place(written: io.StringIO) -> None:
    log_failure()
    (entry,) = entries(written)
    assert entry["event"] == "unexpected error"
    assert entry["error"] == "RuntimeError < ValueError"
    assert "test_logs.py" in entry["frames"][0]
    assert entry["frames"][0].endswith(" fail")
    assert SECRET not in written.getvalue()


def test_its_message_is_logged_only_while_debugging() -> None:
    stream = io.StringIO()
    logs.configure("debug", stream)
    log_failure()
    structlog.reset_defaults()
    logging.getLogger().handlers = []
    assert entries(stream)[0]["message"] == f"no {SECRET}"


def test_a_library_is_logged_without_what_it_put_into_its_message(written: io.StringIO) -> None:
    logging.getLogger("sqlalchemy").warning("the row %s is odd", SECRET)
    logging.getLogger("urllib3").error(f"no {SECRET}")  # noqa: G004 - as libraries do
    logging.getLogger("alembic").info("not told")
    first, second = entries(written)
    assert (first["event"], first["library"], first["template"]) == (
        "library message",
        "sqlalchemy",
        "the row %s is odd",
    )
    assert second["where"].startswith("test_logs:")
    assert SECRET not in written.getvalue()


def test_levels_below_the_wanted_one_are_not_written(written: io.StringIO) -> None:
    structlog.get_logger().debug("quiet")
    structlog.get_logger().info("said", count=1)
    (entry,) = entries(written)
    assert (entry["event"], entry["level"], entry["count"]) == ("said", "info", 1)


def test_people_at_a_terminal_read_text(monkeypatch: pytest.MonkeyPatch, written: io.StringIO) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    logs.configure("info", terminal)
    structlog.get_logger().info("ready", port=8080)
    assert "ready" in terminal.getvalue()
    assert "port=8080" in terminal.getvalue()
    assert not terminal.getvalue().startswith("{")
    assert written.getvalue() == ""


def test_an_application_that_fails_is_logged_and_counted(written: io.StringIO) -> None:
    app, metrics = Flask("failing"), Metrics()

    @app.post("/take/<token>")
    def take(token: str) -> str:
        raise ValueError(token)

    app.before_request(lambda: None)
    watch.install(app, metrics, addresses=False)
    answer = app.test_client().post(f"/take/{SECRET}?{SECRET}", data=SECRET, headers={"X-Secret": SECRET})
    answer.close()
    entry = entries(written)[-1]
    assert (entry["event"], entry["route"], entry["status"]) == ("request", "/take/<token>", 500)
    assert SECRET not in written.getvalue()
    labels = {"method": "POST", "route": "/take/<token>", "status": "500"}
    assert metrics.registry.get_sample_value("happe_requests_total", labels) == 1


def test_how_long_an_upload_took_is_neither_logged_nor_counted(written: io.StringIO) -> None:
    app, metrics = Flask("uploads"), Metrics()
    app.add_url_rule("/status", "status", lambda: "")
    for endpoint in watch.UNTIMED:
        app.add_url_rule(f"/{endpoint}", endpoint, lambda: "")
    watch.install(app, metrics, addresses=False)
    for path in ("status", *watch.UNTIMED):
        app.test_client().get(f"/{path}").close()
    assert {entry["route"]: "ms" in entry for entry in entries(written)} == {
        "/status": True, **{f"/{endpoint}": False for endpoint in watch.UNTIMED}
    }  # fmt: skip
    for path in ("/status", *(f"/{endpoint}" for endpoint in watch.UNTIMED)):
        labels = {"method": "GET", "route": path}
        timed = metrics.registry.get_sample_value("happe_request_seconds_count", labels)
        assert timed == (1 if path == "/status" else None)
        assert metrics.registry.get_sample_value("happe_requests_total", labels | {"status": "200"}) == 1


def test_the_uploads_whose_size_can_tell_a_condition_are_those_of_records_and_of_parts_of_traces() -> None:
    app = create_app(Config(data=Path("/nowhere")), fixed_secrets())
    assert {rule.rule for rule in app.url_map.iter_rules() if rule.endpoint in watch.UNTIMED} == {
        "/api/v1/runs/<code>/record/<uuid:client_id>",
        f"/api/v1/traces/<uuid:trace>/parts/<int(max={MOST_PARTS - 1}):number>",
    }


def test_the_metrics_count_requests_and_writers_but_neither_bytes_nor_any_study() -> None:
    metrics = Metrics()
    metrics.busy(+1)
    metrics.busy(+1)
    metrics.busy(-1)
    assert metrics.registry.get_sample_value("happe_writers_busy") == 1
    metrics.answered("GET", "/", 200, 0.1)
    labels = {label for family in metrics.registry.collect() for each in family.samples for label in each.labels}
    assert labels == {"method", "route", "status", "le"}
    names = {family.name for family in metrics.registry.collect()}
    assert names == {"happe_requests", "happe_request_seconds", "happe_writers_busy"}


def test_what_only_this_machine_can_reach_is_known() -> None:
    assert all(map(is_loopback, ("127.0.0.1:1", "127.9.9.9:1", "localhost:1", "[::1]:1")))
    assert not any(map(is_loopback, ("0.0.0.0:1", "[::]:1", "10.0.0.1:1", "127.example.org:1")))


def test_an_address_is_split() -> None:
    assert host_and_port("[::1]:80") == ("::1", 80)
    assert host_and_port("localhost:8080") == ("localhost", 8080)


def test_each_server_counts_in_a_folder_of_its_own_and_removes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")  # pytest restores it afterwards
    one, two = share(), share()
    assert os.environ[VARIABLE] == str(two)
    end(one)
    assert (one.exists(), two.exists()) == (False, True)
    end(two)
    assert not two.exists()
