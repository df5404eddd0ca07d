# SPDX-License-Identifier: GPL-2.0-or-later
"""The study server of the emulated laboratory, run as its operator would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import study_server
from study_server import ADMINISTRATOR, PASSWORD

PROTOCOL = Path(__file__).with_name("protocol.toml")
STUDY = "laboratory"
INVESTIGATOR, EXPERIMENTER = "ines@example.org", "eve@example.org"

Json = dict[str, Any]

__all__ = ["ADMINISTRATOR", "EXPERIMENTER", "INVESTIGATOR", "PASSWORD", "STUDY", "Json", "StudyServer"]


class StudyServer(study_server.StudyServer):
    """A server in a new folder, with the study locked in it."""

    def __init__(self, folder: Path) -> None:
        """Make it. Ana administrates and holds the custody, Ines investigates, Eve experiments."""
        folder.mkdir()
        super().__init__(folder, PROTOCOL, STUDY)
        self.run("user", "grant", ADMINISTRATOR, "custodian", "--study", STUDY)
        for email, role in ((EXPERIMENTER, "experimenter"), (INVESTIGATOR, "investigator")):
            self.run("user", "add", email, "--password-file", str(folder / "password"))
            self.run("user", "grant", email, role, "--study", STUDY)
        self.run("study", "lock", STUDY, "--yes")
