# SPDX-License-Identifier: GPL-2.0-or-later
"""Manual pages and completions work in the tools that read them."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from happe_describe.command import program_of
from happe_describe.page import page_of
from happe_describe.troff import spelled, written
from manuals import Zsh, bash_offers, shown, syntax_errors, warnings_of
from patience import PATIENCE_S
from program import ROOT, HappeSim

SHARE = ROOT / "build/share"
PAGES = [
    "man1/happe-sim.1",
    "man1/happectl.1",
    "man5/happe.toml.5",
    "man8/happed.8",
    "man1/happe-indicator.1",
]


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest) -> Path:
    """Return the file of each manual page in turn, as the build made it."""
    return SHARE / "man" / str(request.param)


def test_a_manual_page_has_no_warnings(page: Path) -> None:
    assert warnings_of(page) == ""


def test_man_shows_the_page(page: Path) -> None:
    """`man` shows the sections that a page must have, and turns troff's escapes into characters."""
    text = shown(page)
    for section in ("NAME", "DESCRIPTION", "OPTIONS", "SEE ALSO"):
        assert f"\n{section}\n" in text
    assert not re.search(r"\\[(\[f&-]", text)


def test_the_simulators_page_has_its_commands_and_options(happe_sim: HappeSim) -> None:
    """The page has all that --help lists."""
    text = (SHARE / "man/man1/happe-sim.1").read_text(encoding="utf-8").replace("\\-", "-")
    for command in ("replay", "study", "play", "observe"):
        assert f'.SS "happe-sim {command}"' in text
        listed = happe_sim.run(command, "--help").stdout.decode()
        for option in set(re.findall(r"^  (?:-h,)?(--[a-z-]+)", listed, re.MULTILINE)):
            assert f"\\fB{option}\\fR" in text, option
    assert '.SH "EXIT STATUS"' in text


def test_the_configurations_page_has_the_options_that_the_document_has() -> None:
    """A unit test compares docs/configuration.md with the options themselves."""
    manual = (SHARE / "man/man5/happe.toml.5").read_text(encoding="utf-8")
    documented = re.findall(r"^### `(.+)`$", (ROOT / "docs/configuration.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert documented
    assert re.findall(r"^\.TP\n\\fB(.+)\\fR$", manual, re.MULTILINE) == documented


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
def test_bash_completes(tmp_path: Path, words: list[str], offered: set[str]) -> None:
    """Bash offers commands, options, a choice's words, and files where they belong; nothing where it knows nothing."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "trace.jsonl").touch()
    script = (SHARE / "bash-completion/completions/happe-sim").read_text(encoding="utf-8")
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
def test_zsh_completes(tmp_path: Path, typed: str, line: str) -> None:
    """Zsh offers the same, at a terminal."""
    functions, cwd = tmp_path / "functions", tmp_path / "cwd"
    functions.mkdir()
    cwd.mkdir()
    shutil.copy(SHARE / "zsh/site-functions/_happe-sim", functions)
    (cwd / "folder").mkdir()
    (cwd / "trace.jsonl").touch()
    zsh = Zsh(functions, cwd)
    try:
        assert zsh.line_after(typed) == line
    finally:
        zsh.close()


@pytest.mark.parametrize(("shell", "folder"), [("bash", "bash-completion/completions"), ("zsh", "zsh/site-functions")])
def test_a_completion_is_good_syntax(shell: str, folder: str) -> None:
    """Each shell checks its own file."""
    for file in (SHARE / folder).iterdir():
        assert syntax_errors(shell, file.read_text(encoding="utf-8")) == "", file


def test_a_full_disk_is_an_error(happe_sim: HappeSim) -> None:
    """The program exits with EX_IOERR, so that a build does not install half a page."""
    with Path("/dev/full").open("wb") as full:
        command = [str(happe_sim.program), "--describe"]
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False, timeout=PATIENCE_S)
    assert ran.returncode == os.EX_IOERR
    assert ran.stderr.startswith(b"happe-sim: standard output: ")


RUN = {
    "path": "prog run",
    "description": "Run a thing",
    "footer": "",
    "runs": True,
    "options": [],
    "arguments": [
        {"names": [], "value": "THING", "description": "What", "choices": [], "limits": "", "default": ""}
        | {"required": True, "repeated": False, "takes": "file"},
        {"names": [], "value": "REST", "description": "More of it", "choices": [], "limits": "", "default": ""}
        | {"required": False, "repeated": True, "takes": ""},
    ],
    "commands": [],
}
LEVEL = {"names": ["-l", "--level"], "value": "N", "description": "How much", "choices": [], "limits": "1 to 9"}
AS = {"names": ["--as"], "value": "TEXT", "description": "A word", "choices": ["one", "two"], "limits": ""}
REST = {"default": "3", "required": False, "repeated": False, "takes": ""}
PROG = {
    "path": "prog",
    "description": "prog - Does a thing.\n\nAnd another, 'with' \\quotes\\.",
    "footer": "It has examples.\n\nTime 12:30: no heading.\n\nExit status: 0 done, 1 not.\n\n"
    "Examples:\n  prog run a\n  .so b",
    "runs": True,
    "options": [LEVEL | REST, AS | REST | {"default": ""}],
    "arguments": [],
    "commands": [RUN],
}
TOLD = {"section": 8, "version": "1.2", "more": "See also: other(1)", "command": PROG}
WRITTEN = r"""
.TH "PROG" 8 "" "HAPPE 1.2"
.SH "NAME"
prog \- Does a thing
.SH "SYNOPSIS"
\fBprog\fR
.br
\fBprog run\fR \fITHING\fR [\fIREST\fR ...]
.br
.SH "DESCRIPTION"
And another, \(aqwith\(aq \(rsquotes\(rs.
.PP
It has examples.
.PP
Time 12:30: no heading.
.SH "OPTIONS"
.TP
\fB\-l\fR, \fB\-\-level\fR \fIN\fR
How much (1 to 9) [3]
.TP
\fB\-\-as\fR \fBone|two\fR
A word
.SH "COMMANDS"
.SS "prog run"
Run a thing
.TP
\fITHING\fR
What
.TP
\fIREST\fR
More of it
.SH "EXIT STATUS"
0 done, 1 not.
.SH "EXAMPLES"
.RS 4
.EX
prog run a
\&.so b
.EE
.RE
.SH "SEE ALSO"
other(1)
"""


def test_a_page_has_what_the_program_tells_and_nothing_is_a_request() -> None:
    assert written(page_of(program_of(TOLD))) == WRITTEN.lstrip()


def test_text_is_printed_as_it_is() -> None:
    assert spelled("a-b 'c' \"d\" \\e `f` ^~ é€😀") == (
        r"a\-b \(aqc\(aq \(dqd\(dq \(rse \(gaf\(ga \(ha\(ti \[u00E9]\[u20AC]\[u1F600]"
    )
