# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the words on the pages of a PDF from Typst, without a library: the text that a person would see printed."""

from __future__ import annotations

import re
import zlib

OBJECT = re.compile(rb"\n(\d+) 0 obj\s(.*?)endobj", re.DOTALL)
FONT = re.compile(rb"/(f\d+) (\d+) 0 R")
TOKEN = re.compile(rb"<<[^>]*>>|/(?P<font>f\d+) [\d.]+ Tf|(?P<literal>\()|<(?P<hex>[0-9a-fA-F]+)>|(?P<end>ET)")
ESCAPED = re.compile(rb"\\([0-7]{1,3}|.)", re.DOTALL)
OPENED, CLOSED, ESCAPE = b"()\\"
LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}


def pages(pdf: bytes) -> list[str]:
    """The text of each page, in order."""
    objects = {int(number): content for number, content in OBJECT.findall(pdf)}
    found = [content for content in objects.values() if re.search(rb"/Type\s*/Page\b", content)]
    return [
        _words(
            _stream(objects[_number(rb"/Contents (\d+)", page)]),
            {
                name: _letters(_stream(objects[_number(rb"/ToUnicode (\d+)", objects[int(number)])]))
                for name, number in FONT.findall(objects[_number(rb"/Resources (\d+)", page)])
            },
        )
        for page in found
    ]


def _number(pattern: bytes, content: bytes) -> int:
    return int(re.findall(pattern, content)[0])


def _stream(content: bytes) -> bytes:
    return zlib.decompressobj().decompress(content[content.index(b"stream\n") + len(b"stream\n") :])


def _letters(table: bytes) -> dict[int, str]:
    """Return the letters of each code of a font, from its ToUnicode table."""
    found = re.findall(rb"<([0-9a-fA-F]{4})>\s*<([0-9a-fA-F]+)>\n", table)
    return {int(code, 16): bytes.fromhex(text.decode()).decode("utf-16-be") for code, text in found}


def _words(content: bytes, fonts: dict[bytes, dict[int, str]]) -> str:
    """Return all text of a page's content, with a space after each piece."""
    text, font, at = "", b"", 0
    while found := TOKEN.search(content, at):
        at, codes = found.end(), b""
        font = found["font"] or font
        if found["literal"]:
            codes, at = _literal(content, at)
        elif found["hex"]:
            codes = bytes.fromhex(found["hex"].decode())
        text += "".join(fonts[font][a << 8 | b] for a, b in zip(codes[::2], codes[1::2], strict=True))
        text += " " if found["end"] else ""
    return text


def _literal(content: bytes, at: int) -> tuple[bytes, int]:
    """Return the string that begins at this place, and its end. It may have balanced parentheses."""
    codes, depth = bytearray(), 1
    while depth:
        if content[at] == ESCAPE:
            code = ESCAPED.findall(content, at, at + 4)[0]
            codes += bytes([int(code, 8)]) if code.isdigit() else LETTERS.get(code, code)
            at += 1 + len(code)
            continue
        depth += (content[at] == OPENED) - (content[at] == CLOSED)
        if depth:
            codes.append(content[at])
        at += 1
    return bytes(codes), at
