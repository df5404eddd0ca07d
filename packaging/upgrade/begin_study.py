# SPDX-License-Identifier: GPL-2.0-or-later
"""Begins a study with the programs and the demonstration of HAPPE 0.1.0. One of two participants plays all runs.

usage: begin_study.py FOLDER    with 0.1.0's Python and its packaging/demo on the path

Afterwards FOLDER/data has the server's data, and FOLDER/facts.json has what 0.1.0 reports about it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from happe_demo.children import end_all
from happe_demo.demonstration import Demonstration
from happe_demo.laboratory import Laboratory
from happe_demo.office import STUDY, person_of
from happe_demo.screen import Step

PARTICIPANTS, SEED = 2, 1


def begin(demo: Demonstration) -> dict[str, object]:
    """Play a part of the study. Return 0.1.0's report about it, and the custodian's account."""
    demo._begin()
    demo._office.employ(demo.people, demo.url)
    demo._lock()
    demo._equip()
    with Step("participants agree", PARTICIPANTS) as step:
        visits = demo._invite(step)
    with Step("one of them plays", demo._runs) as step:
        Laboratory(demo.time, demo.rigs[:1], lambda done: step.done(done, "")).hold(visits[:1])
    with Step("its power trace arrives", 1) as step:
        demo._await_traces(step)
    demo._office("study", "export", STUDY, "--out", demo.folder / "export")
    custodian = person_of(demo.people, "custodian")
    return {
        "study": STUDY,
        "status": demo._office.json("study", "status", STUDY),
        "audit": demo._office("audit", "verify"),
        "custodian": custodian.email,
        "password": custodian.password,
        "links": [each["link"] for each in demo._links],
    }


def main() -> None:
    """Begin the study in a new folder, and end all processes."""
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(mode=0o700, parents=True)
    try:
        facts = begin(Demonstration(folder, PARTICIPANTS, SEED))
    finally:
        end_all(folder)
    (folder / "facts.json").write_text(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
