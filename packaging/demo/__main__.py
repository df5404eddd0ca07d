# SPDX-License-Identifier: GPL-2.0-or-later
"""python packaging/demo: see happe_demo."""

import os
import sys

# Before numpy: threads of its own for vectors this short only wait for each other, eight times as long as they work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

try:
    from happe_demo.program import main
except KeyboardInterrupt:
    sys.exit(130)

main()
