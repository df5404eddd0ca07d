#!/bin/sh
# The paper's two studies in simulation alone, without a server, and a page that shows them.
#   usage: tools/simulation.sh [FOLDER]        (build/simulation)
set -eu
cd "$(dirname "$0")/.."
out=${1:-build/simulation}

echo
echo "== Section A.5: 24 simulated participants play four games under ondemand and under HAPPE, two minutes each"
build/bin/happe-sim study --out "$out/paper"
echo
echo "== Section A.3: ten simulated participants at five fixed frequencies"
build/bin/happe-sim study --protocol a3 --out "$out/a3" >"$out/a3.log" 2>&1 || { cat "$out/a3.log"; exit 1; }
build/venv/bin/python governor/sim/report/report.py "$out/paper" "$out/a3" "$out"
echo
echo "Open in a browser: file://$(realpath "$out")/report.html"
