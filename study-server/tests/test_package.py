# SPDX-License-Identifier: GPL-2.0-or-later
"""The server as a package: it names what it imports, and takes along what it reads."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement

from happe_study.app.assembly import VERSION
from happe_study.cli import main
from operated import SOURCES

if TYPE_CHECKING:
    from pathlib import Path

ROOT = SOURCES.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DEPENDENCIES = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["analysis"]
OTHER_NAMES = {
    "flask-security": "flask_security",
    "psycopg[binary]": "psycopg",
    "pynacl": "nacl",
    "argon2-cffi": "argon2",
}
INDIRECT = {"argon2"}  # Flask-Security imports it by its scheme's name
BELONGS = {"pydantic_core": "pydantic"}  # comes with


def names() -> dict[str, str]:
    """What each dependency is imported as."""
    found = {}
    for line in DEPENDENCIES:
        name = line.partition(">=")[0]
        found[name] = OTHER_NAMES.get(name, name.replace("-", "_"))
    return found


def imported() -> set[str]:
    """The libraries that the package imports."""
    found = set()
    for file in (SOURCES / "happe_study").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    found = {BELONGS.get(name, name) for name in found}
    return found - set(sys.stdlib_module_names) - {"happe_study", "happe_cli"}


def test_all_extras_are_the_analysis() -> None:
    assert PROJECT["optional-dependencies"]["all"] == PROJECT["optional-dependencies"]["analysis"]


def test_only_the_analysis_imports_its_extra() -> None:
    extra = {line.partition(">=")[0] for line in PROJECT["optional-dependencies"]["analysis"]}
    others = [file for file in (SOURCES / "happe_study").rglob("*.py") if "analysis" not in file.parts]
    assert others
    assert not [
        file for file in others if re.search(rf"^(import|from) ({'|'.join(extra)})\b", file.read_text(), re.MULTILINE)
    ]


def test_the_dependencies_are_what_is_imported() -> None:
    assert imported() | INDIRECT == set(names().values())


@pytest.mark.parametrize("line", DEPENDENCIES)
def test_the_version_that_is_tested_is_allowed(line: str) -> None:
    requirement = Requirement(line)
    assert metadata.version(requirement.name) in requirement.specifier


def test_the_version_is_one() -> None:
    assert PROJECT["version"] == VERSION


def test_the_program_is_the_one_that_is_installed() -> None:
    assert PROJECT["scripts"] == {"happe-server": "happe_study.cli:main"}
    assert callable(main)


def test_the_package_takes_along_what_it_reads(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    skipped = shutil.ignore_patterns("node_modules", "tests", "__pycache__", "*.egg-info", "build")
    shutil.copytree(ROOT, tree / "study-server", ignore=skipped)
    for folder in ("profiles/schema", "packaging/cli/src"):
        shutil.copytree(ROOT.parent / folder, tree / folder)
    build = [sys.executable, "-W", "ignore", "setup.py", "-q", "build", "--build-lib", str(tmp_path / "lib")]
    subprocess.run(build, cwd=tree / "study-server", check=True, capture_output=True)
    made = {str(path.relative_to(tmp_path / "lib")) for path in (tmp_path / "lib").rglob("*") if path.is_file()}
    wanted = {
        str(path.relative_to(SOURCES))
        for path in (SOURCES / "happe_study").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert wanted <= made
    assert "happe_study/static/vendor/htmx.min.js" in made  # git does not have it: tools/setup.sh puts it there
    assert {"happe_study/schema/run-record.schema.json", "happe_cli/program.py", "happe_cli/completion.bash"} <= made
