# SPDX-License-Identifier: GPL-2.0-or-later
"""A program's package has the pages of docs/ that the program names, under the names that it prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from happe_prose.sources import KINDS, passages
from program import ROOT

NAMED = re.compile(r"\bdocs/[\w/-]+\.md\b")
# The sources of each package.
SOURCES = {
    "happe-governor": ("governor", "profiles/dbus", "packaging/dbus", "packaging/happe.toml"),
    "happe-indicator": ("ui",),
    "happe-power-logger": ("power-logger/src",),
    "happe-python3": ("profiles/python/src",),
    "happe-study-server": ("study-server/src", "packaging/tmpfiles.d/happe-server.conf"),
}


def named_in(file: Path) -> set[str]:
    """Return the pages that a file names: a source in its messages, another file anywhere."""
    text = file.read_text(encoding="utf-8")
    if file.name.endswith(KINDS):
        text = "\n".join(each.text for each in passages(file.name, text) if each.is_message)
    return set(NAMED.findall(text))


def files_of(package: str) -> list[Path]:
    """Return the files of a package, without tests."""
    found = [
        each
        for name in SOURCES[package]
        for each in ([ROOT / name] if (ROOT / name).is_file() else (ROOT / name).rglob("*"))
    ]
    kinds = (*KINDS, ".xml", ".conf", ".toml")
    return [
        each for each in found if each.name.endswith(kinds) and "tests" not in each.parts and "_test." not in each.name
    ]


def installed(package: str) -> dict[str, str]:
    """The pages that a package has, each with its folder there."""
    install = ROOT / f"packaging/debian/{package}.install"
    lines = [line.split() for line in install.read_text(encoding="utf-8").splitlines()] if install.exists() else []
    return {words[0]: words[1] for words in lines if words[0].startswith("docs/")}


@pytest.mark.parametrize("package", SOURCES)
def test_a_package_has_the_pages_that_its_programs_name(package: str) -> None:
    files = files_of(package)
    assert files
    named = set().union(*(named_in(file) for file in files))
    assert named - set(installed(package)) == set()
    for page, folder in installed(package).items():
        assert (ROOT / page).is_file()
        assert folder == f"usr/share/doc/{package}/{Path(page).parent}"


def test_programs_name_pages() -> None:
    """If the programs used other words, the test above would find no pages."""
    assert "docs/traces.md" in named_in(ROOT / "governor/happectl/run.cpp")
    assert "docs/uploads.md" in named_in(ROOT / "study-server/src/happe_study/base/uploads.py")
    assert "docs/protocol.md" in named_in(ROOT / "study-server/src/happe_study/results/analysis/plan.py")
