#!/bin/sh
# Measures speed and memory, each beside a baseline of the same run.
set -eu
cd "$(dirname "$0")/.."
cmake --preset dev >build/dev.log 2>&1 || { cat build/dev.log; exit 1; }
PYTHONPATH=study-server/src:study-server/tests:tests build/venv/bin/python study-server/bench/upload_speed.py
PYTHONPATH=study-server/src:study-server/tests:tests:profiles/python/src build/venv/bin/python study-server/bench/run_view.py
PYTHONPATH=study-server/src:study-server/tests:tests:demo build/venv/bin/python study-server/bench/crowd.py
PYTHONPATH=study-server/src:study-server/tests:tests:demo build/venv/bin/python study-server/bench/measuring.py
# Makes four databases of 10,000 participants. Each takes 1.5 GB and some minutes.
PYTHONPATH=study-server/src:study-server/tests:tests build/venv/bin/python study-server/bench/pages.py
# It runs in build, because it must write to the disk that the tree is on.
(cd build && PYTHONPATH=../profiles/python/src:../power-logger/src:../power-logger/tests venv/bin/python ../power-logger/bench/recording.py)
cmake --build --preset dev --target happed happe-indicator happe-ui-window happe-baseline happe-bench-step >build/dev.log 2>&1 || { cat build/dev.log; exit 1; }
build/venv/bin/python ui/bench/overlay_bench.py
build/venv/bin/python governor/bench/policies.py
build/bin/happe-bench-step
