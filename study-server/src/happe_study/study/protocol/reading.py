# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading a study's protocol from its TOML file. The error lists all mistakes at once, with line numbers."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path as File

from pydantic import TypeAdapter, ValidationError

from happe_contract import toml_lines
from happe_contract.toml_lines import Path
from happe_study.study.protocol.complaints import of_fields
from happe_study.study.protocol.conditions import Condition, Phase, Scheme
from happe_study.study.protocol.consistency import contradictions
from happe_study.study.protocol.sections import (
    Application,
    Arrangement,
    GuessChoice,
    Item,
    ItemKind,
    Nesting,
    Ondemand,
    Protocol,
)
from happe_study.study.protocol.texts import paragraphs

__all__ = [
    "Application", "Arrangement", "Condition", "GuessChoice", "Item", "ItemKind", "Mistake", "Nesting", "Ondemand",
    "Phase", "Protocol", "ProtocolError", "Scheme", "paragraphs", "read_protocol",
]  # fmt: skip

MOST_BYTES = 256 * 1024
MOST_MISTAKES = 100
EXAMPLES = {file.stem: file for file in sorted((File(__file__).parent / "examples").glob("*.toml"))}  # by name

_PROTOCOL = TypeAdapter(Protocol)


@dataclass(frozen=True, order=True)
class Mistake:
    """A mistake in a protocol: its line, from 1; its dotted field, or "" for the file; and a message."""

    line: int
    field: str
    message: str

    def __str__(self) -> str:
        """In the form `LINE: FIELD: MESSAGE`."""
        return f"{self.line}: {self.field}: {self.message}" if self.field else f"{self.line}: {self.message}"


class ProtocolError(Exception):
    """The protocol cannot be used. `mistakes` has at most 100, in the order of their lines."""

    def __init__(self, file: str, mistakes: Iterable[Mistake]) -> None:
        """Make the message: `FILE:LINE: FIELD: MESSAGE`, a line for each mistake."""
        every = sorted(mistakes)
        self.file = file
        self.mistakes = tuple(every[:MOST_MISTAKES])
        more = [f"{file}: and more"] if len(every) > MOST_MISTAKES else []
        super().__init__("\n".join([f"{file}:{mistake}" for mistake in self.mistakes] + more))


def read_protocol(content: bytes, file: str = "protocol.toml") -> Protocol:
    """Read a protocol. Raises ProtocolError if anything is wrong with it; `file` is its name for messages.

    It first reports fields that are wrong by themselves. Only if there are none it checks whether fields fit together.
    """
    document = _document(content, file)
    try:
        protocol = _PROTOCOL.validate_python(document.data)
    except ValidationError as error:
        wrong = of_fields(error.errors(include_url=False)[: 10 * MOST_MISTAKES])
        raise ProtocolError(file, _placed(document, wrong)) from None
    if mistakes := _placed(document, contradictions(protocol, document.data)):
        raise ProtocolError(file, mistakes)
    return protocol


def _document(content: bytes, file: str) -> toml_lines.Document:
    if len(content) > MOST_BYTES:
        raise ProtocolError(file, [Mistake(1, "", f"has {len(content)} bytes, may have at most {MOST_BYTES}")])
    try:
        return toml_lines.read(content)
    except toml_lines.TomlError as error:
        raise ProtocolError(file, [Mistake(error.line, "", error.message)]) from None


def _placed(document: toml_lines.Document, wrong: Iterable[tuple[Path, str]]) -> list[Mistake]:
    return [Mistake(document.line(path), dotted(path), message) for path, message in wrong]


def dotted(path: Path) -> str:
    """A path as people write it, list items counted from 1: `application[2].seconds`."""
    text = ""
    for part in path:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{toml_lines.shown(part)}"
    return text.removeprefix(".")
