# SPDX-License-Identifier: GPL-2.0-or-later
"""S3 stores as processes: moto, which loses its objects at its end, and versitygw, which keeps them in a folder."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Self

from happe_demo.ports import reserved_port
from patience import PATIENCE_S, until

KEY, SECRET = "HAPPETESTS", "the tests' own secret"


class Store:
    """A store on a port of loopback. Tests may kill it and start it again."""

    keeps = False  # whether objects outlive the store

    def __init__(self, folder: Path, command: Sequence[str | Path], variables: Mapping[str, str] | None = None) -> None:
        """Start nothing yet. `{port}` in the command is the port."""
        self.port, self._log = reserved_port(), folder / "store.log"
        self._command = [str(each).format(port=self.port) for each in command]
        self._variables = {"PATH": os.environ["PATH"], **(variables or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self.credentials = folder / "credentials"
        self.credentials.touch(0o600)
        self.credentials.write_text(f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")

    def start(self) -> None:
        """Start the store, and wait until it answers."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, env=self._variables)
        process = self._process
        until(lambda: process.poll() is not None or self.put("/") is not None, "an answer of the store")
        assert process.poll() is None, self._log.read_text()

    def kill(self) -> None:
        """Kill the store."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(PATIENCE_S)

    def put(self, path: str, body: str = "") -> int | None:
        """PUT without a signature, which moto does not need. Returns the status; None: nobody answers."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request("PUT", path, body)
            return connection.getresponse().status
        except (OSError, HTTPException):
            return None
        finally:
            connection.close()

    def make_bucket(self, name: str) -> None:
        """Make a bucket, which must not be there."""
        raise NotImplementedError

    def settings(self, bucket: str) -> dict[str, str]:
        """The section [s3] of a server's configuration."""
        address = f"http://127.0.0.1:{self.port}"
        return {"bucket": bucket, "endpoint": address, "credentials_file": str(self.credentials)}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.kill()


class Moto(Store):
    """moto's S3, in memory."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "{port}"])

    def make_bucket(self, name: str, *, versions: bool = False) -> None:
        """Make a bucket, which must not be there."""
        assert self.put(f"/{name}") == HTTPStatus.OK
        if versions:
            body = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
            assert self.put(f"/{name}?versioning", body) == HTTPStatus.OK


class Versity(Store):
    """versitygw with its own folder, which outlives it."""

    keeps = True

    def __init__(self, folder: Path, program: Path) -> None:
        self._root = folder / "store"
        self._root.mkdir()
        command: list[str | Path] = [program, "--port", "127.0.0.1:{port}", "--quiet", "posix", self._root]
        super().__init__(folder, command, {"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET})

    def make_bucket(self, name: str) -> None:
        """Make a bucket, which must not be there."""
        (self._root / name).mkdir()
