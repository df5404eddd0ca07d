# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a study in the emulated laboratory, from the protocol to its figures (docs/laboratory.md).

usage: python -m laboratory --root TREE [--results FOLDER] [--participants N] [--seed N]

TREE is the result of `cmake --install`; this program adds the guest's desktop to it. Exits with 1 after any complaint.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

from image import BUILD, HERE, build
from laboratory import blind, desktop
from laboratory.analysing import analyse
from laboratory.judging import complaints, table
from laboratory.laboratory import PORTS, SITTING_S, Laboratory
from machine import Boot, Work, run, tidy_when_terminated

MOST_PARTICIPANTS = 4  # the crossover's
STAND_IN = """#!/bin/sh
PYTHONPATH=/run/vm/work exec python3 -m t61.stand_in /run/laboratory/screen
"""


def main() -> int:
    """Run the study. Return the exit status."""
    tidy_when_terminated()
    parser = argparse.ArgumentParser(prog="laboratory", description="A study in the emulated laboratory.")
    parser.add_argument("--root", type=Path, required=True, metavar="TREE", help="what `cmake --install` left")
    parser.add_argument("--results", type=Path, default=BUILD / "laboratory", metavar="FOLDER", help="made again")
    parser.add_argument("--participants", type=int, default=2, choices=range(1, MOST_PARTICIPANTS + 1))
    parser.add_argument("--seed", type=int, default=1, help="of the participants' hands and the meter's noise")
    options = parser.parse_args()
    begin = time.monotonic()
    shutil.rmtree(options.results, ignore_errors=True)
    options.results.mkdir(parents=True)
    image = build()
    desktop.make(options.root, image)
    stand_in = options.root / "usr/games/stand-in"
    stand_in.parent.mkdir(exist_ok=True)
    stand_in.write_text(STAND_IN)
    stand_in.chmod(0o755)
    with Laboratory(options.results, options.participants, options.seed) as laboratory:
        ports = {name: laboratory.socket(name) for name in PORTS}
        boot = Boot(memory_mib=1536, timeout_s=options.participants * SITTING_S, ports=ports)
        work = Work([HERE / "t61"], "python3 -B -m t61.sitting", options.root)
        outcome = run(work, boot, laboratory.sitting, image)
        if outcome.status:
            sys.exit(f"laboratory: the sitting failed with {outcome.status}; {laboratory.sitting} has what it left")
        laboratory.close()
        seen = blind.complaints(laboratory.server, laboratory.participants, options.results / "blind")
        found = analyse(laboratory)
    wrong = [*seen, *complaints(found)]
    print("\n".join(table(found)))
    print(f"laboratory: {time.monotonic() - begin:.0f} s")
    for line in wrong:
        print(f"laboratory: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
