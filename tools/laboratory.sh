#!/bin/sh
# Installs the built programs in an emulated ThinkPad T61 and plays a shortened study there. This machine is the study server
# and the measuring station.
#   usage: tools/laboratory.sh [OPTIONS OF tests/vm/laboratory]    e.g. --participants 1
# HAPPE_BUILD names another build folder than build/dev.
set -eu
cd "$(dirname "$0")/.."
build=${HAPPE_BUILD:-build/dev}
tree=$(tools/install_tree.sh "$build" laboratory)
PYTHONPATH=demo:tests:tests/system:tests/vm build/venv/bin/python -m laboratory --root "$tree" --results "$PWD/$build/laboratory-results" "$@"
