# SPDX-License-Identifier: GPL-2.0-or-later
"""pip-compile, with a lock that has only the hashes of files that HAPPE's machines can install: tools/locks.sh.

Those are wheels for any machine, wheels for Linux on x86-64 and AArch64 under the Pythons below, and sources.
"""

from packaging.utils import parse_wheel_filename
from pip._internal.models.candidate import InstallationCandidate
from pip._internal.req import InstallRequirement
from piptools.repositories.pypi import PyPIRepository
from piptools.scripts.compile import cli

PYTHONS = {"cp311", "cp313", "cp314"}  # of Debian 12, 13 and sid
PROCESSORS = ("_x86_64", "_aarch64")


def is_installable(name: str) -> bool:
    """Say whether a wheel is for one of these machines."""
    return any(
        (tag.platform == "any" or (tag.platform.startswith("manylinux") and tag.platform.endswith(PROCESSORS)))
        and (tag.abi == "abi3" or tag.abi in PYTHONS or (tag.abi == "none" and tag.interpreter in {"py3", *PYTHONS}))
        for tag in parse_wheel_filename(name)[3]
    )


of_all_machines = PyPIRepository._get_matching_candidates  # noqa: SLF001 - pip-compile has no option for it


def of_these_machines(self: PyPIRepository, wanted: InstallRequirement) -> set[InstallationCandidate]:
    """Return the files of a version. A source is one of them only if no wheel is for any machine."""
    found = of_all_machines(self, wanted)
    wheels = {each for each in found if each.link.filename.endswith(".whl") and is_installable(each.link.filename)}
    anywhere = any(each.link.filename.endswith("py3-none-any.whl") for each in wheels)
    return wheels if anywhere else wheels | {each for each in found if not each.link.filename.endswith(".whl")}


PyPIRepository._get_matching_candidates = of_these_machines  # noqa: SLF001 - the same
cli()
