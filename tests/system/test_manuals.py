# SPDX-License-Identifier: GPL-2.0-or-later
"""Manual pages and completions, as the tools that read them see them."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from manuals import Zsh, bash_offers, shown, syntax_errors, warnings_of
from patience import PATIENCE_S
from program import ROOT, HappeSim

PAGES = ["happe-sim", "happe.toml"]


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest, happe_sim: HappeSim, tmp_path: Path) -> Path:
    """Return the file of each manual page in turn."""
    if request.param == "happe-sim":
        text = happe_sim.run("--manual").stdout
    else:
        text = subprocess.run([happe_sim.program.parent / "happe-toml-manual"], capture_output=True, check=True).stdout
    file = tmp_path / f"{request.param}.man"
    file.write_bytes(text)
    return file


def test_a_manual_page_has_no_warnings(page: Path) -> None:
    assert warnings_of(page) == ""


def test_man_shows_the_page(page: Path) -> None:
    """With the sections that a page must have, and troff's escapes turned into what they stand for."""
    text = shown(page)
    for section in ("NAME", "DESCRIPTION", "OPTIONS", "SEE ALSO"):
        assert f"\n{section}\n" in text
    assert "\\" not in text


def test_the_simulators_page_has_its_commands_and_options(happe_sim: HappeSim) -> None:
    """What --help lists is in the page."""
    text = happe_sim.run("--manual").stdout.decode().replace("\\-", "-")
    for command in ("replay", "study", "play", "observe"):
        assert f'.SS "happe-sim {command}"' in text
        listed = happe_sim.run(command, "--help").stdout.decode()
        for option in set(re.findall(r"^  (?:-h,)?(--[a-z-]+)", listed, re.MULTILINE)):
            assert f"\\fB{option}\\fR" in text, option
    assert '.SH "EXIT STATUS"' in text


def test_the_configurations_page_has_the_options_that_the_document_has(happe_sim: HappeSim) -> None:
    """docs/configuration.md is held against the options themselves by a unit test."""
    manual = subprocess.run([happe_sim.program.parent / "happe-toml-manual"], capture_output=True, check=True).stdout
    documented = re.findall(r"^### `(.+)`$", (ROOT / "docs/configuration.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert documented
    assert re.findall(r"^\.TP\n\\fB(.+)\\fR$", manual.decode(), re.MULTILINE) == documented


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["st"], {"study"}),
        ([""], {"replay", "study", "play", "observe"}),
        (["--ver"], {"--version"}),
        (["study", "--pro"], {"--protocol"}),
        (["study", "--protocol", ""], {"paper", "a3"}),
        (["study", "--protocol", "=", "a"], {"a3"}),
        (["study", "--protocol", "="], {"paper", "a3"}),
        (["study", "--protocol", "a3", "--ch"], {"--check"}),
        (["study", "--also", "fixed-"], {f"fixed-{step}" for step in range(1, 6)}),
        (["study", "--seed", ""], set()),
        (["study", "--out", ""], {"folder"}),
        (["replay", "tr"], {"trace.jsonl"}),
        (["replay", "--"], {"--help"}),
        (["observe", "--record", "tr"], {"trace.jsonl"}),
        (["observe", "--app", "study", "--pro"], set()),
        (["observe", "--secret"], set()),
    ],
    ids=lambda words: " ".join(sorted(words) if isinstance(words, set) else words),
)
def test_bash_completes(happe_sim: HappeSim, tmp_path: Path, words: list[str], offered: set[str]) -> None:
    """Commands, options, the words of a choice, files where files go, nothing where nothing is known."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "trace.jsonl").touch()
    script = happe_sim.run("--completion", "bash").stdout.decode()
    assert bash_offers(script, tmp_path, "happe-sim", *words) == offered


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("happe-sim st", "happe-sim study "),
        ("happe-sim --ver", "happe-sim --version "),
        ("happe-sim study --proto", "happe-sim study --protocol="),
        ("happe-sim study --protocol p", "happe-sim study --protocol paper "),
        ("happe-sim study --protocol=a", "happe-sim study --protocol=a3 "),
        ("happe-sim study --ou", "happe-sim study --out="),
        ("happe-sim study --out fo", "happe-sim study --out folder/"),
        ("happe-sim replay tr", "happe-sim replay trace.jsonl "),
        ("happe-sim observe --record=tr", "happe-sim observe --record=trace.jsonl "),
        ("happe-sim observe --no-such", "happe-sim observe --no-such"),
    ],
)
def test_zsh_completes(happe_sim: HappeSim, tmp_path: Path, typed: str, line: str) -> None:
    """The same, at a terminal."""
    functions, cwd = tmp_path / "functions", tmp_path / "cwd"
    functions.mkdir()
    cwd.mkdir()
    (functions / "_happe-sim").write_bytes(happe_sim.run("--completion", "zsh").stdout)
    (cwd / "folder").mkdir()
    (cwd / "trace.jsonl").touch()
    zsh = Zsh(functions, cwd)
    try:
        assert zsh.line_after(typed) == line
    finally:
        zsh.close()


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_completion_is_good_syntax(happe_sim: HappeSim, shell: str) -> None:
    """The shell itself says so."""
    assert syntax_errors(shell, happe_sim.run("--completion", shell).stdout.decode()) == ""


def test_no_other_shell_is_known(happe_sim: HappeSim) -> None:
    """EX_USAGE, and nothing that a shell would run."""
    ran = happe_sim.run("--completion", "fish")
    assert (ran.returncode, ran.stdout) == (os.EX_USAGE, b"")


@pytest.mark.parametrize("arguments", [["--manual"], ["--completion", "bash"]])
def test_a_full_disk_is_an_error(happe_sim: HappeSim, arguments: list[str]) -> None:
    """EX_IOERR, so that a build does not install half a page."""
    with Path("/dev/full").open("wb") as full:
        command = [str(happe_sim.program), *arguments]
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False, timeout=PATIENCE_S)
    assert ran.returncode == os.EX_IOERR
    assert ran.stderr.startswith(b"happe-sim: standard output: ")
