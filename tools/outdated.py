# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists the libraries that the packages carry as wheels, with their ages and newer releases: tools/outdated.sh.

usage: outdated.py LOCK < SOURCES     SOURCES is what tools/python_parts.py LOCK prints

A library's age is the days since its release. The status is 3 if one has a newer release: look at its
changes, then `make locks` takes all.
"""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from pip._vendor.packaging.utils import canonicalize_name
from piptools.repositories.pypi import PyPIRepository

NEWER = 3


def main() -> int:
    """Print the list. Return the exit status."""
    sources = json.load(sys.stdin)
    pinned = dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", Path(sys.argv[1]).read_text(encoding="utf-8"), re.MULTILINE))
    wheels = {name: [release for release in sources if sources[release].get(name) == "wheel"] for name in pinned}
    now, behind = datetime.now(UTC), 0
    print(f"{'library':24}{'release':>14}{'days':>6}  {'newest':>14}{'days':>6}  in packages for Debian")
    with TemporaryDirectory() as cache:
        index = PyPIRepository([], cache_dir=cache)
        for name, releases in wheels.items():
            if not releases:
                continue
            days = {
                str(each.version): (now - each.link.upload_time).days if each.link.upload_time else "?"
                for each in sorted(index.find_all_candidates(canonicalize_name(name)), key=lambda each: each.version)
                if not each.version.is_prerelease
            }
            newest = list(days)[-1]
            has_newer = newest != pinned[name]
            behind += has_newer
            shown = f"{newest:>14}{days[newest]:>6}" if has_newer else f"{'':20}"
            print(f"{name:24}{pinned[name]:>14}{days.get(pinned[name], '?'):>6}  {shown}  {', '.join(releases)}")
    print(f"{behind} of {sum(map(bool, wheels.values()))} libraries have a newer release")
    return NEWER if behind else 0


if __name__ == "__main__":
    sys.exit(main())
