#!/bin/sh
# Installs the built programs in an emulated ThinkPad T61 and runs the tests there.
#   usage: tools/vm-test.sh [OPTIONS OF tests/vm/suite.py]    e.g. --boot real_time -- -k kill
# HAPPE_BUILD names another build folder than build/dev.
set -eu
cd "$(dirname "$0")/.."
build=${HAPPE_BUILD:-build/dev}
tree=$(tools/install_tree.sh "$build" installed)
build/venv/bin/python tests/vm/power_tree.py "$build/power"
build/venv/bin/python tests/vm/suite.py --root "$tree" --with "power=$PWD/$build/power" \
    --with real_time=docs/tutorials --results "$build/vm-results" "$@"
