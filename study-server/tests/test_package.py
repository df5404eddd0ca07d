# SPDX-License-Identifier: GPL-2.0-or-later
"""The server as a package: it names the libraries that it imports, and contains the files that it reads."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from happe_study.cli import main
from operated import SOURCES

ROOT = SOURCES.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DEPENDENCIES = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["analysis"]
OTHER_NAMES = {
    "flask-security": "flask_security",
    "psycopg[binary]": "psycopg",
    "pynacl": "nacl",
    "argon2-cffi": "argon2",
    "happe-shared": "happe_contract",
}
# Flask-Security imports it by its scheme's name.
INDIRECT = {"argon2"}
BELONGS = {"pydantic_core": "pydantic", "happe_cli": "happe_contract"}  # each comes with the library behind it


def names() -> dict[str, str]:
    """The name by which code imports each dependency."""
    found = {}
    for line in DEPENDENCIES:
        name = re.split("[<>=]", line)[0]
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
    return found - set(sys.stdlib_module_names) - {"happe_study", "_typeshed"}  # only the type checker has the latter


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


@pytest.mark.parametrize("line", [each for each in DEPENDENCIES if not each.startswith("happe-")])
def test_the_version_that_is_tested_is_allowed(line: str) -> None:
    requirement = Requirement(line)
    assert metadata.version(requirement.name) in requirement.specifier


def test_the_program_is_the_one_that_is_installed() -> None:
    assert PROJECT["scripts"] == {"happe-server": "happe_study.cli:main"}
    assert callable(main)


def test_the_package_takes_along_what_it_reads(tmp_path: Path) -> None:
    made = built(ROOT, tmp_path)
    wanted = {
        str(path.relative_to(SOURCES))
        for path in (SOURCES / "happe_study").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert wanted <= made
    for script in ("htmx.min.js", "uplot.min.js", "uplot.min.css"):
        assert f"happe_study/static/vendor/{script}" in made  # git does not have it: tools/setup.sh puts it there


def test_what_programs_share_takes_the_schemas_and_the_table_along(tmp_path: Path) -> None:
    made = built(ROOT.parent / "profiles/python", tmp_path)
    profiles = ROOT.parent / "profiles"
    assert {f"happe_contract/schema/{path.name}" for path in (profiles / "schema").iterdir()} <= made
    assert "happe_contract/t61-power.csv" in made
    assert "happe_cli/program.py" in made


def built(project: Path, folder: Path) -> set[str]:
    """The files in a build of a project's wheel, from a copy of the project and of profiles/ in `folder`."""
    skipped = shutil.ignore_patterns("node_modules", "tests", "__pycache__", "*.egg-info", "build")
    tree, made = folder / "tree", folder / "lib"
    for each in ("profiles", "study-server"):
        shutil.copytree(ROOT.parent / each, tree / each, ignore=skipped, symlinks=True)
    build = ["/usr/bin/python3", "-W", "ignore", "-c", "import setuptools; setuptools.setup()", "-q", "build"]
    place = tree / project.relative_to(ROOT.parent)
    subprocess.run([*build, "--build-lib", str(made)], cwd=place, check=True, capture_output=True)
    return {str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()}
