# SPDX-License-Identifier: GPL-2.0-or-later
"""The English in sources: comments, docstrings and messages of Python, C, C++ and JavaScript."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = (".py", ".cpp", ".h", ".c", ".js")
CODE = "code"  # stands for a filled-in value, and for `code`
QUOTED = re.compile(r"``[^`]*``|`[^`\n]*`")
PLACES = re.compile(r"\{[^{} ]*\}|%[0-9n]\b|%[ds]\b")
SPACE = re.compile(r"\s+")
PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*- )")  # no rule matches across it
WORDS = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}")  # at least two words, so no name and no key
# C and its relatives: a comment, a raw text, a text, a character. An earlier one may contain the later ones.
TOKEN = re.compile(
    r'//(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/|R"(?P<mark>[^\s()\\]*)\((?P<raw>.*?)\)(?P=mark)"'
    r"|\"(?P<text>(?:\\.|[^\"\\\n])*)\"|'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)
ESCAPE = re.compile(r"\\(?:[xu][0-9a-fA-F]+|.)", re.DOTALL)
BEFORE_COMMENT = re.compile(r"^[\s/*!#<]*", re.MULTILINE)


@dataclass(frozen=True)
class Passage:
    """A comment, docstring or message that begins in this line. A message is for people who use a program."""

    line: int
    text: str
    is_message: bool


def passages(name: str, source: str) -> list[Passage]:
    """Return the English of a source file, in the order of its lines."""
    found = _python(source) if name.endswith(".py") else _c(source)
    return sorted((each for each in found if WORDS.search(plain(each.text))), key=lambda each: each.line)


def plain(text: str) -> str:
    """Return a passage as one line, without code and filled-in values."""
    return SPACE.sub(" ", PLACES.sub(CODE, QUOTED.sub(CODE, PARAGRAPH.sub(" | ", text)))).strip()


def _python(source: str) -> Iterator[Passage]:
    yield from _joined(
        (token.start[0], BEFORE_COMMENT.sub("", token.string))
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    )
    tree = ast.parse(source)
    inside: set[int] = set()  # parts of an f-string, and docstrings
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                inside.add(id(first.value))
                decorated = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and bool(node.decorator_list)
                yield Passage(first.value.lineno, first.value.value, decorated)  # click's and Flask's commands print it
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in node.values}
            yield Passage(
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else CODE for part in node.values),
                is_message=True,
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield Passage(node.lineno, node.value, is_message=True)


def _c(source: str) -> Iterator[Passage]:
    comments: list[tuple[int, str]] = []
    texts: list[tuple[int, str]] = []
    end = 0
    for token in TOKEN.finditer(source):
        line = source.count("\n", 0, token.start()) + 1
        comment = token["line"] if token["line"] is not None else token["block"]
        text = token["raw"] if token["raw"] is not None else token["text"]
        if comment is not None:
            comments += [(line + at, BEFORE_COMMENT.sub("", each)) for at, each in enumerate(comment.split("\n"))]
        elif text is not None:
            spoken = ESCAPE.sub(" ", text) if token["raw"] is None else text
            if texts and not source[end : token.start()].strip():  # texts beside each other are one
                texts[-1] = (texts[-1][0], texts[-1][1] + spoken)
            else:
                texts.append((line, spoken))
            end = token.end()
    yield from _joined(iter(comments))
    for line, text in texts:
        yield Passage(line, text, is_message=True)


def _joined(lines: Iterator[tuple[int, str]]) -> Iterator[Passage]:
    """Join comments in successive lines into one passage."""
    begin, last, text = 0, -1, ""
    for line, each in lines:
        if line != last + 1:
            if text:
                yield Passage(begin, text, is_message=False)
            begin, text = line, ""
        text += f"{each}\n"
        last = line
    if text:
        yield Passage(begin, text, is_message=False)
