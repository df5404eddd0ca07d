# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-power.toml: where the spool and the server are, and the defaults of `record`. docs/power-logger.md, Options."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from happe_contract.faults import Fault
from happe_power.toml_files import TEXT, TomlFile, TomlFileError, meant

DEFAULT = Path("/etc/happe/happe-power.toml")
VARIABLE = "HAPPE_POWER_CONFIG"
FOLDER = Path("/var/lib/happe-power")
UNTIL_MEASURED, UNTIL_SEALED, ALWAYS = KEEPS = "until-measured", "until-sealed", "always"
RECORD = "record"
PATHS = ("ca_file", "state", "spool")
FIELDS = {
    "server": TEXT,
    "ca_file": TEXT,
    "plain_http": {"type": "boolean"},
    "state": TEXT,
    "spool": TEXT,
    "keep": {"enum": list(KEEPS)},
    RECORD: {"type": "object", "properties": {"source": {"type": "object"}}},
}


@dataclass(frozen=True)
class Config:
    """The program's settings. Paths in the file are relative to its folder.

    `server` is the study server's address. `ca_file` has certificates of authorities to trust instead of the system's.
    `plain_http` allows a server beyond loopback without TLS. `keep` is how long the parts of a sealed trace stay.
    `record` has defaults for options of `happe-power record`.
    """

    file: TomlFile = field(compare=False)  # for messages
    server: str | None = None
    ca_file: Path | None = None
    plain_http: bool = False
    state: Path = FOLDER
    spool: Path = FOLDER / "spool"
    keep: str = UNTIL_MEASURED
    record: dict[str, Any] = field(default_factory=dict)

    def wrong(self, name: str, message: str) -> TomlFileError:
        """An error about a field."""
        return TomlFileError(self.file.said(name, message))


def load(path: Path, *, named: bool) -> Config:
    """The configuration in a file. Only a `named` file must exist. Raises TomlFileError, OSError."""
    try:
        return parse(path.read_bytes(), path)
    except FileNotFoundError:
        if not named:
            return parse(b"", path)
        raise TomlFileError(f"{path}: no such configuration; --config or {VARIABLE} names another") from None


def parse(raw: bytes, path: Path) -> Config:
    """The configuration in a file's bytes. Raises TomlFileError, which reports all mistakes at once."""
    from happe_contract import schemas  # noqa: PLC0415 - help needs no schemas

    file = TomlFile(raw, str(path))
    file.refuse_if_any(Fault(f"/{name}", f"unknown{meant(name, FIELDS)}") for name in file.data if name not in FIELDS)
    file.refuse_if_any(schemas.faults({"properties": FIELDS}, file.data))
    made = {name: path.parent / value if name in PATHS else value for name, value in file.data.items()}
    if "state" in made:
        made.setdefault("spool", made["state"] / "spool")
    return Config(file, **made)
