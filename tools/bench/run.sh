#!/bin/sh
# Measures speed and memory, each beside a baseline of the same run. The programs run in build, on the tree's disk.
set -eu
cd "$(dirname "$0")/../.."
cmake --preset dev >build/dev.log 2>&1 || { cat build/dev.log; exit 1; }
cmake --build --preset dev --target happed happe-indicator happe-ui-window happe-baseline >build/dev.log 2>&1 ||
    { cat build/dev.log; exit 1; }
cd build
export PYTHONPATH="../tests:../tests/system:../tests/vm:../ui/tests:../demo:../profiles/python/src"
PYTHONPATH="$PYTHONPATH:../power-logger/src:../power-logger/tests:../study-server/src:../study-server/tests"
for part in governor indicator recording server; do
    venv/bin/python "../tools/bench/$part.py"
done
