# SPDX-License-Identifier: GPL-2.0-or-later
"""usage: python -m happe_docs.sbom FILE. Writes a list of what HAPPE is made of (SBOM), in CycloneDX 1.6.

Python's packages come from the lock, with the digests that are pinned; Debian's from tools/setup.sh, with the
versions that are installed; the tests' JavaScript from study-server/package.json. What only tests and checks need has
the scope "excluded". The same tree on the same machine gives the same bytes: the time is SOURCE_DATE_EPOCH (or 1970),
the serial number follows from the content.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})*)", re.MULTILINE)
_DIGEST = re.compile(r"[0-9a-f]{64}")
PACKAGED = ("common", "server", "power")  # the parts of the lock that packages carry
_LIST = re.compile(r'^(demo|test|all)="([^"]*)"', re.MULTILINE)
_VERSION = re.compile(r"project\(happe VERSION (\S+)")


class SbomError(Exception):
    """A list can't be made; the message says of what."""


def bom(root: Path) -> Bom:
    """What the tree is made of. Raises SbomError."""
    found = _VERSION.search((root / "CMakeLists.txt").read_text(encoding="utf-8"))
    if found is None:
        raise SbomError("CMakeLists.txt: no version of the project")
    parts = [*python_packages(root), *debian_packages(root), *javascript_packages(root)]
    about = f"{found[1]} {' '.join(sorted(str(part.purl) for part in parts))}"
    made = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), UTC)
    program = Component(name="happe", version=found[1], type=ComponentType.APPLICATION, bom_ref=f"happe@{found[1]}")
    metadata = BomMetaData(component=program, timestamp=made)
    made_of = Bom(components=parts, metadata=metadata, serial_number=uuid5(NAMESPACE_URL, about))
    made_of.register_dependency(program, [part for part in parts if part.scope is ComponentScope.REQUIRED])
    return made_of


def python_packages(root: Path) -> Iterator[Component]:
    """Packages of the lock. Those that HAPPE's own packages have in them are needed to run it. Raises SbomError.

    django-htmx is one of them: the study server's package has its htmx.
    """
    lock = root / "packaging/requirements.txt"
    needed = _packaged(root, lock) | {"django-htmx"}
    for name, version, digests in _PINNED.findall(lock.read_text(encoding="utf-8")):
        hashes = [HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in _DIGEST.findall(digests)]
        yield _part(PackageURL("pypi", None, name, version), needed=name in needed, hashes=hashes)


def _packaged(root: Path, lock: Path) -> set[str]:
    """Names of the lock's packages that are built into HAPPE's. Raises SbomError."""
    with TemporaryDirectory() as folder:
        ran = subprocess.run(
            [sys.executable, root / "tools/python_parts.py", lock, folder],
            check=False,
            capture_output=True,
            text=True,
        )
        if ran.returncode != 0:
            raise SbomError(f"{ran.stderr.strip()}; `make setup` installs all packages")
        lists = [file.read_text(encoding="utf-8") for file in (Path(folder) / f"{part}.txt" for part in PACKAGED)]
    return {name for text in lists for name, _version, _digests in _PINNED.findall(text)}


def debian_packages(root: Path) -> Iterator[Component]:
    """Packages that tools/setup.sh installs, in the versions that are here. Raises SbomError."""
    lists = dict(_LIST.findall((root / "tools/setup.sh").read_text(encoding="utf-8")))
    needed = set(lists["demo"].split())
    wanted = sorted({name for listed in lists.values() for name in listed.split() if not name.startswith("$")})
    asked = ["dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}\\n", *wanted]
    ran = subprocess.run(asked, capture_output=True, check=False, text=True)
    if ran.returncode != 0:
        raise SbomError(f"{ran.stderr.strip()}; `make setup` installs all packages")
    for line in ran.stdout.splitlines():
        name, version, architecture = line.split()
        address = PackageURL("deb", "debian", name, version, {"arch": architecture, "distro": "debian-12"})
        yield _part(address, needed=name in needed)


def javascript_packages(root: Path) -> Iterator[Component]:
    """Packages of package.json, whose versions are exact. All are for the tests."""
    listed = json.loads((root / "study-server/package.json").read_text(encoding="utf-8"))
    for name, version in listed["devDependencies"].items():
        yield _part(PackageURL("npm", None, name, version), needed=False)


def _part(address: PackageURL, *, needed: bool, hashes: list[HashType] | None = None) -> Component:
    return Component(
        name=address.name,
        version=address.version,
        type=ComponentType.LIBRARY,
        scope=ComponentScope.REQUIRED if needed else ComponentScope.EXCLUDED,
        purl=address,
        bom_ref=str(address),
        hashes=hashes,
    )


def main(arguments: list[str]) -> int:
    """Run; the exit status."""
    if len(arguments) != 1:
        print("usage: python -m happe_docs.sbom FILE", file=sys.stderr)
        return os.EX_USAGE
    target = Path(arguments[0])
    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        unfinished.write_text(JsonV1Dot6(bom(ROOT)).output_as_string(indent=1), encoding="utf-8")
        unfinished.replace(target)
    except (OSError, SbomError) as error:
        print(f"sbom: {error}", file=sys.stderr)
        return os.EX_SOFTWARE
    print(f"sbom: {target}")
    return os.EX_OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
