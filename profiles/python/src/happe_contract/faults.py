# SPDX-License-Identifier: GPL-2.0-or-later
"""The faults of a document: where and what. A message repeats little of the input."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

MOST_FAULTS = 20
MOST_QUOTED = 60  # characters of input that a message repeats, before escaping


@dataclass(frozen=True)
class Fault:
    """One fault. `pointer` is a JSON pointer (RFC 6901) into the document, "" for the whole document."""

    pointer: str
    detail: str


class BadDocumentError(Exception):
    """A document breaks its contract. Has 1 to 20 faults, the first ones found."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        """Keep the first 20 of `faults`."""
        self.faults = tuple(islice(faults, MOST_FAULTS))
        super().__init__("; ".join(f"{each.pointer}: {each.detail}".removeprefix(": ") for each in self.faults))


def refuse_if_any(faults: Iterable[Fault]) -> None:
    """Raise BadDocumentError if there is a fault. Reads at most 20 faults."""
    found = tuple(islice(faults, MOST_FAULTS))
    if found:
        raise BadDocumentError(found)


def pointer(path: Iterable[str | int]) -> str:
    """The JSON pointer to a path of names and array positions."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def quoted(text: str) -> str:
    """Prepare a piece of input for a message: cut short, in quotes, with controls and lone surrogates escaped."""
    short = text if len(text) <= MOST_QUOTED else text[: MOST_QUOTED - 1] + "…"
    return json.dumps(short, ensure_ascii=not short.isprintable())
