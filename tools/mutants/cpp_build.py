# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds a sample of C++ mutants once, and runs the unit tests for each."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import cpp
from mutation import Mutation, Result, copy_tree, files_of, write

if TYPE_CHECKING:
    import random
    from pathlib import Path

TESTS = re.compile(r"_(test\.cpp|fixture\.h)$|fakes?\.h$")
PATIENCE = 20  # a mutant hangs after this many times the tests' normal time, at least after a minute
LONGEST_S = 600
ERROR = re.compile(r"(\S+?):(\d+):\d+: (?:error:|  required from)")
FLAGS = "-DCMAKE_CXX_FLAGS=-w -Wno-error -g1 -fsanitize=address"
CONFIGURE = ("-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DHAPPE_TESTS=OFF", FLAGS)
AS_ONE = ("-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0")  # each library is one file


@dataclass(frozen=True)
class Build:
    """A copy of the tree, the folder of its build, the files that get mutants, and the names of the unit tests."""

    copy: Path
    folder: Path
    sources: dict[str, bytes]
    tests: list[str]

    def programs(self) -> list[Path]:
        """Return the unit tests' programs."""
        return [self.folder / "bin" / f"{name}_test" for name in self.tests]

    def compile(self, everything: list[Mutation], sample: int) -> dict[int, Mutation]:
        """Build the tests with the first mutations that compile. Return these by their numbers, from 1."""
        for name, content in self.sources.items():
            if not (self.copy / name).is_file():  # CMake looks for them
                write(self.copy / name, content)
        command = ["cmake", "-S", str(self.copy), "-B", str(self.folder), *CONFIGURE, *AS_ONE]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        chosen: dict[int, Mutation] = {}
        rest = dict(enumerate(everything, start=1))
        while True:
            while rest and len(chosen) < sample:
                number = next(iter(rest))
                chosen[number] = rest.pop(number)
            wrong = self._wrong(chosen)
            if not wrong:
                return chosen
            for number in wrong:
                del chosen[number]

    def _wrong(self, chosen: dict[int, Mutation]) -> set[int]:
        """Return the mutants that the compiler refuses."""
        texts = {
            name: cpp.woven(content, {number: each for number, each in chosen.items() if each.file == name})
            for name, content in self.sources.items()
        }
        for name, text in texts.items():
            write(self.copy / name, text.encode())
        command = ["cmake", "--build", str(self.folder), "--target", *(f"{name}_test" for name in self.tests)]
        ran = subprocess.run([*command, "--", "-k", "0"], capture_output=True, text=True, check=False)
        places = [
            (name, int(line)) for file, line in ERROR.findall(ran.stdout) for name in texts if file.endswith(name)
        ]
        wrong = {number for name, line in places for number in cpp.numbers_at(texts[name], line)} & chosen.keys()
        if ran.returncode and not wrong:
            raise SystemExit(f"mutants: what has none that is refused does not compile:\n{ran.stdout[-4000:]}")
        return wrong


def results(tree: Path, folder: Path, target: dict[str, Any], chance: random.Random, sample: int) -> list[Result]:
    """Return the tests' results for each mutant of a sample."""
    copy = folder / "tree"
    names = [name for name in files_of(tree, target["files"]) if not TESTS.search(name)]
    copy_tree(tree, copy, without=names)
    write(copy / "happe_mutant.h", cpp.SWITCH.encode())
    build = Build(copy, folder / "cmake", {name: (tree / name).read_bytes() for name in names}, target["tests"])
    everything = [each for name in names for each in cpp.mutations(tree / name, name)]
    chance.shuffle(everything)
    chosen = build.compile(everything, sample)
    began = time.monotonic()
    if failed := _noticed_by(build.programs(), 0, LONGEST_S):
        raise SystemExit(f"mutants: {failed} fails without a mutant")
    patience = max(60.0, PATIENCE * (time.monotonic() - began))
    known = _known(folder / "cpp.jsonl")
    tests = hashlib.sha256(
        b"".join(path.read_bytes() for path in sorted(copy.glob("governor/**/*_test.cpp")))
    ).hexdigest()

    def ask(number: int) -> Result:
        mutation = chosen[number]
        key = hashlib.sha256(f"{mutation}{tests}".encode() + build.sources[mutation.file]).hexdigest()
        if key not in known:
            known[key] = _noticed_by(build.programs(), number, patience)
            with (folder / "cpp.jsonl").open("a") as out:
                out.write(json.dumps({"key": key, "noticed_by": known[key], **asdict(mutation)}) + "\n")
        return Result(mutation, known[key])

    asked = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, result in enumerate(pool.map(ask, chosen), start=1):
            asked.append(result)
            print(f"mutants: C++, {done} of {len(chosen)}", end="\r", file=sys.stderr)
    return asked


def _known(file: Path) -> dict[str, str | None]:
    """Return the stored results. A line that an interruption cut off does not count."""
    if not file.is_file():
        return {}
    lines = [json.loads(line) for line in file.read_text().splitlines() if line.endswith("}")]
    return {each["key"]: each["noticed_by"] for each in lines}


def _noticed_by(tests: list[Path], number: int, patience: float) -> str | None:
    """Return the first test program that fails or hangs with this mutant."""
    environment = {**os.environ, "HAPPE_MUTANT": str(number)}
    for test in tests:
        command = [str(test), "--gtest_brief=1", "--gtest_fail_fast"]
        try:
            ran = subprocess.run(command, env=environment, capture_output=True, timeout=patience, check=False)
        except subprocess.TimeoutExpired:
            return f"{test.name} (hangs)"
        if ran.returncode:
            return test.name
    return None
