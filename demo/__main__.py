# SPDX-License-Identifier: GPL-2.0-or-later
"""python demo: see happe_demo."""

import os

from happe_demo.program import main

# For those that import numpy: threads of its own for vectors this short only wait for each other, eight times as long
# as they work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

main()
