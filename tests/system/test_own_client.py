# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/how-to/own-client.md's program, as a researcher runs it, against a real study server."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from patience import PATIENCE_S
from program import ROOT
from study_wizard import Server, application

[EXAMPLE] = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "docs/how-to/own-client.md").read_text(), re.MULTILINE | re.DOTALL
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server that runs."""
    server = Server(tmp_path / "server")
    server.start()
    yield server
    server.close()


def test_the_client_of_the_guide_plays_a_sitting(server: Server, tmp_path: Path) -> None:
    # given
    study = server.study("levels", application("torcs", "Torcs", tmp_path), order="levels = 2")
    client = tmp_path / "client.py"
    client.write_text(EXAMPLE)
    link, code = server.participant(study), server.laptop(study)
    command = [sys.executable, str(client), server.url, code, link]
    typed = "\n4\ndont-know\n\nsix\n2\ndont-know\n"
    # when
    ran = subprocess.run(command, input=typed, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    again = subprocess.run(command, input=typed, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    # then
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("This is not one of the answers.") == 1
    assert [(run.rating, run.guess) for run in server.runs()] == [(4, "dont-know"), (2, "dont-know")]
    assert again.returncode == 1
    assert again.stderr.startswith("POST devices/enrol: "), "a code works once"
