# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks what the experimenter can see after the last run and before unblinding: everything except the conditions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from laboratory.server import EXPERIMENTER, PASSWORD, STUDY
from t61 import visits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from laboratory.server import StudyServer

OWN_PASSWORD = "another horse battery"  # noqa: S105 - of nobody
CONDITIONS = ("-HAPPE", "ondemand", "sham")
HIDDEN = ("rating", "guess", "condition")
OF_THE_PROTOCOL = ("-study", "-dictionary")  # tables of an export that may name conditions, even to the blinded
API = f"/api/v1/studies/{STUDY}"


def complaints(server: StudyServer, participants: Sequence[str], folder: Path) -> list[str]:
    """Return texts that reveal a condition, and runs that the experimenter sees wrongly. `folder` is for an export."""
    visitor = visits.first_sign_in(server.url, EXPERIMENTER, PASSWORD, OWN_PASSWORD)
    token = server.run("user", "token", EXPERIMENTER).strip()
    pages = ["", "/participants", "/devices", *(f"/participants/{code}" for code in participants)]
    seen = {f"the page {page or 'of the study'}": visitor.sees(f"/studies/{STUDY}{page}") for page in pages}
    answers = {path: visits.asked(server.url, f"{API}{path}", token) for path in ("/runs", "/participants", "/devices")}
    seen |= {f"the API's {path}": answer for path, answer in answers.items()}
    seen |= {"study status": server.run("study", "status", STUDY), "the export": exported(server, folder)}
    told = [
        f"{what} tells {word} before unblinding" for what, text in seen.items() for word in CONDITIONS if word in text
    ]
    sizes = server.record_sizes()
    told += [f"the sealed records of runs of one length have the sizes {sizes}"] * (len(sizes) != 1)
    return [*told, *of_runs(answers["/runs"], participants)]


def of_runs(answer: str, participants: Sequence[str]) -> Iterator[str]:
    """Check the API's list of runs: these people's runs must be complete."""
    for run in json.loads(answer)["runs"]:
        if run["state"] != "complete" and run["participant"] in participants:
            yield f"the experimenter sees that run {run['code']} is {run['state']}"
        yield from (f"she sees the {name} of run {run['code']}" for name in HIDDEN if run[name] is not None)


def exported(server: StudyServer, folder: Path) -> str:
    """Return all that the experimenter can export now, as one text."""
    server.run("study", "export", STUDY, "--out", str(folder))
    files = [path for path in folder.iterdir() if not path.stem.endswith(OF_THE_PROTOCOL)]
    return "\n".join(path.read_text() for path in files)
