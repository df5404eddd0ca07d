# SPDX-License-Identifier: GPL-2.0-or-later
"""TOML with line numbers."""

import tomllib
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from happe_contract.toml_lines import Document, TomlError, read


def test_every_key_table_and_item_has_its_line_however_it_is_written() -> None:
    text = """a.b = 1
"c d".'e' = [ # a comment
  1, # another

  { f = 2, g.h = [3] },
]
[x.y]
z = \"\"\"
two lines\"\"\"
[[t]]
[[t]]
[t.u]
v = 1
"""

    lines = read(text.encode()).lines

    assert lines[("a", "b")] == 1
    assert lines[("c d", "e", 0)] == 3
    assert lines[("c d", "e", 1, "g", "h", 0)] == 5
    assert (lines[("x",)], lines[("x", "y")], lines[("x", "y", "z")]) == (7, 7, 8)
    assert (lines[("t",)], lines[("t", 0)], lines[("t", 1)]) == (10, 10, 11)
    assert lines[("t", 1, "u", "v")] == 13


def test_what_is_missing_has_the_line_of_the_table_that_would_hold_it() -> None:
    document = read(b"\n[a]\nb = 1\n")

    assert document.line(("a", "c", "d")) == 2
    assert document.line(("b",)) == 1


PIECES = st.sampled_from(
    ["a", "b.c", "name", "order", '"q"', "'r'", "=", "[", "]", "[[", "]]", "{", "}", ",", "#x", "1", ".", "x=1", "true"]
) | st.sampled_from(
    ["\n", "\r\n", " ", "\ufeff", "\x00", "[a]\n", "[[b]]\n", "x = 1\n", '"""', "'''", "1979-05-27", "\u00e9", "\\"]
)


def read_or_refused(text: str) -> Document | TomlError:
    """Return what comes of a text."""
    try:
        return read(text.encode())
    except TomlError as error:
        return error


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_whatever_the_text_a_document_or_an_error_on_one_of_its_lines_comes_back(text: str) -> None:
    last = text.count("\n") + 1

    result = read_or_refused(text)

    if isinstance(result, TomlError):
        assert 1 <= result.line <= last
    else:
        assert result.data == tomllib.loads(text.removeprefix("\ufeff"))
        assert all(1 <= line <= last for line in result.lines.values())
        assert set(paths(result.data)) <= set(result.lines)


def paths(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Return every path in what tomllib read."""
    inner: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    for part, child in inner:
        yield (*path, part)
        yield from paths(child, (*path, part))


def test_content_that_is_not_utf_8_is_refused_with_its_line() -> None:
    with pytest.raises(TomlError, match="is not UTF-8") as refused:
        read(b"a = 1\nb = '\xff'\n")
    assert refused.value.line == 2


def test_a_byte_order_mark_is_passed_over() -> None:
    assert read(b"\xef\xbb\xbfa = 1\n").data == {"a": 1}
