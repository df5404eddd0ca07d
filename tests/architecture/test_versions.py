# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything that is built from this tree has the same version and release date."""

import re
from datetime import datetime

from program import ROOT

STATED = {
    "CMakeLists.txt": r"project\(happe VERSION (\S+)",
    "CITATION.cff": r"^version: \"?([^\"\n]+)",
    "packaging/debian/changelog": r"^happe \((\S+)\)",
    "packaging/org.happe.Window.metainfo.xml": r'<release version="(.*?)"',
    "pyproject.toml": r'^version = "(.*)"',
    "profiles/python/pyproject.toml": r'^version = "(.*)"',
    "power-logger/pyproject.toml": r'^version = "(.*)"',
    "power-logger/src/happe_power/__init__.py": r'^__version__ = "(.*)"',
    "study-server/pyproject.toml": r'^version = "(.*)"',
    "study-server/src/happe_study/base/version.py": r'^VERSION = "(.*)"',
}

# The release's date. Debian's changelog writes it in the form of e-mails.
RELEASED = {
    "CHANGELOG.md": r"^## %s \((\S+)\)$",
    "CITATION.cff": r"^date-released: (\S+)$",
    "packaging/org.happe.Window.metainfo.xml": r'<release version="%s" date="(\S+)"/>',
    "packaging/debian/changelog": r"^happe \(%s\).*?^ -- .*?>  (.*?)$",
}


def test_there_is_one_version() -> None:
    found = {}
    for file, pattern in STATED.items():
        stated = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
        found[file] = stated[1] if stated else None
    for project in ("power-logger", "study-server"):
        shared = re.search(r'"happe-shared==(.*)"', (ROOT / project / "pyproject.toml").read_text(encoding="utf-8"))
        found[f"{project}: happe-shared"] = shared[1] if shared else None
    assert None not in found.values(), found
    assert len(set(found.values())) == 1, found


def test_a_release_has_one_date() -> None:
    version = re.escape(re.search(STATED["CMakeLists.txt"], (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1])  # type: ignore[index]
    found = {}
    for file, pattern in RELEASED.items():
        text = (ROOT / file).read_text(encoding="utf-8")
        stated = re.search(pattern.replace("%s", version), text, re.MULTILINE | re.DOTALL)
        found[file] = stated[1] if stated else ""
    debian = "packaging/debian/changelog"
    found[debian] = datetime.strptime(found[debian], "%a, %d %b %Y %H:%M:%S %z").date().isoformat()
    assert len(set(found.values())) == 1, found
