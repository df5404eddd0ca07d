#!/bin/sh
# A whole study with simulated people, and its results beside the paper's: demo/. Ctrl-C leaves nothing behind.
#   usage: tools/demo.sh [--keep FOLDER] [--exit] [--participants N] [--seed N]
set -eu
exec "$(dirname "$0")/../build/venv/bin/python" "$(dirname "$0")/../demo" "$@"
