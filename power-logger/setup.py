# SPDX-License-Identifier: GPL-2.0-or-later
"""The build step of the power logger's wheel: schema and machines of profiles/ go into happe_power, happe_cli as it is.

Everything else is in pyproject.toml. A wheel is built from the whole tree (`pip wheel power-logger/`). A source
distribution takes them along in folders of their last names, so that a wheel can be built from it too.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
PATTERNS = ("*.schema.json", "*.csv", "*.py", "*.bash")
FOLDERS = {"happe_power/schema": (HERE / "schema", HERE.parent / "profiles/schema")}
FOLDERS |= {"happe_power/machines": (HERE / "machines", HERE.parent / "profiles/machines")}
FOLDERS |= {"happe_cli": (HERE / "happe_cli", HERE.parent / "packaging/cli/src/happe_cli")}


def sources(folder: str) -> list[Path]:
    """The files of one of FOLDERS, out of a source distribution or the whole tree."""
    found = [file for place in FOLDERS[folder] for pattern in PATTERNS for file in sorted(place.glob(pattern))]
    if not found:
        raise FileNotFoundError(f"{' and '.join(map(str, FOLDERS[folder]))} are not here: build from the whole tree")
    return found


def copy(folder: str, target: Path) -> None:
    """Copy the files of one of FOLDERS into `target`."""
    target.mkdir(parents=True, exist_ok=True)
    for file in sources(folder):
        shutil.copy(file, target)


class BuildWithFolders(build_py):  # type: ignore[misc] # setuptools has no types
    """build_py, and FOLDERS beside the package. An editable install needs the tree's packaging/cli/src on its path."""

    def run(self) -> None:
        """Build, then copy."""
        super().run()
        if not self.editable_mode:
            for folder in FOLDERS:
                copy(folder, Path(self.build_lib) / folder)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:  # noqa: FBT001, FBT002 - setuptools' signature
        """What a build leaves, with FOLDERS."""
        outputs: list[str] = super().get_outputs(include_bytecode)
        taken = [Path(self.build_lib) / folder / file.name for folder in FOLDERS for file in sources(folder)]
        return outputs + list(map(str, taken))


class DistributeWithFolders(sdist):  # type: ignore[misc] # setuptools has no types
    """sdist, and FOLDERS by their last names."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Make the tree, then copy."""
        super().make_release_tree(base_dir, files)
        for folder in FOLDERS:
            copy(folder, Path(base_dir) / Path(folder).name)


setup(cmdclass={"build_py": BuildWithFolders, "sdist": DistributeWithFolders})
