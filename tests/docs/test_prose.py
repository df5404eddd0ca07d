# SPDX-License-Identifier: GPL-2.0-or-later
"""The linter of the documents' English finds the faults of its rules, and accepts the better sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from happe_prose.__main__ import (
    RULES,
    faults,
    faults_of_german,
    faults_of_source,
    grade,
    main,
    read,
    register,
    source_rules,
    syllables,
)
from happe_prose.sources import passages, plain

if TYPE_CHECKING:
    from pathlib import Path


def found(markdown: str) -> list[tuple[int, str]]:
    """Each fault's line and rule."""
    register()
    return [(line, what.partition(":")[0]) for line, what in faults(read(markdown))]


def test_each_rule_finds_its_example_and_takes_the_better_sentence(subtests: pytest.Subtests) -> None:
    for rule in RULES["rule"]:
        with subtests.test(rule["name"]):
            assert (3, rule["name"]) in found(f"# Title\n\n{rule['example']}\n")
            assert found(f"# Title\n\n{rule['better']}\n") == []


def test_a_planted_sentence_fails_and_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\nhapped restores the governor.\nWhat was found is given back.\n", encoding="utf-8")
    assert main([str(page)]) == 1
    assert f"{page}:4: give-back: write `restore` or `return`\n" in capsys.readouterr().out
    page.write_text("# Title\n\nhapped restores the governor.\n", encoding="utf-8")
    assert (main([str(page)]), capsys.readouterr().out) == (0, "")


def test_a_planted_sentence_of_a_template_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        "<p>{{ a }}\n{{ a }} {# anew #}</p>\n<p>The run <strong>is said</strong> to end.</p>\n", encoding="utf-8"
    )
    assert main([str(page)]) == 1
    assert capsys.readouterr().out.startswith(f"{page}:3: say: ")


PYTHON = '''# A comment: made anew.
"""A docstring,
of which one line is made anew."""

name = "anew"  # `anew` is code


@command
def greet(who):
    """Print anew what {this} says."""
    raise Failure(f"{who} is made "
                  "anew")
'''
CPP = """// A comment in two lines that is made
// anew.
say(tr("This window is "
       "made anew."));  /* and anew, too */
const char mark = '"';  // not a text
auto text = R"(raw, anew again)" "url://anew";
"""


def test_comments_docstrings_and_messages_of_sources_are_read() -> None:
    def lines(name: str, source: str) -> list[int]:
        return [line for line, what in faults_of_source(name, source) if what.startswith("anew: ")]

    assert lines("a.py", PYTHON) == [1, 2, 10, 11]
    assert lines("a.cpp", CPP) == [1, 3, 4, 6]
    messages = [plain(each.text) for each in passages("a.py", PYTHON) if each.is_message]
    assert messages == ["Print anew what code says.", "code is made anew"]


def test_each_rule_for_sources_finds_its_example_in_a_comment(subtests: pytest.Subtests) -> None:
    assert {rule["name"] for rule, _pattern in source_rules()} >= {"tell", "whose", "rare-verb", "give-back", "must"}
    for rule, _pattern in source_rules():
        with subtests.test(rule["name"]):
            assert rule["name"] in str(list(faults_of_source("a.h", f"// One. {rule['example']}\n")))
            assert list(faults_of_source("a.h", f"// One. {rule['better']}\n")) == []


def test_each_rule_of_german_finds_its_example_and_takes_the_better_sentence(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    def found(german: str) -> list[str]:
        file = tmp_path / "happe_de.ts"
        file.write_text(f"<source>x</source>\n<translation>{german}</translation>\n", encoding="utf-8")
        return [f"{line} {what.partition(':')[0]}" for line, what in faults_of_german(str(file))]

    for rule in RULES["german"]:
        with subtests.test(rule["name"]):
            assert f"2 {rule['name']}" in found(rule["example"])
            assert found(rule["better"]) == []
    assert found("Wort " * 22 + ".") == ["2 langer-satz"]
    assert found("<numerusform>eine Minute</numerusform><numerusform>%n Minuten</numerusform>") == []


def test_a_planted_comment_fails_and_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "source.cpp"
    source.write_text("int main() {}\n// happed is told twice.\n", encoding="utf-8")
    assert main([str(source)]) == 1
    assert capsys.readouterr().out.startswith(f"{source}:2: tell: ")


def test_code_cells_and_items_are_read_each_in_its_way() -> None:
    assert found("`anew`\n\n    anew\n\n```text\nanew\n```\n") == []
    assert found("| a | b |\n| --- | --- |\n| 1 | told anew |\n") == [(3, "anew")]
    assert found("- one\n- two,\n  made anew\n") == [(3, "anew")]
    assert found("It is in the the house.\n") == [(1, "lexical_illusions")]


def test_a_long_sentence_is_found() -> None:
    at_most = " ".join(chr(ord("a") + at % 26) + "t" * (at // 26) for at in range(RULES["most_words"]))
    short = "A cat. " * 40  # keeps the grade low
    assert found(f"{short}\n{at_most}. {at_most}.\n") == []
    assert found(f"{short}\n{at_most} more.\n") == [(2, "long-sentence")]


def test_a_page_for_professors_is_above_the_grade() -> None:
    sentence = "Institutional considerations necessitate interdisciplinary characterisation."
    assert found(f"{sentence}\n") == [(1, "grade")]
    assert grade(["The cat sat on the mat"]) == pytest.approx(0.39 * 6 + 11.8 - 15.59)


@pytest.mark.parametrize(
    ("word", "count"),
    [("made", 1), ("table", 2), ("noted", 2), ("mixed", 1), ("file", 1), ("frequency", 3), ("governor", 3), ("the", 1)],
)
def test_syllables(word: str, count: int) -> None:
    assert syllables(word) == count
