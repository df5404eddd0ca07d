# SPDX-License-Identifier: GPL-2.0-or-later
"""Check the English of Markdown files, Jinja templates and sources. Run as `python -m happe_prose [--grades] FILE...`.

Prints FILE:LINE: RULE: what is wrong, and exits with 1 if it printed anything. --grades prints each page's grade too.
Of a source (Python, C, C++, JavaScript) it reads comments, docstrings and messages; of a .ts its German.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from proselint.checks import __register__
from proselint.registry import CheckRegistry
from proselint.registry.checks import Check
from proselint.registry.checks.types import ExistenceSimple
from proselint.tools import LintFile

from happe_prose.sources import KINDS, passages, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from markdown_it.token import Token

RULES = tomllib.loads(Path(__file__).with_name("rules.toml").read_text(encoding="utf-8"))
CODE = "code"  # stands for a span of code: a rule reads on over it, and the grade counts one word
WORD = re.compile(r"[A-Za-z][A-Za-z']*")
END = re.compile(r"(?<=[.!?])[)\"*]*(?:\s|$)")
VOWELS = re.compile(r"[aeiouy]+")
SILENT = re.compile(
    r"(?<=[^aeiouytdl])(?:e|ed)$|(?<=[td])e$|(?<=[aeiouy]l)(?:e|ed)$"
)  # made, mixed, note, file; not able, noted
TRANSLATION = re.compile(r"<translation[^>]*>(.*?)</translation>", re.DOTALL)  # of Qt's .ts
SEPARATOR = "\n\n|\n\n"  # between blocks: no rule matches across it
# Of a template: the places that Jinja fills in, and tags. Tags within a sentence separate nothing.
MARKUP = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|<(?P<within>/?(?:strong|em|code|a)\b)?[^>]*>", re.DOTALL)


@dataclass
class Page:
    """A document's prose: its paragraphs, items, headings and cells, without code and addresses."""

    text: str = ""
    starts: list[int] = field(default_factory=list)  # where a line of the file begins in `text`
    lines: list[int] = field(default_factory=list)
    sentences: list[tuple[int, str]] = field(default_factory=list)  # of paragraphs and items, each with its line

    def line_of(self, position: int) -> int:
        """Return the line of the file that has this position of `text`."""
        return self.lines[max(0, bisect_right(self.starts, position) - 1)]


def read(markdown: str) -> Page:
    """Read a document."""
    page = Page()
    line, above = 0, ""
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        line = token.map[0] + 1 if token.map else line
        if token.type == "inline":
            begin = len(page.text)
            _add(page, token, line)
            if above == "paragraph_open":
                for sentence in END.split(page.text[begin:]):
                    page.sentences += [(page.line_of(begin), sentence)] if WORD.search(sentence) else []
                    begin = page.text.find(sentence, begin) + len(sentence) + 1
            page.text += SEPARATOR
        above = token.type
    return page


def read_template(html: str) -> Page:
    """Read a template of HTML. Jinja fills in parts of its sentences, so this program does not measure their length."""

    def bare(markup: re.Match[str]) -> str:
        return (" " if markup["within"] else " | ") + "\n" * markup[0].count("\n")

    page = Page()
    for number, line in enumerate(MARKUP.sub(bare, html).splitlines(), start=1):
        page.starts.append(len(page.text))
        page.lines.append(number)
        page.text += f"{line} "
    return page


def _add(page: Page, block: Token, line: int) -> None:
    page.starts.append(len(page.text))
    page.lines.append(line)
    for child in block.children or ():
        page.text += CODE if child.type == "code_inline" else child.content
        if child.type in ("softbreak", "hardbreak"):
            line += 1
            page.text += " "
            page.starts.append(len(page.text))
            page.lines.append(line)


def syllables(word: str) -> int:
    """Count the groups of vowels, without a silent e. Dictionaries of hyphenation count fewer."""
    return max(1, len(VOWELS.findall(SILENT.sub("", word.lower()))))


def grade(sentences: Sequence[str]) -> float:
    """Return the Flesch-Kincaid grade (Kincaid and others 1975). 0 without words."""
    words = [word for sentence in sentences for word in WORD.findall(sentence)]
    if not words:
        return 0
    return 0.39 * len(words) / len(sentences) + 11.8 * sum(map(syllables, words)) / len(words) - 15.59


def faults(page: Page) -> Iterator[tuple[int, str]]:
    """Yield each fault with its line, by the checks of proselint in rules.toml, our rules, and the two limits."""
    checks = dict.fromkeys([*RULES["proselint"], "happe"], True)
    for found in LintFile("", page.text).lint({"max_errors": 1000, "checks": checks}):
        result = found.check_result
        yield page.line_of(result.span[0] - 1), f"{result.check_path.removeprefix('happe.')}: {result.message}"
    for line, sentence in page.sentences:
        if (words := len(WORD.findall(sentence))) > RULES["most_words"]:
            yield line, f"long-sentence: {words} words; write two sentences: {sentence[:60]}..."
    found_grade = grade([sentence for _line, sentence in page.sentences])
    if found_grade > RULES["most_grade"]:
        yield 1, f"grade: {found_grade:.1f} is above {RULES['most_grade']}; write shorter sentences and shorter words"


def faults_of_source(name: str, source: str) -> Iterator[tuple[int, str]]:
    """Yield each fault of a source file with the first line of its comment, docstring or message."""
    for passage in passages(name, source):
        text = plain(passage.text)
        for rule, pattern in source_rules():
            if pattern.search(text):
                yield passage.line, f"{rule['name']}: {rule['say']}: {text[:60]}..."


def faults_of_german(name: str) -> Iterator[tuple[int, str]]:
    """Yield each fault of a file of Qt's German translations with the translation's line."""
    text = Path(name).read_text(encoding="utf-8")
    for found in TRANSLATION.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        german = unescape(found[1].replace("<numerusform>", "").replace("</numerusform>", " | "))
        for rule in RULES["german"]:
            if re.search(rule["pattern"], german, re.IGNORECASE):
                yield line, f"{rule['name']}: {rule['say']}: {german}"
        for sentence in END.split(german):
            if (words := len(sentence.split())) > RULES["most_german_words"]:
                yield line, f"langer-satz: {words} words; write two sentences: {sentence}"


@cache
def source_rules() -> list[tuple[dict[str, str], re.Pattern[str]]]:
    """Return the rules that hold for sources too, each with its pattern there."""
    patterns = [(rule, rule.get("sources", rule["pattern"])) for rule in RULES["rule"]]
    return [(rule, re.compile(pattern, re.IGNORECASE)) for rule, pattern in patterns if pattern]


def register() -> None:
    """Tell proselint its own checks and ours."""
    registry = CheckRegistry()
    if not registry.checks:
        registry.register_many(__register__)
        registry.register_many(
            tuple(
                Check(check_type=ExistenceSimple(rule["pattern"]), path=f"happe.{rule['name']}", message=rule["say"])
                for rule in RULES["rule"]
            )
        )


def main(arguments: list[str]) -> int:
    """Run. Return the exit status."""
    parser = argparse.ArgumentParser(
        prog="happe_prose", description="Check the English of Markdown files, templates and sources."
    )
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--grades", action="store_true", help="print the grade of each page")
    chosen = parser.parse_args(arguments)
    register()
    wrong = False
    for name in chosen.files:
        text = Path(name).read_text(encoding="utf-8")
        if name.endswith(".ts"):
            wrong = _report(name, faults_of_german(name)) or wrong
            continue
        if name.endswith(KINDS):
            wrong = _report(name, faults_of_source(name, text)) or wrong
            continue
        page = read_template(text) if name.endswith(".html") else read(text)
        if chosen.grades:
            print(f"{grade([sentence for _line, sentence in page.sentences]):5.1f} {name}")
        wrong = _report(name, faults(page)) or wrong
    return int(wrong)


def _report(name: str, found: Iterable[tuple[int, str]]) -> bool:
    lines = [f"{name}:{line}: {what}" for line, what in sorted(found)]
    print(*lines, sep="\n", end="\n" if lines else "")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
