# SPDX-License-Identifier: GPL-2.0-or-later
"""python demo: see happe_demo."""

import os

from happe_demo.program import main

# Only one thread in processes that import numpy. With such short vectors, further threads only wait for each other.
# This takes eight times as long as the work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

main()
