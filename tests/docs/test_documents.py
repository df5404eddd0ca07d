# SPDX-License-Identifier: GPL-2.0-or-later
"""Links, paths, commands with their options, and figures in the documents are right."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from itertools import pairwise, takewhile
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from documents import Document, anchor, commands, documents, program_pages, read, unknown_words
from program import ROOT

# The first folders of the tree's paths.
FOLDERS = (
    *("demo/", "docs/", "governor/", "packaging/", "power-logger/", "study-server/", "tests/", "tools/", "ui/"),
    *("profiles/machines/", "profiles/schema", "profiles/sql", "profiles/vectors"),  # other profiles/ are a server's
)
PATH = re.compile(r"[\w.+@-]+(?:/[\w.+@-]+)+/?")
INSTALLED = re.compile(r"(?<![\w./~-])/(?:etc|var/lib|run|usr)/[\w./-]*happe[\w./@-]*\w")
OWN = ("/usr/local/", "/etc/polkit-1/", "/etc/cron.d/", "/etc/bash_completion.d/")  # an administrator's own files
KIND = re.compile(r"\.(cpp|h|py|service|socket|conf|sh|toml|install|postinst|postrm|rules|txt)$")
TARGET = re.compile(r"[a-z][a-z-]*")
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


@cache
def known_commands() -> dict[str, dict[str, bool]]:
    """Every command of every program with its options, from the programs' own descriptions."""
    return {path: options for page in program_pages() for path, options in page.commands.items()}


@cache
def targets() -> set[str]:
    """The targets of the Makefile."""
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@cache
def sources() -> str:
    """The text of all sources and packaging files except tests."""
    rooms = ("governor", "packaging", "power-logger/src", "study-server/src", "tools", "ui")
    files = [file for room in rooms for file in (ROOT / room).rglob("*") if KIND.search(file.name) and file.is_file()]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def wrong_link(document: Document, link: str) -> str | None:
    """Return the fault of a link; None if there is none."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None if parts.scheme == "https" and parts.netloc else "is not https"
    target = (document.path.parent / parts.path).resolve() if parts.path else document.path
    if not target.is_file():
        return "leads to no file"
    if parts.fragment and target.suffix == ".md" and parts.fragment not in read(target).anchors:
        return f"{target.name} has no such heading"
    return None


def test_links_lead_somewhere(subtests: pytest.Subtests) -> None:
    for document in documents():
        with subtests.test(document.name):
            wrong = [(line, link, wrong_link(document, link)) for line, link in document.links]
            assert [each for each in wrong if each[2]] == []


def test_a_page_is_short() -> None:
    """A person can read README at once. A page has one purpose."""
    most = {"README.md": 100, "CHANGELOG.md": 10_000}
    lines = {each.name: len(each.path.read_text(encoding="utf-8").splitlines()) for each in documents()}
    assert {name: count for name, count in lines.items() if count > most.get(name, 200)} == {}


def test_a_document_is_named_by_a_link(subtests: pytest.Subtests) -> None:
    """The name of a document in `code` is dead text on the site."""
    for document in documents():
        with subtests.test(document.name):
            named = [(line, text) for line, text in document.spans if text.endswith(".md") and (ROOT / text).is_file()]
            assert named == []


def wrong_command(words: list[str]) -> str | None:
    """Return the fault of a command of ours. None if it is right, or if the command is not ours."""
    program = words[0].removeprefix("build/bin/").rpartition("/usr/sbin/")[2]
    if program in known_commands():
        return unknown_words([program, *words[1:]], known_commands())
    if program == "make":
        return next(
            (f"no target {word}" for word in words[1:] if TARGET.fullmatch(word) and word not in targets()), None
        )
    if program.startswith(FOLDERS) and program.endswith(".sh"):
        return None if (ROOT / program).is_file() else "is not there"
    return None


def test_commands_and_options_exist(subtests: pytest.Subtests) -> None:
    for document in documents():
        with subtests.test(document.name):
            wrong = []
            for line, text in [*document.blocks, *document.spans]:
                wrong += [(line, text, wrong_command(words)) for words in commands(text)]
            assert [each for each in wrong if each[2]] == []


def test_no_line_holds_what_belongs_on_two() -> None:
    """An editor that fills paragraphs may join a list's items, or the commands of a block in a list."""
    for document in documents():
        lists = re.findall(r"[:;.] - \S.*", document.path.read_text(encoding="utf-8"))
        lines = [(line, words) for line, text in document.blocks for words in commands(text)]
        joined = [
            line
            for line, words in lines
            if not words[0][0].isdigit()  # cron's lines have a user before the command
            and {" ".join(two) for two in pairwise(words[1:])} & {*known_commands()}
        ]
        assert (document.name, lists, joined) == (document.name, [], [])


def missing(document: Document, text: str) -> list[str]:
    """The paths of the tree in a text that aren't there."""
    found = [path.rstrip("/.") for path in PATH.findall(text) if path.startswith(FOLDERS)]
    places = (ROOT, ROOT / "study-server", document.path.parent)
    return [path for path in found if not any((place / path).exists() for place in places)]


def test_paths_exist(subtests: pytest.Subtests) -> None:
    for document in documents():
        with subtests.test(document.name):
            spans = [(line, text) for line, text in document.spans if not re.search(r"[*{<]|NNNN", text)]
            wrong = [(line, missing(document, text)) for line, text in [*document.blocks, *spans]]
            assert [each for each in wrong if each[1]] == []


def test_installed_paths_are_those_of_programs_and_packages(subtests: pytest.Subtests) -> None:
    for document in documents():
        with subtests.test(document.name):
            text = document.path.read_text(encoding="utf-8")
            wrong = []
            for path in {each for each in INSTALLED.findall(text) if not each.startswith(OWN)}:
                folder, name = str(Path(path).parent), Path(path).name.replace("NAME", "%i")  # systemd's word
                if path not in sources() and not (folder in sources() and name in sources()):
                    wrong.append(path)
            assert wrong == []


def test_files_below_etc_have_their_folder_made_and_go_with_a_purge() -> None:
    lines = [text for document in documents() for _line, text in document.blocks]
    installs = [words for text in lines for words in commands(text) if words[0] == "install"]
    below = [words for words in installs if words[-1].startswith("/etc/happe/")]
    purged = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "packaging/debian").glob("*.postrm"))
    assert below
    assert [words for words in below if "-D" not in words or words[-1] not in purged.split()] == []


def test_the_calibration_that_is_shown_stands_in_the_shipped_file() -> None:
    page = (ROOT / "docs/how-to/current-laptops.md").read_text(encoding="utf-8")
    _before, head, below = (ROOT / "packaging/happe.toml").read_text(encoding="utf-8").partition("[calibration]\n")
    assert head in page.replace("`", "\n")
    assert re.findall(r"^ {6}(.* = .*)$", page, re.MULTILINE) == [below.strip().removeprefix("#")]


@pytest.mark.slow
def test_there_is_no_lint() -> None:
    """[tool.pymarkdown] of pyproject.toml chooses the rules."""
    scan = [sys.executable, "-m", "pymarkdown", "scan", "-r", *(str(each.path) for each in documents())]
    ran = subprocess.run(scan, capture_output=True, check=False, text=True, cwd=ROOT)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "", 0)


FIGURES = read(ROOT / "docs/figures.md")
ROWS = [
    [cell.strip() for cell in line.strip().strip("|").split("|")]
    for line in FIGURES.path.read_text(encoding="utf-8").splitlines()
    if re.match(r"\| (?!what|---)", line)
]


def test_a_figure_is_what_its_page_says(subtests: pytest.Subtests) -> None:
    """The page has each number of the figure and of its comparison where it tells how we measured it."""
    for row in ROWS:
        with subtests.test(row[0]):
            _what, figure, goal, _command, more = row
            address = re.search(r"\(([^)#]+)#([^)]+)\)", more)
            assert address
            text = section(FIGURES.path.parent / address[1], address[2])
            assert set(NUMBER.findall(f"{figure} {goal}")) - set(NUMBER.findall(text)) == set()


def section(page: Path, heading: str) -> str:
    """Return the text below a heading, with the headings below it. `heading` is its anchor."""
    parts = re.split(r"^(#+) (.*)\n", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = list(zip(parts[1::3], parts[2::3], parts[3::3], strict=True))
    at = next(number for number, (_level, title, _text) in enumerate(found) if anchor(title) == heading)
    below = list(takewhile(lambda each: len(each[0]) > len(found[at][0]), found[at + 1 :]))
    return "\n".join([found[at][2], *(text for _level, _title, text in below)])


def test_each_figure_has_a_command() -> None:
    """`the same` means the command of the row above."""
    above = ""
    for row in ROWS:
        above = row[3] if row[3] != "the same" else above
        assert above.startswith("`"), row


def test_the_example_of_user_a_is_the_vectors() -> None:
    """docs/explanation/algorithm.md has the times, loads, keys and profiles of the hand-derived vector."""
    vector = json.loads((ROOT / "profiles/vectors/user-a-plays-torcs.json").read_text(encoding="utf-8"))
    seen = {each["t_us"]: each for each in vector["observations"]}
    expected = []
    for decision in vector["expected"]:
        if "learned" in decision:
            policy = seen[decision["t_us"]]["policies"][0]
            key = seen[decision["t_us"]]["keys"][0]["key"]
            load = f"{max(policy['util_ppm']) // 10000} % of {policy['cur_khz'] / 1e6:g}"
            profile = [f"{khz / 1e6:g}" for khz in decision["learned"]["uafp_khz"]]
            words = {"performance": "faster", "power": "save"}[key]
            expected.append(
                [f"{decision['t_us'] // 1000000} s", load, str(decision["learned"]["level"]), words, *profile]
            )
    text = (ROOT / "docs/explanation/algorithm.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if " s | " in line]
    assert rows[0] == ["0 s", "", "", "", *["0.8"] * 10]
    assert rows[1:] == expected


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sudo happectl restore   # restores the governor", ["happectl", "restore"]),
        ("A=b build/bin/happe-sim study --json >out.json", ["build/bin/happe-sim", "study", "--json"]),
        ("happectl hold -- make -j8", ["happectl", "hold", "--", "make", "-j8"]),
        ("happectl check            reads the file", ["happectl", "check"]),
    ],
)
def test_a_command_is_read_from_a_line(line: str, words: list[str]) -> None:
    assert next(commands(line)) == words


@pytest.mark.parametrize(
    "command",
    ["happectl profilse list", "happectl status --wacth", "happe-server study lok x", "make tset", "make vm-tset"],
)
def test_a_wrong_command_would_be_found(command: str) -> None:
    assert wrong_command(command.split())


def test_an_anchor_is_made_as_hosting_sites_do() -> None:
    assert anchor("What is `kept`, and where?") == "what-is-kept-and-where"
