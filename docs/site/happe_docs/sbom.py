# SPDX-License-Identifier: GPL-2.0-or-later
"""usage: python -m happe_docs.sbom FILE. Writes a list of what HAPPE is made of (SBOM), in CycloneDX 1.6.

Python's packages come from the lock, with the digests that are pinned; Debian's from tools/setup.sh, with the
versions that are installed; the tests' JavaScript from study-server/package.json. Parts that only tests and checks
need have the scope "excluded". Of what the packages need, `happe:debian-12` and so on say whether the packages for
that release have it as a "wheel", or "debian" has it. The same tree on the same machine gives the same bytes: the
time is SOURCE_DATE_EPOCH (or 1970), the serial number follows from the content.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})*)", re.MULTILINE)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LIST = re.compile(r'^(governor|desktop|demo|test|all)="([^"]*)"', re.MULTILINE)
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

    Two others carry scripts that the study server's package has: htmx and uPlot.
    """
    lock = root / "packaging/requirements.txt"
    sources = _packaged(root, lock)
    needed = set().union(*(where.keys() for where in sources.values())) | {"django-htmx", "metaflow-card-uplot"}
    for name, version, digests in _PINNED.findall(lock.read_text(encoding="utf-8")):
        hashes = [HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in _DIGEST.findall(digests)]
        said = {f"happe:debian-{release}": where[name] for release, where in sources.items() if name in where}
        yield _part(PackageURL("pypi", None, name, version), needed=name in needed, hashes=hashes, said=said)


def _packaged(root: Path, lock: Path) -> dict[str, dict[str, str]]:
    """For each release of Debian, the lock's packages that HAPPE's need: "wheel" or "debian". Raises SbomError."""
    asked = [sys.executable, str(root / "tools/python_parts.py"), str(lock)]
    ran = subprocess.run(asked, check=False, capture_output=True, text=True)
    if ran.returncode != 0:
        raise SbomError(f"{ran.stderr.strip()}; `make setup` installs all packages")
    sources: dict[str, dict[str, str]] = json.loads(ran.stdout)
    return sources


def debian_packages(root: Path) -> Iterator[Component]:
    """Packages that tools/setup.sh installs, in the versions that are here. Raises SbomError."""
    lists = dict(_LIST.findall((root / "tools/setup.sh").read_text(encoding="utf-8")))
    needed = {name for programs in ("governor", "desktop", "demo") for name in lists[programs].split()}
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


def _part(
    address: PackageURL, *, needed: bool, hashes: list[HashType] | None = None, said: dict[str, str] | None = None
) -> Component:
    return Component(
        name=address.name,
        version=address.version,
        type=ComponentType.LIBRARY,
        scope=ComponentScope.REQUIRED if needed else ComponentScope.EXCLUDED,
        purl=address,
        bom_ref=str(address),
        hashes=hashes,
        properties=[Property(name=name, value=value) for name, value in (said or {}).items()],
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
