# SPDX-License-Identifier: GPL-2.0-or-later
"""The manual page and the completions, read by their own tools; docs/study-server.md; the systemd unit."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from happe_describe import completion
from happe_describe.command import program_of
from happe_describe.page import page_of
from happe_describe.troff import written
from happe_study.app.metrics import NAMES
from happe_study.base.config import SECTIONS, Config
from manuals import Zsh, bash_offers, shown, syntax_errors, tool, warnings_of
from operated import SOURCES, happe_server
from patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator


ROOT = SOURCES.parents[1]
TOLD = program_of(json.loads(happe_server("--describe").out))
TREE = TOLD.command
LEAVES = [command for command in TREE.all() if not command.commands]


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manual page in a file."""
    file = tmp_path_factory.mktemp("manual") / "happe-server.8"
    file.write_text(written(page_of(TOLD)))
    return file


def test_the_manual_page_has_no_warnings(page: Path) -> None:
    assert warnings_of(page) == ""


def test_man_shows_the_page(page: Path) -> None:
    text = shown(page)
    sections = (
        "NAME",
        "SYNOPSIS",
        "DESCRIPTION",
        "OPTIONS",
        "COMMANDS",
        "EXAMPLES",
        "EXIT STATUS",
        "FILES",
        "SEE ALSO",
    )
    for section in sections:
        assert f"\n{section}\n" in text, section
    assert "happe-server - the study server of HAPPE\n" in text


def test_every_command_is_in_the_page_with_its_options(page: Path, subtests: pytest.Subtests) -> None:
    for command in list(TREE.all())[1:]:
        with subtests.test(command.path):
            text = page.read_text().replace("\\-", "-")
            section = text.split(f'.SS "{command.path}"\n')[1].split(".SS ")[0].split(".SH ")[0]
            for option in command.options:
                if "--help" not in option.names:
                    assert all(f"\\fB{name}\\fR" in section for name in option.names), option.names


def test_every_command_helps_with_a_summary_and_examples(subtests: pytest.Subtests) -> None:
    for command in list(TREE.all()):
        with subtests.test(command.path):
            ran = happe_server(*command.path.split()[1:], "--help")
            assert (ran.status, ran.err) == (0, "")
            assert command.summary in ran.out
            said = " ".join(ran.out.split())
            assert all(f"{each.name} {each.summary}" in said for each in command.commands)
            assert "Examples:\n  " in ran.out
            assert not command.summary.endswith(".")
            assert all(len(line) <= 110 for line in ran.out.splitlines())
            for option in command.options:
                assert option.description, f"{command.path} {option.names}"


def test_every_example_is_a_command_that_there_is() -> None:
    paths = {command.path: command for command in TREE.all()}
    for command in TREE.all():
        for example in re.findall(r"(?<![\w-])happe-server ([a-z]+(?: [a-z]+)?)", command.footer):
            words = example.split()
            assert f"happe-server {words[0]}" in paths, example
            group = paths[f"happe-server {words[0]}"]
            assert not group.commands or " ".join(["happe-server", *words]) in paths, example


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["st"], {"study"}),
        (
            ["study", ""],
            {"allocation", "check", "create", "export", "list", "lock", "measure"}
            | {"preregister", "retention", "status", "traces", "unblind", "verify"},
        ),
        (["--ver"], {"--version"}),
        (["user", "grant", "ana@example.org", "cust"], {"custodian"}),
        (["device", "enrol", "--kind", ""], {"laptop", "meter"}),
        (["device", "enrol", "--kind", "=", "la"], {"laptop"}),
        (["check", "--d"], {"--deep"}),
        (["--config", "se"], {"server.toml"}),
        (["--config", "server.toml", "audit", "ve"], {"verify"}),
        (["user", "token", "--days", ""], set()),
        (["backup", "fol"], {"folder"}),
        (["study", "create", "ser"], {"server.toml"}),
        (["audit", "--secret"], set()),
    ],
    ids=lambda words: " ".join(sorted(words) if isinstance(words, set) else words),
)
def test_bash_completes(tmp_path: Path, words: list[str], offered: set[str]) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "server.toml").touch()
    script = completion.bash(TREE)
    assert bash_offers(script, tmp_path, "happe-server", *words) == offered


@pytest.fixture
def zsh(tmp_path: Path) -> Iterator[Zsh]:
    """A zsh with happe-server's completions."""
    functions, cwd = tmp_path / "functions", tmp_path / "cwd"
    functions.mkdir()
    cwd.mkdir()
    (functions / "_happe-server").write_text(completion.zsh(TREE))
    (cwd / "folder").mkdir()
    (cwd / "server.toml").touch()
    made = Zsh(functions, cwd)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("happe-server st", "happe-server study "),
        ("happe-server --ver", "happe-server --version "),
        ("happe-server --conf", "happe-server --config="),
        ("happe-server --config=se", "happe-server --config=server.toml "),
        ("happe-server study un", "happe-server study unblind "),
        ("happe-server device enrol --kind m", "happe-server device enrol --kind meter "),
        ("happe-server user grant ana@example.org inv", "happe-server user grant ana@example.org investigator "),
        ("happe-server study create ser", "happe-server study create server.toml "),
        ("happe-server check --no-such", "happe-server check --no-such"),
    ],
)
def test_zsh_completes(zsh: Zsh, typed: str, line: str) -> None:
    assert zsh.line_after(typed) == line


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_completion_is_good_syntax(shell: str) -> None:
    assert syntax_errors(shell, getattr(completion, shell)(TREE)) == ""


@pytest.mark.parametrize("arguments", [["--describe"], ["--help"]])
def test_a_full_disk_is_an_error(arguments: list[str]) -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES)}
    command = [sys.executable, "-c", "from happe_study.cli import main; main()", *arguments]
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, check=False, timeout=PATIENCE_S, env=environment
        )
    assert ran.returncode == os.EX_IOERR
    assert ran.stderr == b"happe-server: standard output: No space left on device; make room and try again\n"


def page_of_docs() -> str:
    """docs/study-server.md."""
    return (ROOT / "docs/study-server.md").read_text()


def test_the_documentation_has_every_option_of_the_configuration() -> None:
    documented = re.findall(r"^### `(.+)`$", page_of_docs(), re.MULTILINE)
    options = [name for name in Config.model_fields if name not in SECTIONS]
    assert documented == options + [
        f"{section}.{name}" for section in SECTIONS for name in SECTIONS[section].model_fields
    ]


def test_the_documentation_has_every_default() -> None:
    sections = dict(re.findall(r"^### `(.+)`\n(.+)$", page_of_docs(), re.MULTILINE))
    nested = (
        (f"{section}.{name}", field) for section in SECTIONS for name, field in SECTIONS[section].model_fields.items()
    )
    for name, field in [*Config.model_fields.items(), *nested]:
        value = field.default
        if isinstance(value, str):
            assert f'Default `"{value}"`' in sections[name]
        elif isinstance(value, bool):
            assert f"Default {str(value).lower()}" in sections[name]
        elif isinstance(value, float):
            assert f"Default {value}. " in sections[name]
        elif isinstance(value, int):
            units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "": 1}
            said = re.match(r"Default (\d+) ?([KMGT]iB)?", sections[name])
            assert said, name
            assert int(said[1]) * units[said[2] or ""] == value


def test_the_documentation_has_every_command_and_option(subtests: pytest.Subtests) -> None:
    for command in LEAVES:
        with subtests.test(command.path):
            text = page_of_docs()
            assert f"`{command.path}`" in text
            for option in command.options:
                assert any(f"{name}" in text for name in option.names), option.names


def test_the_documentation_has_every_metric() -> None:
    assert re.findall(r"^\| `(happe_\w+)`", page_of_docs(), re.MULTILINE) == list(NAMES)


def test_every_command_in_the_documentation_is_one() -> None:
    paths = {command.path: command for command in TREE.all()}
    for words in re.findall(r"happe-server ([a-z]+(?: [a-z]+)?)", page_of_docs()):
        first, *second = words.split()
        if (command := paths.get(f"happe-server {first}")) and command.commands and second:
            assert f"happe-server {words}" in paths, words


def test_the_unit_exposes_little() -> None:
    unit = ROOT / "packaging/systemd/happe-server.service"
    verify = [tool("systemd-analyze"), "security", "--offline=true", "--threshold=15", "--no-pager", str(unit)]
    ran = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_the_unit_starts_a_command_that_there_is() -> None:
    unit = (ROOT / "packaging/systemd/happe-server.service").read_text()
    assert "\nExecStart=/usr/bin/happe-server run\n" in unit
    assert int(re.findall(r"TimeoutStopSec=(\d+)s", unit)[0]) > Config.model_fields["stop_seconds"].default
