# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-power.toml: where the spool and the server are, and the defaults of `record`. docs/power-logger.md, Options."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from happe_contract import toml_lines
from happe_contract.toml_lines import TomlError

DEFAULT = Path("/etc/happe/happe-power.toml")
VARIABLE = "HAPPE_POWER_CONFIG"
FOLDER = Path("/var/lib/happe-power")
UNTIL_MEASURED, UNTIL_SEALED, ALWAYS = KEEPS = "until-measured", "until-sealed", "always"
MOST_BYTES = 64 * 1024
RECORD = "record"
PATHS = ("ca_file", "state", "spool")


class ConfigError(Exception):
    """The configuration can't be used. Each line of the message is FILE:LINE: FIELD: what is wrong."""


@dataclass(frozen=True)
class Config:
    """The program's settings. Paths in the file are relative to its folder.

    `server` is the study server's address. `ca_file` has certificates of authorities to trust instead of the system's.
    `plain_http` allows a server beyond loopback without TLS. `keep` is how long the parts of a sealed trace stay.
    `record` has defaults for options of `happe-power record`.
    """

    server: str | None = None
    ca_file: Path | None = None
    plain_http: bool = False
    state: Path = FOLDER
    spool: Path = FOLDER / "spool"
    keep: str = UNTIL_MEASURED
    record: dict[str, Any] = field(default_factory=dict)
    path: Path = DEFAULT
    document: toml_lines.Document = field(default_factory=lambda: toml_lines.Document({}))  # for messages' lines

    def wrong(self, name: str, message: str) -> ConfigError:
        """An error about a field."""
        return ConfigError(_said(self.path, self.document, name, message))


KNOWN = [each.name for each in fields(Config) if each.name not in ("path", "document")]


def load(path: Path, *, named: bool) -> Config:
    """The configuration in a file. Only a `named` file must exist. Raises ConfigError."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        if not named:
            return Config(path=path)
        raise ConfigError(f"{path}: no such configuration; --config or {VARIABLE} names another") from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    if len(raw) > MOST_BYTES:
        raise ConfigError(f"{path}: is longer than {MOST_BYTES} bytes")
    return parse(raw, path)


def parse(raw: bytes, path: Path) -> Config:
    """The configuration in a file's bytes. Raises ConfigError, which reports all mistakes at once."""
    try:
        document = toml_lines.read(raw)
    except TomlError as error:
        raise ConfigError(f"{path}:{error.line}: {error.message}") from None
    said = document.data
    wrong = [_said(path, document, name, message) for name, value in said.items() if (message := _fault(name, value))]
    if wrong:
        raise ConfigError("\n".join(wrong))
    made = {name: path.parent / value if name in PATHS else value for name, value in said.items()}
    if "state" in made:
        made.setdefault("spool", made["state"] / "spool")
    return Config(**made, path=path, document=document)


def _fault(name: str, value: object) -> str | None:
    """The error in a field, or None."""
    if name not in KNOWN:
        close = difflib.get_close_matches(name, KNOWN, 1)
        return f"unknown; did you mean {close[0]}?" if close else f"unknown; there are {', '.join(KNOWN)}"
    if name == "plain_http":
        return None if isinstance(value, bool) else "must be true or false"
    if name == RECORD:
        return None if isinstance(value, dict) else "must be a table, [record]"
    if name == "keep":
        return None if value in KEEPS else f"must be one of {', '.join(KEEPS)}"
    return None if isinstance(value, str) and value else "must be a text"


def _said(path: Path, document: toml_lines.Document, name: str, message: str) -> str:
    keys = tuple(name.split("."))
    at = document.lines.get(keys) or document.lines.get(keys[:-1])
    return f"{path}:{f'{at}:' if at else ''} {name}: {message}"
