# SPDX-License-Identifier: GPL-2.0-or-later
"""python demo: see happe_demo."""

import os

from happe_demo.program import main

# Only one thread in processes that import numpy. With vectors this short, further threads only wait for each other,
# which takes eight times as long as the work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

main()
