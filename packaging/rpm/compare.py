# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares what HAPPE's RPMs and Debian's packages of it have in them: the same files, with the same permissions.

usage: compare.py FOLDER     the packages of both kinds are in FOLDER; the status is 1 if they differ
"""

from __future__ import annotations

import io
import re
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

# Where the two differ by what their systems expect: Debian compiles Python when it is installed, has the database's
# migration in its package, and a file of its maintainer's and one of licences for each package.
ONLY_ONE_HAS = re.compile(
    r"/usr/share/(doc|licenses|lintian)/|.*/__pycache__/|/usr/lib/happe-study-server/upgrade\.py$"
)


def placed(path: str) -> str:
    """A path as both would write it."""
    path = re.sub(r"^/lib/", "/usr/lib/", path)
    path = path.replace("/zsh/vendor-completions/", "/zsh/site-functions/")
    return path.removesuffix(".gz") if path.startswith("/usr/share/man/") else path


def of_deb(package: Path) -> dict[str, str]:
    """A Debian package's files, with their permissions."""
    packed = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, stdout=subprocess.PIPE)
    kinds = {tarfile.SYMTYPE: stat.S_IFLNK, tarfile.REGTYPE: stat.S_IFREG, tarfile.DIRTYPE: stat.S_IFDIR}
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as contents:
        return {each.name.removeprefix("."): stat.filemode(kinds[each.type] | each.mode) for each in contents}


def of_rpm(package: Path) -> dict[str, str]:
    """An RPM's files, with their permissions."""
    query = ["rpm", "--query", "--package", "--queryformat", "[%{FILEMODES:perms} %{FILENAMES}\n]", package]
    listed = subprocess.run(query, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {path: mode for mode, _, path in (line.partition(" ") for line in listed.splitlines())}


def compared(files: dict[str, str]) -> set[str]:
    """What is compared of a package: its files and links, without folders."""
    kept = {placed(path): mode for path, mode in files.items() if not mode.startswith("d")}
    return {f"{mode} {path}" for path, mode in kept.items() if not ONLY_ONE_HAS.match(path)}


def main() -> int:
    """Exit status."""
    folder = Path(sys.argv[1])
    debs = {each.name.partition("_")[0]: each for each in folder.glob("*.deb")}
    rpms = {each.name.rsplit("-", 2)[0]: each for each in folder.glob("*.rpm")}
    if not debs or debs.keys() != rpms.keys():
        sys.exit(f"compare: {folder} has packages {sorted(debs)} and RPMs {sorted(rpms)}")
    differs = False
    for name, deb in sorted(debs.items()):
        theirs, ours = compared(of_deb(deb)), compared(of_rpm(rpms[name]))
        for what, files in (("only Debian has", theirs - ours), ("only the RPM has", ours - theirs)):
            for file in sorted(files):
                print(f"{name}: {what} {file}")
        differs = differs or theirs != ours
        print(f"{name}: {len(theirs)} files, {len(ours)} in the RPM")
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
