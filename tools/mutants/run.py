# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutation testing: changes one place of the code at a time, and asks whether a test notices.

usage: run.py [--sample N] [--seed N] [cpp|python ...]

Takes a seeded sample of all mutations of the files in targets.toml. Results are kept in build/mutants/; the same
command goes on where it was interrupted, and asks again only about files that changed. Prints a line for each mutant
that no test noticed, with its reason from targets.toml. The exit status is 1 if so few were noticed that 90 % of all
are ruled out, by three standard errors of the sample's share.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cpp_build
import python_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mutation import Result

TREE = Path(__file__).resolve().parents[2]
FOLDER = TREE / "build/mutants"
LEAST_SHARE = 0.9
ERRORS = 3  # a sample's share may lie this many standard errors below it
PARTS: dict[str, Callable[[Path, Path, Any, random.Random, int], list[Result]]] = {
    "cpp": cpp_build.results,
    "python": python_session.results,
}


def main() -> int:
    """Run it."""
    asked = _arguments()
    targets = tomllib.loads(Path(__file__).with_name("targets.toml").read_text())
    FOLDER.mkdir(parents=True, exist_ok=True)
    results: list[Result] = []
    for part in asked.part or PARTS:
        results += PARTS[part](TREE, FOLDER, targets[part], random.Random(asked.seed), asked.sample)  # noqa: S311 - no secret
    reasons = {(each["file"], each["before"], each["after"]): each["reason"] for each in targets.get("survivor", [])}
    return _report(results, reasons)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("part", nargs="*", choices=[*PARTS], help="only these; all if none is named")
    parser.add_argument("--sample", type=_at_least_1, default=150, metavar="N", help="mutants of each part (150)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the sample (1)")
    return parser.parse_args()


def _at_least_1(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("is at least 1")
    return number


def _report(results: Iterable[Result], reasons: dict[tuple[str, str, str], str]) -> int:
    results = list(results)
    left = [each for each in results if each.noticed_by is None]
    for each in left:
        where = f"{each.mutation.file}:{each.mutation.line}: {each.mutation.before!r} as {each.mutation.after!r}"
        reason = reasons.get((each.mutation.file, each.mutation.before, each.mutation.after))
        print(f"mutants: no test notices {where}: {reason or 'no reason is written down'}")
    share = 1 - len(left) / len(results)
    print(f"mutants: {len(results) - len(left)} of {len(results)} noticed ({100 * share:.1f} %)")
    facts: dict[str, Any] = {"mutants": len(results), "noticed": len(results) - len(left), "share": share}
    (FOLDER / "mutants.json").write_text(json.dumps(facts) + "\n")
    error = (LEAST_SHARE * (1 - LEAST_SHARE) / len(results)) ** 0.5
    return 0 if share >= LEAST_SHARE - ERRORS * error else 1


if __name__ == "__main__":
    sys.exit(main())
