# SPDX-License-Identifier: GPL-2.0-or-later
"""C++ with many mutants in one build. A condition around an expression turns each on by the environment.

`HAPPE_MUTANT=12 build/mutants/cmake/bin/loop_test` runs the tests of the loop with mutant 12 alone. Values that the
compiler computes itself (constants, static assertions) have no mutants.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

from mutation import Mutation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

SWITCH = """#pragma once
#include <cstdlib>
#include <type_traits>
inline const int happe_mutant = std::getenv("HAPPE_MUTANT") ? std::atoi(std::getenv("HAPPE_MUTANT")) : 0;
constexpr bool happe_mutated(int number) { return !std::is_constant_evaluated() && number == happe_mutant; }
"""
OTHER = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "&&": "||", "||": "&&", "+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+=",
}  # fmt: skip
OTHER_NAME = {"min": "max", "max": "min", "true": "false", "false": "true"}
NO_PLACE = {"template_argument_list", "static_assert_declaration", "array_declarator", "attribute_declaration"}
PARSER = Parser(Language(tree_sitter_cpp.language()))

Place = tuple[int, int]  # first byte, byte after the last


def mutations(path: Path, name: str) -> Iterator[Mutation]:
    """Return all mutations of a file's functions, in the file's order."""
    content = path.read_bytes()
    for node in _walk(PARSER.parse(content).root_node):
        if _in_function(node) and (after := _mutated(node)) is not None:
            yield Mutation(name, node.start_byte, node.end_byte, node.start_point[0] + 1, _text(node), after)


def woven(content: bytes, chosen: Mapping[int, Mutation]) -> str:
    """Return a file's text with mutations in it. HAPPE_MUTANT turns one on by its number.

    Each mutated text has lines of its own, so that a compiler's error leads to it (`numbers_at`).
    """
    at: dict[Place, list[int]] = {}
    for number, mutation in chosen.items():
        at.setdefault((mutation.begin, mutation.end), []).append(number)

    def text(node: Node) -> str:
        out = _joined(node, content, text)
        if _mutated(node) is not None:
            for number in at.get((node.start_byte, node.end_byte), []):
                out = _switched(node, number, out, _with_children(node, content, text))
        return out

    return '#include "happe_mutant.h"\n' + text(PARSER.parse(content).root_node)


def numbers_at(text: str, line: int) -> list[int]:
    """Return the mutant of a line in which the compiler finds an error: the last one in `woven`'s text up to there."""
    named = re.findall(r"happe_mutated\((\d+)\)", "\n".join(text.splitlines()[:line]))
    return [int(named[-1])] if named else []


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


def _in_function(node: Node) -> bool:
    """Say whether a node is in a function's body, but no constant, no type's argument and no case's label."""
    inside = False
    above = node.parent
    while above is not None:
        if above.type in NO_PLACE:
            return False
        if above.type == "case_statement" and above.child_by_field_name("value") == node:
            return False
        if above.type == "declaration" and _text(above).startswith(("constexpr", "static constexpr")):
            return False
        if above.type == "compound_statement":
            inside = True
        above = above.parent
    return inside


def _mutated(node: Node) -> str | None:
    """Return the short form of a node's mutation: an operator, a name, a number; "" leaves a statement out."""
    text, after = _text(node), None
    match node.type:
        case "binary_expression" | "assignment_expression":
            after = OTHER.get(_text(node.child_by_field_name("operator")))
        case "unary_expression" if text.startswith("!"):
            after = "not"
        case "true" | "false":
            after = OTHER_NAME[text]
        case "number_literal" if re.fullmatch(r"[0-9]+U?", text):
            after = f"{text} + 1"
        case "expression_statement" if node.named_child_count == 1 and _drops(node.named_children[0]):
            after = ""
        case "qualified_identifier" if text in {"std::min", "std::max"} and _is_called(node):
            after = OTHER_NAME[text.removeprefix("std::")]
    return after


def _drops(expression: Node) -> bool:
    return expression.type in {"call_expression", "update_expression"} or (
        expression.type == "assignment_expression" and _text(expression.child_by_field_name("operator")) == "="
    )


def _is_called(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "call_expression"


def _text(node: Node | None) -> str:
    return node.text.decode() if node is not None and node.text is not None else ""


def _joined(node: Node, content: bytes, text: Callable[[Node], str]) -> str:
    if not node.children:
        return content[node.start_byte : node.end_byte].decode()
    out, at = [], node.start_byte
    for child in node.children:
        out += [content[at : child.start_byte].decode(), text(child)]
        at = child.end_byte
    return "".join([*out, content[at : node.end_byte].decode()])


def _with_children(node: Node, content: bytes, text: Callable[[Node], str]) -> str:
    """Return the mutated text of a node. Its parts have mutants of their own."""
    if node.type in {"binary_expression", "assignment_expression"}:
        operator = node.child_by_field_name("operator")
        return _joined(node, content, lambda child: OTHER[_text(child)] if child == operator else text(child))
    if node.type == "unary_expression":
        return _joined(node, content, lambda child: "" if child.type == "!" else text(child))
    return str(_mutated(node))


def _switched(node: Node, number: int, as_it_is: str, mutated: str) -> str:
    if node.type == "expression_statement":
        return f"if (!happe_mutated({number})) {{\n{as_it_is}\n}}"
    if node.type == "qualified_identifier":
        call = f"happe_mutated({number}) ?\n std::{mutated}(a, b)\n : {as_it_is}(a, b)"
        return f"[](const auto& a, const auto& b) {{ return {call}; }}"
    return f"(happe_mutated({number}) ?\n({mutated})\n: ({as_it_is}))"
