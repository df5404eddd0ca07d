# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-study's command line, without a server or a daemon."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

import desktop
from program import PATIENCE_S, ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from private_bus import PrivateBus

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
    (["enrol", "http://example.org"], os.EX_USAGE, "http://example.org: is no address of a study server"),
    (["enrol", "https://me:secret@example.org"], os.EX_USAGE, "is no address of a study server"),
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


def test_help_and_manual_have_all_commands_and_options(bus: PrivateBus, tmp_path: Path) -> None:
    manual = study(bus, tmp_path, "--manual").stdout
    page = manual.replace("\\-", "-")
    for words in ([], *([command] for command in COMMANDS)):
        told = study(bus, tmp_path, *words, "--help").stdout
        options = set(re.findall(r"^  (?:-h,)?(--[a-z-]+)", told, re.MULTILINE))
        assert options
        assert [option for option in options if f"\\fB{option}\\fR" not in page] == []
    assert [command for command in COMMANDS if f'.SS "happe-study {command}"' not in page] == []
    groff = ["groff", "-man", "-ww", "-z", "-Tascii", "-rLL=120n"]
    ran = subprocess.run(groff, input=manual, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completions_are_good_syntax(bus: PrivateBus, tmp_path: Path, shell: str) -> None:
    script = study(bus, tmp_path, "--completion", shell).stdout
    assert all(command in script for command in COMMANDS)
    ran = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (ran.returncode, ran.stderr) == (0, "")


def words_of(file: Path) -> dict[str, list[str]]:
    """The wizard's words in a file of translations, each with its translations."""
    contexts = ET.parse(file).getroot().iter("context")  # noqa: S314 - ours
    [messages] = [context.findall("message") for context in contexts if context.findtext("name") == "StudyWords"]
    found = {}
    for message in messages:
        [translation] = message.findall("translation")
        forms = [form.text or "" for form in translation.findall("numerusform")] or [translation.text or ""]
        found[message.findtext("source") or ""] = forms if translation.get("type") is None else [""]
    return found


def test_every_word_of_the_wizard_is_there_in_every_language(tmp_path: Path) -> None:
    said = tmp_path / "said.ts"
    subprocess.run(
        ["/usr/lib/qt6/bin/lupdate", "ui/study", "-ts", str(said)], cwd=ROOT, check=True, capture_output=True
    )
    for file in sorted((ROOT / "ui/translations").glob("happe_*.ts")):
        words = words_of(file)
        assert set(words) == set(words_of(said)), f"lupdate ui -ts {file.name}"
        assert all(all(forms) for forms in words.values()), file.name


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
    script = f"(trap '' TERM; setsid sh -c 'echo $$ >{tmp_path}/helper; exec sleep 60') & sleep 0.3; exit 3"
    command = [desktop.program("happe-keep"), "any", "100", "sh", "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as keeper:
        assert keeper.wait(PATIENCE_S) == 0
    helper = int((tmp_path / "helper").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(helper, 0)
