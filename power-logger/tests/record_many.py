# SPDX-License-Identifier: GPL-2.0-or-later
"""Many recordings at once, each in its own process, for a test to kill.

usage: record_many.py SPOOL COUNT

Imports once and then forks, because importing takes most of the time of a start. Prints each child's pid and its spool.
"""

import os
import sys
from pathlib import Path

from happe_power.cli.program import Commands, main

Commands("").loaded("record")  # imports it
for number in range(int(sys.argv[2])):
    spool = f"{sys.argv[1]}/{number}"
    pid = os.fork()
    if pid == 0:
        sys.stderr = Path(f"{spool}.log").open("w")  # noqa: SIM115 - until it is killed
        source = f"{spool}.toml"
        Path(source).write_text(f'kind = "sim"\nrate = 2000\nseed = {number}\n')
        where = ["--study", "a", "--no-upload", "--spool", spool]
        main(["record", "--source", source, *where, "--part-seconds", "1", "--duration", "30s"])
    print(pid, spool, flush=True)
for _ in range(int(sys.argv[2])):
    os.wait()
