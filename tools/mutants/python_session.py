# SPDX-License-Identifier: GPL-2.0-or-later
"""Python's mutants by cosmic-ray: it changes a file in a copy of the tree, runs the tests, and changes it back.

A session of cosmic-ray is an SQLite database. It belongs to the content of the files and of their tests: it continues
after an interruption, and a new one begins when a file has changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mutation import Mutation, Result, copy_tree, files_of

if TYPE_CHECKING:
    import random

TABLES = ("work_items", "mutation_specs", "work_results")
TIMEOUT_S = 600
COSMIC_RAY = Path(sys.executable).with_name("cosmic-ray")
# Mistakes that people make. Most of cosmic-ray's 170 kinds are no such mistakes (a shift instead of a product), and any
# test notices them.
KINDS = re.compile(
    "core/(AddNot|Replace(And|Or)With.*|Replace(True|False)With.*|Replace(Break|Continue)With.*|NumberReplacer"
    "|ZeroIterationForLoop|ReplaceUnaryOperator_(Delete_Not|USub_UAdd|Delete_USub)"
    "|ReplaceComparisonOperator_(Eq_NotEq|NotEq_Eq|Lt_LtE|LtE_Lt|Gt_GtE|GtE_Gt|Is_IsNot|IsNot_Is)"
    "|ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Mul|Mod_Mul|Pow_Mul))"
)


@dataclass(frozen=True)
class Session:
    """A session of cosmic-ray over some files, in its own copy of the tree."""

    copy: Path
    files: tuple[str, ...]
    file: Path
    config: Path

    def jobs(self) -> list[str]:
        """Return all mutations of the kinds that count, in the files' order."""
        with closing(sqlite3.connect(self.file)) as found:
            fields = "job_id, operator_name, module_path, start_pos_row, start_pos_col, end_pos_col"
            rows = found.execute(f"SELECT {fields} FROM mutation_specs ORDER BY rowid")  # noqa: S608
            lines = {path: (self.copy / path).read_text().splitlines() for path in self.files}
            return [
                job
                for job, kind, path, row, begin, end in rows
                if KINDS.fullmatch(kind) and _is_a_mistake(kind, lines[path][row - 1], slice(begin, end))
            ]

    def run(self, jobs: list[str]) -> list[Result]:
        """Run those of these mutations that have not run yet. Each sample has its own database."""
        sample = self.file.with_suffix(f".{hashlib.sha256(json.dumps(jobs).encode()).hexdigest()[:16]}")
        if not sample.is_file():
            new = sample.with_suffix(".new")
            shutil.copyfile(self.file, new)
            with closing(sqlite3.connect(new)) as session, session:
                for table in TABLES:
                    keep = f"DELETE FROM {table} WHERE job_id NOT IN (SELECT value FROM json_each(?))"  # noqa: S608
                    session.execute(keep, [json.dumps(jobs)])
            new.rename(sample)
        _cosmic_ray(self.copy, "exec", self.config, sample)
        with closing(sqlite3.connect(sample)) as found:
            fields = "module_path, start_pos_row, operator_name, test_outcome, diff"
            rows = found.execute(f"SELECT {fields} FROM mutation_specs JOIN work_results USING (job_id)")  # noqa: S608
            return [_result(*row) for row in rows]


def results(
    tree: Path, folder: Path, targets: list[dict[str, Any]], chance: random.Random, sample: int
) -> list[Result]:
    """Return the tests' results for each mutant of a sample over all targets."""
    sessions = [_session(tree, folder / "python" / target["name"], target) for target in targets]
    everything = [(session, job) for session in sessions for job in session.jobs()]
    chance.shuffle(everything)
    chosen = {session: [job for its, job in everything[:sample] if its == session] for session in sessions}
    print(f"mutants: Python, {min(sample, len(everything))} of {len(everything)}", file=sys.stderr)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [each for found in pool.map(lambda one: one.run(chosen[one]), sessions) for each in found]


def _is_a_mistake(kind: str, line: str, changed: slice) -> bool:
    """Say whether a test could notice: not a decorator's argument, a parameter's star, or one more than a million."""
    large = kind == "core/NumberReplacer" and re.search(r"e|[\d_.]{5}", line[changed])
    return not large and not line.lstrip().startswith(("@", "def "))


def _session(tree: Path, folder: Path, target: dict[str, Any]) -> Session:
    names = files_of(tree, target["files"])
    tests = files_of(tree, target["tests"])
    command = [str(tree / "build/venv/bin/python"), "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    content = b"".join((tree / name).read_bytes() for name in [*names, *tests]) + shlex.join(command).encode()
    folder.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(content).hexdigest()[:16]
    session = Session(folder / "tree", tuple(names), folder / f"{name}.sqlite", folder / "config.toml")
    copy_tree(tree, session.copy)
    session.config.write_text(
        f"[cosmic-ray]\nmodule-path = {json.dumps(names)}\ntimeout = {TIMEOUT_S}\nexcluded-modules = []\n"
        f"test-command = {json.dumps(shlex.join(command))}\n[cosmic-ray.distributor]\nname = 'local'\n"
    )
    if not session.file.is_file():
        _cosmic_ray(session.copy, "baseline", session.config)
        new = session.file.with_suffix(".new")
        new.unlink(missing_ok=True)
        _cosmic_ray(session.copy, "init", session.config, new)
        new.rename(session.file)
    return session


def _cosmic_ray(where: Path, *arguments: object) -> None:
    ran = subprocess.run([COSMIC_RAY, *map(str, arguments)], cwd=where, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(
            f"mutants: cosmic-ray {arguments[0]} failed in {where}:\n{ran.stdout[-4000:]}{ran.stderr[-4000:]}"
        )


def _result(file: str, line: int, kind: str, outcome: str, diff: str) -> Result:
    changed = [row[1:].strip() for row in diff.splitlines() if re.match(r"[-+](?!-- |\+\+ )", row)]
    before, after = changed[0] if changed else "", changed[-1] if len(changed) > 1 else kind
    return Result(Mutation(file, 0, 0, line, before, after), None if outcome == "SURVIVED" else "pytest")
