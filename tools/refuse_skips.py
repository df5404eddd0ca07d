# SPDX-License-Identifier: GPL-2.0-or-later
"""Fail if a JUnit report has a skipped test, or no test at all: every test must run.

usage: refuse_skips.py REPORT.xml
"""

import sys
from xml.etree import ElementTree as ET


def main(path: str) -> int:
    """Return the exit status for the report at `path`."""
    cases = list(ET.parse(path).getroot().iter("testcase"))  # noqa: S314 - our own pytest wrote it
    skipped = [case for case in cases if case.find("skipped") is not None]
    for case in skipped:
        sys.stderr.write(f"skipped: {case.get('classname')}.{case.get('name')}\n")
    return 1 if skipped or not cases else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
