#!/bin/sh
# Runs mutation testing (tools/mutants/run.py). The libraries that only it needs are in a folder of their own.
#   usage: tools/mutants.sh [OPTIONS] [cpp|python ...]     tools/mutants.sh --help
set -eu
cd "$(dirname "$0")/.."
venv=build/mutants/venv
if ! cmp -s tools/mutants/requirements.txt $venv/requirements.txt; then
    python3 -m venv --clear $venv
    $venv/bin/pip install -q -r tools/mutants/requirements.txt
    cp tools/mutants/requirements.txt $venv/requirements.txt
fi
exec $venv/bin/python tools/mutants/run.py "$@"
