# SPDX-License-Identifier: GPL-2.0-or-later
"""The value of the option --source: a TOML file whose table names a source."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from happe_contract import toml_lines
from happe_power import sources

if TYPE_CHECKING:
    from happe_contract.toml_lines import Document


class SourceFile(click.ParamType[sources.Spec]):
    """A file with the table of a source; also a table of the configuration that was already checked."""

    name = "file"

    def convert(self, value: Any, _parameter: click.Parameter | None, _context: click.Context | None) -> sources.Spec:  # noqa: ANN401 - click's
        """The checked table. Raises SpecError, OSError."""
        return value if isinstance(value, sources.Spec) else read(Path(value))


def read(path: Path) -> sources.Spec:
    """The source that a file names. Raises SpecError, which names the line, and OSError."""
    try:
        document = toml_lines.read(path.read_bytes())
    except toml_lines.TomlError as error:
        raise sources.SpecError(f"{path}:{error.line}: {error.message}") from None
    return sources.named(document.data, lambda name, why: _said(path, document, name, why))


def _said(path: Path, document: Document, name: str, why: str) -> str:
    return f"{path}:{document.line((name,))}: {name}: {why}"
