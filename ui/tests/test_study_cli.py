# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-study's command line, without a server or a daemon."""

import contextlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import desktop
from patience import PATIENCE_S, is_running, until
from private_bus import PrivateBus
from program import ROOT

COMMANDS = ("enrol", "status", "upload", "abort")


def study(bus: PrivateBus, state: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    return subprocess.run(
        [desktop.program("happe-study"), f"--state={state}", *words],
        env=bus.environment(QT_QPA_PLATFORM="offscreen", LC_ALL="C.UTF-8"),
        input="",
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


BAD = [
    (["fly"], os.EX_USAGE, "fly"),
    (["--language", "xx"], os.EX_USAGE, "--language"),
    (["--countdown", "-1"], os.EX_USAGE, "--countdown"),
    (["enrol"], os.EX_USAGE, "server"),
    (["enrol", "http://example.org"], os.EX_USAGE, "http://example.org: not the address of a study server"),
    (["enrol", "https://me:secret@example.org"], os.EX_USAGE, "not the address of a study server"),
    (["enrol", "http://127.0.0.1:1"], os.EX_UNAVAILABLE, "happed: "),
    (["status"], os.EX_NOINPUT, "device.json: No such file"),
    (["upload"], os.EX_NOINPUT, "device.json: No such file"),
    ([], os.EX_NOINPUT, "device.json: No such file"),
    (["abort"], os.EX_UNAVAILABLE, "no wizard is running"),
]


def test_what_cannot_be_done_is_said_with_its_reason_and_status(bus: PrivateBus, tmp_path: Path) -> None:
    for words, status, message in BAD:
        ran = study(bus, tmp_path / "state", *words)
        assert (ran.returncode, ran.stdout) == (status, ""), (words, ran.stderr)
        last = ran.stderr.splitlines()[-1].removeprefix("Enrolment code: ")
        assert last.startswith("happe-study: "), ran.stderr
        assert message in last
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


def test_without_a_bus_an_enrolment_ends(tmp_path: Path) -> None:
    environment = {**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent", "QT_QPA_PLATFORM": "offscreen"}
    words = [desktop.program("happe-study"), f"--state={tmp_path}/state", "enrol", "http://127.0.0.1:1"]
    ran = subprocess.run(
        words, env=environment, input="", capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert ran.returncode == os.EX_UNAVAILABLE
    assert "happe-study: happed: " in ran.stderr


@pytest.mark.parametrize("words", [["happe-study"], ["happe-indicator", "--window"]])
def test_without_a_screen_a_window_says_so(bus: PrivateBus, words: list[str]) -> None:
    nowhere = dict.fromkeys(("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"), "")
    command = [desktop.program(words[0]), *words[1:]]
    ran = subprocess.run(
        command, env=bus.environment(**nowhere), capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert (ran.returncode, ran.stdout) == (os.EX_UNAVAILABLE, "")
    assert ": no window system: neither WAYLAND_DISPLAY nor DISPLAY is set" in ran.stderr


def test_a_file_that_says_something_wrong_is_named_with_its_field(bus: PrivateBus, tmp_path: Path) -> None:
    file = tmp_path / "device.json"
    for text, field in (("x", "server: "), ('{"server": "https://example.org"}', "study: missing")):
        file.write_text(text)
        ran = study(bus, tmp_path, "status")
        assert (ran.returncode, f"{file}: {field}" in ran.stderr) == (os.EX_DATAERR, True), ran.stderr


def test_a_damaged_journal_is_an_error_that_names_it(bus: PrivateBus, tmp_path: Path) -> None:
    (tmp_path / "device.json").write_text('{"server": "https://a.org", "study": "s", "device": "d", "token": "t"}')
    assert study(bus, tmp_path, "status").stdout.startswith("study        s at https://a.org\n")
    (tmp_path / "journal.db").write_bytes(b"x" * 5000)
    ran = study(bus, tmp_path, "status")
    assert (ran.returncode, f"{tmp_path / 'journal.db'}: file is not a database" in ran.stderr) == (73, True), (
        ran.stderr
    )


def test_a_lock_that_a_killed_wizard_left_is_nobodys(bus: PrivateBus, tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as somebody:
        (tmp_path / "wizard.lock").write_text(f"{somebody.pid}\nhappe-study\n{socket.gethostname()}\n")
        ran = study(bus, tmp_path, "abort")
        somebody.send_signal(signal.SIGPROF)  # the kernel delivers signals of lower numbers first
    assert (ran.returncode, "no wizard is running" in ran.stderr) == (os.EX_UNAVAILABLE, True)
    assert somebody.returncode == -signal.SIGPROF


Said = tuple[int, str, bytes]
REFUSED: Said = (
    409,
    "application/problem+json",
    b'{"type": "urn:happe:problem:run-state", "detail": "It is aborted."}',
)


@contextlib.contextmanager
def answering(says: list[Said]) -> Iterator[int]:
    """A server on a port that gives one answer after the other, and at last success."""

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            status, kind, body = says.pop(0) if says else (200, "application/json", b"{}")
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def put_letter(state: Path) -> None:
    """A rating that waits in the journal."""
    with contextlib.closing(sqlite3.connect(state / "journal.db")) as journal, journal:
        letter = ("7ZK3M9QA", "PUT", "runs/7ZK3M9QA/rating", "{}")
        journal.execute("INSERT INTO upload (about, method, path, body) VALUES (?, ?, ?, ?)", letter)


def test_a_letter_is_kept_until_the_study_server_itself_has_it(bus: PrivateBus, tmp_path: Path) -> None:
    def waiting() -> tuple[int, int]:
        told = json.loads(study(bus, tmp_path, "status", "--json").stdout)
        return told["waiting"], len(told["refused"])

    others: list[Said] = [(200, "text/html", b"<html>Sign in</html>"), (404, "text/html", b"<html>Not here</html>")]
    says: list[Said] = [*others, REFUSED]
    with answering(says) as port:
        device = {"server": f"http://127.0.0.1:{port}", "study": "s", "device": "d", "token": "t"}
        (tmp_path / "device.json").write_text(json.dumps(device))
        assert waiting() == (0, 0)
        put_letter(tmp_path)
        assert study(bus, tmp_path, "upload").returncode == 1
        assert (waiting(), says) == ((0, 1), [])
        assert study(bus, tmp_path, "upload").returncode == 1
        assert study(bus, tmp_path, "upload", "--again").returncode == 0
        assert waiting() == (0, 0)


def test_ctrl_c_ends_an_upload_to_a_server_that_says_nothing_and_no_command_does(
    bus: PrivateBus, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE_S)
        device = {"server": f"http://127.0.0.1:{server.getsockname()[1]}", "study": "s", "device": "d", "token": "t"}
        (tmp_path / "device.json").write_text(json.dumps(device))
        study(bus, tmp_path, "status")  # which makes the journal
        put_letter(tmp_path)
        command = [desktop.program("happe-study"), f"--state={tmp_path}", "upload"]
        environment = bus.environment(QT_QPA_PLATFORM="offscreen")
        with subprocess.Popen(command, env=environment) as uploading, server.accept()[0]:
            assert study(bus, tmp_path, "abort").returncode == os.EX_UNAVAILABLE
            uploading.send_signal(signal.SIGINT)
            assert uploading.wait(PATIENCE_S) == -signal.SIGINT
    assert json.loads(study(bus, tmp_path, "status", "--json").stdout)["waiting"] == 1


def test_the_translations_are_complete(tmp_path: Path) -> None:
    """German has exactly the texts that lupdate finds in the sources. English has only plural forms."""
    for language, options in (("de", []), ("en", ["-pluralonly"])):
        renewed = tmp_path / f"{language}.ts"
        shutil.copy(ROOT / f"ui/study/happe_{language}.ts", renewed)
        lupdate = ["/usr/lib/qt6/bin/lupdate", "-silent", "-locations", "none", "-I", str(ROOT), str(ROOT / "ui")]
        subprocess.run([*lupdate, *options, "-ts", str(renewed)], check=True, timeout=PATIENCE_S)
        translations = ET.parse(renewed).getroot().findall(".//translation")  # noqa: S314 - our own file
        assert len(translations) >= 3
        for translation in translations:
            forms = translation.findall("numerusform") or [translation]
            assert translation.get("type") is None, ET.tostring(translation)
            assert all(form.text for form in forms), language


def test_help_and_version_need_no_screen(bus: PrivateBus, tmp_path: Path) -> None:
    for words in ([], *([command] for command in COMMANDS)):
        assert "--help" in study(bus, tmp_path, *words, "--help").stdout
    for program in ("happe-study", "happe-indicator"):
        for option in ("--help", "--version"):
            command = [ROOT / "build/bin" / program, option]
            ran = subprocess.run(command, capture_output=True, text=True, env={}, check=False, timeout=PATIENCE_S)
            assert (ran.returncode, ran.stderr) == (0, "")
            assert ran.stdout.strip().startswith(program)


BAD_KEEPING = [
    ([], os.EX_USAGE, "usage: happe-keep"),
    (["any", "x", "true"], os.EX_USAGE, "usage: happe-keep"),
    (["-1", "0", "true"], os.EX_USAGE, "usage: happe-keep"),
    (["any", "0", "/nonexistent/game"], 126, "/nonexistent/game: No such file or directory"),
    (["1023", "0", "true"], 126, "true: Invalid argument"),
]


def test_an_application_that_cannot_be_started_is_said_with_its_reason() -> None:
    for words, status, message in BAD_KEEPING:
        command = [desktop.program("happe-keep"), *words]
        ran = subprocess.run(
            command, stdin=subprocess.PIPE, capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )
        assert (ran.returncode, ran.stdout) == (status, ""), words
        assert ran.stderr.startswith("happe-keep: ")
        assert message in ran.stderr


def test_what_an_application_left_behind_ends_with_it(tmp_path: Path) -> None:
    """By itself; its helper, in a session of its own, minds no SIGTERM."""
    script = f"(trap '' TERM; setsid sh -c 'echo $$ >{tmp_path}/helper; exec sleep 60') & "
    script += f"until [ -s {tmp_path}/helper ]; do sleep 0.01; done; exit 3"
    command = [desktop.program("happe-keep"), "any", "100", "sh", "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as keeper:
        assert keeper.wait(PATIENCE_S) == 0
    helper = int((tmp_path / "helper").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(helper, 0)


def test_an_application_ends_with_a_keeper_that_is_killed(tmp_path: Path) -> None:
    script = f"echo $$ >{tmp_path}/new && mv {tmp_path}/new {tmp_path}/game; exec sleep 60"
    with subprocess.Popen(
        [desktop.program("happe-keep"), "any", "100", "sh", "-c", script], stdin=subprocess.PIPE
    ) as keeper:
        until((tmp_path / "game").exists, "the application has started")
        keeper.kill()
    game = int((tmp_path / "game").read_text())
    until(lambda: not is_running(game), "the application has ended")
