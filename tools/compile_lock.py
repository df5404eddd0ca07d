# SPDX-License-Identifier: GPL-2.0-or-later
"""pip-compile, with a lock that has only the hashes of files that HAPPE's machines can install: tools/locks.sh.

Those are sources, wheels for any machine, and wheels for Linux on x86-64 and AArch64 under the Pythons below.
"""

from __future__ import annotations

from packaging.utils import parse_wheel_filename
from piptools.repositories.pypi import PyPIRepository
from piptools.scripts.compile import cli

PYTHONS = {"cp311", "cp312", "cp313", "cp314"}
PROCESSORS = ("_x86_64", "_aarch64")


def is_installable(name: str) -> bool:
    """Say whether a file of a package index is a source, or a wheel for one of these machines."""
    if not name.endswith(".whl"):
        return True
    return any(
        (tag.platform == "any" or (tag.platform.startswith("manylinux") and tag.platform.endswith(PROCESSORS)))
        and (tag.abi == "abi3" or tag.abi in PYTHONS or (tag.abi == "none" and tag.interpreter in {"py3", *PYTHONS}))
        for tag in parse_wheel_filename(name)[3]
    )


of_all_machines = PyPIRepository._get_matching_candidates  # noqa: SLF001 - pip-compile has no option for it
PyPIRepository._get_matching_candidates = lambda self, wanted: {  # noqa: SLF001
    found for found in of_all_machines(self, wanted) if is_installable(found.link.filename)
}
cli()
