#!/bin/sh
# Runs a whole study with simulated people and shows its results beside the paper's (demo/). Ctrl-C leaves nothing behind.
#   usage: tools/demo.sh [--keep FOLDER] [--exit] [--participants N] [--seed N]
set -eu
exec "$(dirname "$0")/../build/venv/bin/python" "$(dirname "$0")/../demo" "$@"
