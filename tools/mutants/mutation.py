# SPDX-License-Identifier: GPL-2.0-or-later
"""A change of one place in a file, for a test to notice; and copies of the tree to change."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@dataclass(frozen=True)
class Mutation:
    """Replaces the bytes `begin` to `end` of a file, `before`, by `after`, or by its effect ("" drops a statement)."""

    file: str
    begin: int
    end: int
    line: int
    before: str
    after: str


@dataclass(frozen=True)
class Result:
    """The test that noticed a mutation; None if none did."""

    mutation: Mutation
    noticed_by: str | None


def files_of(tree: Path, globs: Iterable[str]) -> list[str]:
    """Return the files that these patterns name, from the top of the tree. A pattern without a file is an error."""
    found = {glob: [str(path.relative_to(tree)) for path in tree.glob(glob)] for glob in globs}
    if missing := [glob for glob, names in found.items() if not names]:
        raise SystemExit(f"mutants: targets.toml names a missing file or place: {', '.join(missing)}")
    return sorted({name for names in found.values() for name in names})


def copy_tree(tree: Path, copy: Path, *, without: Iterable[str] = ()) -> None:
    """Copy those of the tree's own files that differ, so that a build of the copy compiles only these."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=tree, capture_output=True, check=True).stdout.decode()
    for name in sorted({*filter(None, listed.split("\0"))} - {*without}):
        if (tree / name).is_symlink():  # to a folder of the tree
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).unlink(missing_ok=True)
            (copy / name).symlink_to((tree / name).readlink())
        elif (tree / name).is_file():
            write(copy / name, (tree / name).read_bytes())
            shutil.copymode(tree / name, copy / name)


def write(path: Path, content: bytes) -> None:
    """Write a file if it differs."""
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
