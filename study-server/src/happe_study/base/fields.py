# SPDX-License-Identifier: GPL-2.0-or-later
"""Field types that requests and answers of several domains share."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from happe_study.base.codes import CODE_PATTERN

# C0, DEL, C1, line separators and marks of text direction: with one of these, a name can look like another name.
_CONTROL = r"\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff"
PRINTABLE = rf"[^{_CONTROL}]"

Code = Annotated[str, Field(pattern=CODE_PATTERN)]
BINARY = {"schema": {"type": "string", "format": "binary"}}  # of an answer that is a file
LONGEST_REASON = 500
Reason = Annotated[
    str, Field(min_length=1, max_length=LONGEST_REASON, pattern=rf"^{PRINTABLE}*[^\s{_CONTROL}]{PRINTABLE}*$")
]


class Closed(BaseModel):
    """The base of all inputs: no unknown fields. Values may be text, as in a query."""

    model_config = ConfigDict(extra="forbid")


class Strict(Closed):
    """The base of inputs without guessed types."""

    model_config = ConfigDict(strict=True)
