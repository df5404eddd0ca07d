# SPDX-License-Identifier: GPL-2.0-or-later
"""The study server of the emulated laboratory, run as its operator would: commands, a process, a port of loopback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from happe_demo.ports import reserved_port
from image import HERE
from patience import until

ROOT = HERE.parents[1]
PROTOCOL = Path(__file__).with_name("protocol.toml")
STUDY = "laboratory"
ADMINISTRATOR, INVESTIGATOR, EXPERIMENTER = "ana@example.org", "ines@example.org", "eve@example.org"
PASSWORD = "correct horse battery"  # noqa: S105 - of nobody
PATIENCE_S = 120
ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(ROOT / "study-server/src")}
Json = dict[str, Any]


class StudyServer:
    """A server in a folder, with the study locked in it. Start it, and close it."""

    def __init__(self, folder: Path) -> None:
        """Make it. Ana administrates and holds the custody, Ines investigates, Eve experiments."""
        folder.mkdir()
        self.folder = folder
        self.port = reserved_port()
        self.url = f"http://127.0.0.1:{self.port}"
        (folder / "password").write_text(PASSWORD + "\n")
        who = ("--administrator", ADMINISTRATOR, "--password-file", str(folder / "password"))
        self.run("init", "--data", str(folder / "data"), "--listen", f"127.0.0.1:{self.port}", *who)
        config = folder / "server.toml"
        config.write_text('metrics_listen = "off"\nworkers = 1\n' + config.read_text())
        self.run("study", "create", str(PROTOCOL))
        self.run("user", "grant", ADMINISTRATOR, "custodian", "--study", STUDY)
        for email, role in ((EXPERIMENTER, "experimenter"), (INVESTIGATOR, "investigator")):
            self.run("user", "add", email, "--password-file", str(folder / "password"))
            self.run("user", "grant", email, role, "--study", STUDY)
        self.run("study", "lock", STUDY, "--yes")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Serve; it listens when this returns."""
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                self._command("run"), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=ENVIRONMENT
            )
        process = self._process
        until(lambda: self._listens() or process.poll() is not None, "the server listens")
        if process.poll() is not None:
            sys.exit("laboratory: the server does not listen\n" + (self.folder / "log").read_text())

    def run(self, *words: str, typed: str = "") -> str:
        """What a command prints, which must succeed."""
        ran = subprocess.run(
            self._command(*words), input=typed, capture_output=True, text=True, check=False,
            timeout=PATIENCE_S, env=ENVIRONMENT,
        )  # fmt: skip
        if ran.returncode:
            sys.exit(f"laboratory: happe-server {' '.join(words)}: {ran.returncode}\n{ran.stdout}{ran.stderr}")
        return ran.stdout

    def json(self, *words: str, typed: str = "") -> Any:  # noqa: ANN401 - JSON
        """What it prints with --json."""
        return json.loads(self.run(*words, "--json", typed=typed))

    def close(self) -> None:
        """End it, if it runs."""
        if self._process:
            self._process.terminate()
            self._process.wait(PATIENCE_S)

    def _command(self, *words: str) -> list[str]:
        code = "from happe_study.cli import main; main()"
        return [sys.executable, "-c", code, "--config", str(self.folder / "server.toml"), *words]

    def _listens(self) -> bool:
        with suppress(OSError), closing(socket.create_connection(("127.0.0.1", self.port), timeout=5)):
            return True
        return False
