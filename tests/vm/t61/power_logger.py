# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-power in the guest: recordings and their files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PACKAGES = Path(__file__).resolve().parents[1] / "power"
sys.path.insert(0, str(PACKAGES))  # numpy and pyarrow, to look into traces with
PROGRAM = [sys.executable, "-B", "-m", "happe_power"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PACKAGES)}
STUDY = "in-the-guest"


def begin(source: str, spool: Path, seconds: float) -> subprocess.Popen[str]:
    """Start a recording from a source, a TOML table. It has begun a trace when it prints its first line."""
    file = spool / "source.toml"
    file.write_text(source)
    words = ["record", "--source", str(file), "--study", STUDY, "--spool", str(spool), "--duration", f"{seconds:g}s"]
    options = ["--no-upload", "--no-zero-check", "--json"]
    return subprocess.Popen([*PROGRAM, *words, *options], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)


def record(source: str, spool: Path, seconds: float) -> Kept:
    """Record for this number of seconds."""
    with begin(source, spool, seconds) as process:
        output = process.communicate()[0]
    assert process.returncode == 0, output  # noqa: S101 - a helper of tests
    return kept(spool)


@dataclass(frozen=True)
class Kept:
    """The one trace in a spool."""

    folder: Path

    @property
    def header(self) -> Any:  # noqa: ANN401 - JSON
        """header.json."""
        return json.loads((self.folder / "header.json").read_text())

    @property
    def manifest(self) -> Any:  # noqa: ANN401 - JSON
        """manifest.json."""
        return json.loads((self.folder / "manifest.json").read_text())

    def column(self, name: str) -> NDArray[np.generic]:
        """Read all rows of a channel with pyarrow, without happe_power."""
        import numpy as np  # noqa: PLC0415 - slow to import here
        from pyarrow import parquet  # noqa: PLC0415 - the same

        parts = sorted((self.folder / "parts").glob("*.parquet"))
        return np.concatenate([parquet.read_table(part, columns=[name])[name].to_numpy() for part in parts])

    def unexplained(self) -> int:
        """Count the indices that are neither a row nor in a gap, by the manifest alone."""
        manifest = self.manifest
        lost = sum(gap["to_index"] - gap["from_index"] for gap in manifest["gaps"])
        indices: int = manifest["end_index"] - self.header["started"]["index"]
        return indices - int(manifest["samples"]) - int(lost)


def kept(spool: Path) -> Kept:
    """Return the one trace in a spool. happe-power must find it good."""
    [folder] = (spool / STUDY).iterdir()
    verified = subprocess.run([*PROGRAM, "verify", "--json", folder], check=True, env=ENVIRONMENT, capture_output=True)
    [verdict] = json.loads(verified.stdout)
    assert verdict["good"], verdict  # noqa: S101 - a helper of tests
    return Kept(folder)
