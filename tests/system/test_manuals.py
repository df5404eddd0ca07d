# SPDX-License-Identifier: GPL-2.0-or-later
"""Manual pages and completions, as the tools that read them see them."""

import os
import pty
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from program import ROOT, HappeSim

PATIENCE_S = 15
PAGES = ["happe-sim", "happe.toml"]


def tool(name: str) -> str:
    """Return where a tool is; `make setup` installs them all."""
    found = shutil.which(name)
    assert found, f"{name} is missing: `make setup` installs it"
    return found


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
    """All of groff's warnings are on; nothing may be said of any line, and nothing may be wider than a page."""
    groff = [tool("groff"), "-man", "-ww", "-z", "-Tascii", "-rLL=100n", str(page)]
    ran = subprocess.run(groff, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_man_shows_the_page(page: Path) -> None:
    """With the sections that a page must have, and troff's escapes turned into what they stand for."""
    man = [tool("man"), "--warnings=w", "-E", "UTF-8", "-P", "cat", "-l", str(page)]
    environment = os.environ | {"MANWIDTH": "120", "LC_ALL": "C.UTF-8"}
    ran = subprocess.run(man, capture_output=True, check=False, env=environment)
    assert (ran.returncode, ran.stderr) == (0, b"")
    text = re.sub(r".\x08", "", ran.stdout.decode())
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


def completed(happe_sim: HappeSim, tmp_path: Path, *words: str) -> set[str]:
    """Return what bash offers for a command line whose last word is being typed."""
    script = tmp_path / "completion.bash"
    script.write_bytes(happe_sim.run("--completion", "bash").stdout)
    program = """
        source "$1"; shift
        compopt() { :; }  # only bash itself may call it, while it completes
        COMP_WORDS=(happe-sim "$@"); COMP_CWORD=$#
        _happe_sim
        [[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\\n' "${COMPREPLY[@]}"
    """
    command = [tool("bash"), "--norc", "-eu", "-c", program, "bash", str(script), *words]
    ran = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path, timeout=PATIENCE_S)
    assert (ran.returncode, ran.stderr) == (0, b"")
    return set(ran.stdout.decode().split())


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
    ids=" ".join,
)
def test_bash_completes(happe_sim: HappeSim, tmp_path: Path, words: list[str], offered: set[str]) -> None:
    """Commands, options, the words of a choice, files where files go, nothing where nothing is known."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "trace.jsonl").touch()
    assert completed(happe_sim, tmp_path, *words) == offered


class Zsh:
    """A zsh at a terminal."""

    def __init__(self, functions: Path, cwd: Path) -> None:
        """Start it with the completions of a folder."""
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.chdir(cwd)
            os.environ.update({"TERM": "dumb", "LC_ALL": "C.UTF-8", "COLUMNS": "200"})
            os.execv(tool("zsh"), ["zsh", "-f", "-i"])  # noqa: S606 -- no shell is wanted around the shell
        self.type(f"PS1=; PROMPT_EOL_MARK=; fpath=('{functions}' $fpath); autoload -Uz compinit && compinit -u -D\n")
        self.type("show() { zle -I; print -r -- LINE:$BUFFER:END }; zle -N show; bindkey '^X' show\n")
        self.type("stty cols 200; echo rea''dy\n")
        self.until("ready")

    def type(self, text: str) -> None:
        """Type."""
        os.write(self.terminal, text.encode())

    def until(self, end: str) -> str:
        """Return what is shown until there is `end`."""
        text, patience = "", time.monotonic() + PATIENCE_S
        while end not in text:
            assert select.select([self.terminal], [], [], patience - time.monotonic())[0], f"no {end!r} in {text!r}"
            text += os.read(self.terminal, 4096).decode()
        return text

    def line_after(self, typed: str) -> str:
        """Return the command line after TAB."""
        self.type(f"{typed}\t\x18")
        return self.until(":END\r\n").partition("LINE:")[2].partition(":END\r\n")[0]

    def close(self) -> None:
        """Leave it."""
        os.close(self.terminal)
        os.waitpid(self.child, 0)


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
    script = happe_sim.run("--completion", shell).stdout
    ran = subprocess.run([tool(shell), "-n"], input=script, capture_output=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


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
