# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server run` as a process: it answers, logs, counts, tells systemd, and stops in order."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import given_jobs
from happe_study.model.rights import Role
from happe_study.web.metrics import PREFIX
from operated import SOURCES, Operated, Running, happe_server_forked, happe_server_process
from patience import PATIENCE_S, is_running, until

FREE_PORTS = {"listen": "127.0.0.1:0", "metrics_listen": "127.0.0.1:0"}
ALONE = FREE_PORTS | {"jobs": 0}  # without a worker


@pytest.fixture
def running(operated: Operated, tmp_path: Path) -> Iterator[Running]:
    """A running server without a worker."""
    operated.configure(**ALONE)
    with Running(operated.file, tmp_path, TMPDIR=str(tmp_path)) as made:
        yield made


@pytest.fixture
def started(operated: Operated, tmp_path: Path) -> Iterator[Running]:
    """A server with a worker, started as its operator starts it."""
    operated.configure(**FREE_PORTS)
    with Running(operated.file, tmp_path, begin=happe_server_process) as made:
        yield made


def sample(metrics: str, name: str, **labels: str) -> float:
    """A metric's value; 0 if it isn't there."""
    for line in metrics.splitlines():
        matched = re.fullmatch(rf"{name}(?:\{{(.*)\}})? (\S+)", line)
        if matched and dict(re.findall(r'(\w+)="([^"]*)"', matched[1] or "")) == labels:
            return float(matched[2])
    return 0.0


def exchanged(running: Running, *sent: bytes) -> bytes:
    """Send bytes over a connection of their own, and return the whole answer."""
    host, _, port = running.address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), PATIENCE_S) as client:
        client.sendall(b"".join(sent))
        return b"".join(iter(lambda: client.recv(65536), b""))


def test_a_server_answers_and_stops_in_order(started: Running) -> None:
    assert started.get("/healthz") == (200, "ok\n")
    assert started.stop() == 0
    assert [entry["event"] for entry in started.entries()][-1] == "stopped"


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_an_interrupted_server_stops_too(running: Running, how: signal.Signals) -> None:
    assert running.stop(how) == 0


@pytest.mark.slow
def test_a_server_that_is_stopped_while_its_workers_start_does_not_wait_for_them(
    operated: Operated, tmp_path: Path
) -> None:
    operated.configure(**FREE_PORTS, stop_seconds=3600, workers=4)
    for _ in range(3):
        with Running(operated.file, tmp_path) as running:
            assert running.stop() == 0


@pytest.mark.slow
def test_a_request_under_way_is_answered_before_the_server_stops(running: Running) -> None:
    host, _, port = running.address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), PATIENCE_S) as client:
        client.sendall(b"POST /api/v1/devices/enrol HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n")
        client.sendall(b"Content-Length: 10\r\nConnection: close\r\n\r\n{")
        running.get("/healthz")  # by now the server reads the other request
        running.process.send_signal(signal.SIGTERM)
        client.sendall(b'"a": 123}')
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 4")
    assert running.process.wait(PATIENCE_S) == 0


@pytest.mark.slow
def test_requests_are_counted_over_all_workers_and_logged_and_tell_no_code(running: Running, tmp_path: Path) -> None:
    for code in ("7K2M9QXA", "ABCDEFGH", "00000000"):
        running.get(f"/api/v1/studies/{code}?with={code}")
        running.get(f"/p/{code}{code}{code}")
        running.get(f"/nowhere/{code}")
    status, metrics = running.get(running.metrics)
    assert status == 200
    labels = {"method": "GET", "route": "/api/v1/studies/<study>", "status": "401"}
    assert sample(metrics, "happe_requests_total", **labels) == 3
    assert sample(metrics, "happe_requests_total", method="GET", route="none", status="404") == 3
    seconds = {"method": "GET", "route": "/api/v1/studies/<study>"}
    assert sample(metrics, "happe_request_seconds_count", **seconds) == 3
    assert sample(metrics, "happe_writers_busy") == 0
    assert running.get("/metrics")[0] == 404, "they are on their own port alone"
    assert len(list(tmp_path.glob(f"{PREFIX}*"))) == 1
    assert running.stop() == 0
    assert list(tmp_path.glob(f"{PREFIX}*")) == []
    assert not re.search("7K2M9QXA|ABCDEFGH|00000000", metrics + running.log.read_text())
    entry = next(each for each in running.entries() if each["event"] == "request")
    assert entry.pop("ms") >= 0
    assert entry.pop("at").endswith("Z")
    assert entry == {"event": "request", "level": "info", "caller": "anybody", **labels, "status": 401}


@pytest.mark.slow
def test_a_method_that_nobody_knows_makes_no_label(running: Running) -> None:
    answer = exchanged(running, b"BREW /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 405")
    metrics = running.get(running.metrics)[1]
    assert "BREW" not in metrics
    assert sample(metrics, "happe_requests_total", method="other", route="none", status="405") == 1


@pytest.mark.slow
def test_what_a_killed_server_leaves_of_jobs_goes_with_the_next_start(operated: Operated, tmp_path: Path) -> None:
    operated.configure(**FREE_PORTS)
    left = given_jobs.left_behind(operated.data)
    with Running(operated.file, tmp_path) as running:
        running.until("worker ready")
        assert not left.exists()
        assert running.stop() == 0


@pytest.mark.slow
def test_the_server_is_not_healthy_without_its_database(running: Running, operated: Operated) -> None:
    with operated.world.database.writing() as session:
        session.execute(text("ALTER TABLE audit_head RENAME TO gone"))
    assert running.get("/healthz") == (503, "unavailable\n")
    entry = running.until("not healthy")
    assert entry["reason"] == "database"


@pytest.mark.slow
def test_the_server_is_not_healthy_without_room(operated: Operated, tmp_path: Path) -> None:
    operated.configure(**ALONE, **{"limits.free_bytes": 1 << 60})
    with Running(operated.file, tmp_path) as running:
        assert running.get("/healthz") == (503, "unavailable\n")
        assert running.until("not healthy")["reason"] == "disk is full"


@pytest.mark.slow
def test_a_killed_worker_is_replaced(running: Running) -> None:
    master = running.process.pid
    children = Path(f"/proc/{master}/task/{master}/children").read_text().split()
    for child in children:
        os.kill(int(child), signal.SIGKILL)
    assert running.get("/healthz")[0] == 200
    # The metrics' library fails for files that a process has just made.
    until(lambda: running.get(running.metrics)[0] == 200, "the metrics of the new processes are read")


@pytest.mark.slow
def test_a_killed_worker_of_jobs_is_replaced_and_none_outlives_the_server(operated: Operated, tmp_path: Path) -> None:
    operated.configure(**FREE_PORTS)
    with Running(operated.file, tmp_path) as running:

        def workers() -> list[int]:
            return [int(each["worker"].partition(":")[2]) for each in running.entries() if "jobs_at_once" in each]

        running.until("worker ready")
        os.kill(workers()[0], signal.SIGKILL)
        until(lambda: len(workers()) > 1, "another worker")
        running.process.kill()
        until(lambda: not is_running(workers()[1]), "the end of the worker")


@pytest.mark.slow
def test_systemd_is_told_when_the_server_is_ready_and_the_pid_file_has_its_number(
    operated: Operated, tmp_path: Path
) -> None:
    operated.configure(**ALONE)
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(PATIENCE_S)
        options = ("--pid-file", str(tmp_path / "pid"))
        with Running(operated.file, tmp_path, *options, NOTIFY_SOCKET=str(tmp_path / "notify")) as running:
            assert systemd.recv(4096).startswith(b"READY=1")
            assert int((tmp_path / "pid").read_text()) == running.process.pid
            assert running.stop() == 0
    assert not (tmp_path / "pid").exists()


@pytest.mark.slow
def test_no_secret_is_in_the_command_line_the_environment_or_the_log(started: Running, operated: Operated) -> None:
    token = operated.world.account(Role.AUDITOR)
    assert started.get("/api/v1/studies", Authorization=f"Bearer {token}")[0] == 200
    started.get(f"/p/{token}")
    started.get("/sign-in?password=opensesame", Cookie="happe_session=opensesame")
    started.until("worker ready")
    master = started.process.pid
    processes = [str(master), *Path(f"/proc/{master}/task/{master}/children").read_text().split()]
    said = b"".join(Path(f"/proc/{each}/{what}").read_bytes() for each in processes for what in ("cmdline", "environ"))
    assert started.stop() == 0
    said += started.log.read_bytes()
    keys = [key.read_text().strip().encode() for key in (operated.data / "secrets").iterdir()]
    assert len(processes) == 4, "gunicorn, two workers of its own, and the worker of jobs"
    for secret in [*keys, token.encode(), b"opensesame"]:
        assert secret not in said


@pytest.mark.slow
def test_addresses_are_logged_only_if_asked_for(operated: Operated, tmp_path: Path) -> None:
    operated.configure(**ALONE, log_addresses=True)
    with Running(operated.file, tmp_path) as running:
        running.get("/sign-in")
        assert running.stop() == 0
        assert [each["address"] for each in running.entries() if each["event"] == "request"] == ["127.0.0.1"]


@pytest.mark.slow
def test_what_is_no_http_is_logged_without_what_it_said(running: Running) -> None:
    host, _, port = running.address.removeprefix("http://").partition(":")
    for garbage in (
        b"opensesame\r\n\r\n",
        b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/9.9\r\nopensesame\r\n\r\n",
    ):
        with socket.create_connection((host, int(port)), PATIENCE_S) as client:
            client.sendall(garbage)
            assert client.recv(65536).startswith(b"HTTP/1.1 4")
    assert running.stop() == 0
    log = running.log.read_text()
    assert "opensesame" not in log
    assert "aaaaaaaa" not in log
    assert '127.0.0.1"' not in log.replace(f'"{running.address}"', "")


@pytest.mark.slow
def test_the_journal_gets_priorities(tmp_path: Path) -> None:
    log = tmp_path / "journal"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), "JOURNAL_STREAM": "8:1"}
    program = "from happe_study.operations import logs; import structlog; logs.configure('info'); " + "".join(
        f"structlog.get_logger().{level}('happened', count=1); " for level in ("info", "warning", "error")
    )
    with log.open("wb") as file:
        subprocess.run([sys.executable, "-c", program], stderr=file, env=environment, check=True)
    lines = log.read_text().splitlines()
    assert [line[:3] for line in lines] == ["<6>", "<4>", "<3>"]
    assert [json.loads(line[3:])["event"] for line in lines] == ["happened"] * 3


def refused(server: Operated) -> tuple[int, str]:
    """Run a server that can't start, and return its exit status and output."""
    log = server.data.with_suffix(".log")
    return happe_server_forked("--config", server.file, "run", log=log).wait(PATIENCE_S), log.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("field", ["listen", "metrics_listen"])
def test_a_port_that_is_taken_is_said(operated: Operated, field: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        operated.configure(**ALONE | {field: address})
        status, said = refused(operated)
    assert status == os.EX_UNAVAILABLE
    why = f"can't listen there, as {field} says: Address already in use; another program"
    assert said.startswith(f"happe-server: {address}: {why}")


@pytest.mark.slow
def test_without_secrets_it_does_not_start(operated: Operated) -> None:
    (operated.data / "secrets/session.key").unlink()
    assert refused(operated)[0] == os.EX_CONFIG


@pytest.mark.slow
def test_listening_beyond_this_machine_is_warned_of_and_the_metrics_can_be_left_out(
    operated: Operated, tmp_path: Path
) -> None:
    operated.configure(**ALONE | {"listen": "0.0.0.0:0", "metrics_listen": "off", "trusted_proxies": 1})
    with Running(operated.file, tmp_path) as running:
        warned: dict[str, Any] = running.until("listens beyond this machine without TLS")
        assert warned["level"] == "warning"
        assert running.metrics == ""
        assert running.stop() == 0
