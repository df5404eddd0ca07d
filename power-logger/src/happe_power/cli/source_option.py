# SPDX-License-Identifier: GPL-2.0-or-later
"""The value of the option --source: a TOML file whose table names a source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from happe_power import sources
from happe_power.toml_files import TomlFile, TomlFileError


class SourceFile(click.ParamType[sources.Spec]):
    """A file with the table of a source; also a table of the configuration that was already checked."""

    name = "file"

    def convert(self, value: Any, _parameter: click.Parameter | None, _context: click.Context | None) -> sources.Spec:  # noqa: ANN401 - click's
        """The checked table. Raises SpecError, OSError."""
        return value if isinstance(value, sources.Spec) else read(Path(value))


def read(path: Path) -> sources.Spec:
    """The source that a file names. Raises SpecError, which names the line, and OSError."""
    try:
        file = TomlFile(path.read_bytes(), str(path))
    except TomlFileError as error:
        raise sources.SpecError(str(error)) from None
    return sources.named(file.data, file.said)
