# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the tests inside the emulated T61, with a boot for each kind of machine (BOOTS).

usage: suite.py [--root TREE] [--with [BOOT=]FOLDER]... [--results FOLDER] [--boot NAME]... [-- PYTEST'S ARGUMENTS]

Prints what each boot's pytest printed, its closing line, and how long everything took. Leaves junit.xml, and whatever
the tests left in their results folder, in FOLDER/NAME.
"""

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from image import BUILD, HERE, Image, build
from machine import BROKEN, Boot, Work, run, tidy_when_terminated

# The boots, in this order. The tests of each are the files guest_tests/test_NAME*.py.
# A test whose result must not depend on the host's load belongs in virtual_time.
BOOTS = {
    "real_time": Boot(timeout_s=2400),
    "virtual_time": Boot(virtual_time=True, timeout_s=2400),
    "per_cpu": Boot(per_cpu=True, timeout_s=1800),
    "deep_sleep": Boot(deep_sleep=True, timeout_s=1200),
    "power": Boot(newer_processor=True, memory_mib=1536, timeout_s=1800),
    "packages": Boot(timeout_s=2400),
    "servers": Boot(newer_processor=True, memory_mib=5120, timeout_s=3600),  # half of the memory is the disk
}
# These need packages, which packaging/package-vm-test.sh brings.
ON_REQUEST = {"packages", "servers"}
REFUSE_SKIPS = HERE.parents[1] / "tools/refuse_skips.py"
CLOSING_LINE = re.compile(r"=+ .* in \d+\.\d+s.* =+$")


def pytest_in(boot: str, arguments: list[str]) -> str:
    """Return the guest's shell command for pytest."""
    hung_after_s = BOOTS[boot].timeout_s * 5 // 6  # a test that hangs ends before its boot does, and shows its stack
    options = ["--junitxml=../results/junit.xml", f"--timeout={hung_after_s:.0f}", *arguments]
    files = sorted(file.name for file in (HERE / "guest_tests").glob(f"test_{boot}*.py"))
    return f"cd guest_tests && {shlex.join(['/usr/bin/python3', '-B', '-m', 'pytest', *options, *files])}"


def beside(more: list[str], boot: str) -> list[Path]:
    """Return the folders that a boot gets beside the tests: those for all boots, and those for this one."""
    named = [word.rpartition("=") for word in more]
    return [Path(folder) for wanted, _, folder in named if wanted in ("", boot)]


def run_boot(name: str, work: Work, image: Image, results: Path) -> tuple[bool, str]:
    """Run one boot. Return whether all is well, and lines that report it."""
    shutil.rmtree(results, ignore_errors=True)
    begin = time.monotonic()
    print(f"\nvm-test: {name}", flush=True)
    outcome = run(work, BOOTS[name], results, image)
    took = f"{time.monotonic() - begin:.0f} s with booting"
    if outcome.status == BROKEN:
        return False, f"{name}: the guest broke ({took})"
    closing = next((line for line in reversed(outcome.lines) if CLOSING_LINE.match(line)), "pytest said nothing")
    report = results / "junit.xml"
    kept = report.is_file() and subprocess.run([sys.executable, REFUSE_SKIPS, report], check=False).returncode == 0
    return outcome.status == 0 and kept, f"{name}: {took}\n{closing}"


def main() -> int:
    """Run the boots. Return the exit status."""
    tidy_when_terminated()
    parser = argparse.ArgumentParser(description="Run the tests inside the emulated T61.")
    parser.add_argument("--root", type=Path, metavar="TREE", help="what `cmake --install` left; installed in the guest")
    parser.add_argument(
        "--with", action="append", default=[], dest="more", metavar="[BOOT=]FOLDER", help="put beside the tests"
    )
    parser.add_argument("--results", type=Path, default=BUILD / "results", metavar="FOLDER", help="(build/vm/results)")
    parser.add_argument("--boot", action="append", choices=list(BOOTS), help="only these (all that need but a build)")
    parser.add_argument("arguments", nargs="*", metavar="PYTEST'S ARGUMENTS")
    options = parser.parse_args()
    begin = time.monotonic()
    names = options.boot or [each for each in BOOTS if each not in ON_REQUEST]
    image = build()
    print(f"vm-test: what they boot is ready after {time.monotonic() - begin:.0f} s")
    ended = []
    for name in names:
        work = Work(
            [HERE / "t61", HERE / "guest_tests", HERE.parents[1] / "profiles/vectors", *beside(options.more, name)],
            pytest_in(name, options.arguments),
            options.root,
        )
        ended.append(run_boot(name, work, image, options.results / name))
    print(f"\nvm-test: all in {time.monotonic() - begin:.0f} s")
    for _, summary in ended:
        print(summary)
    return 0 if all(well for well, _ in ended) else 1


if __name__ == "__main__":
    sys.exit(main())
