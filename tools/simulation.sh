#!/bin/sh
# Simulates the paper's two studies without a server, and makes the server's report of each.
#   usage: tools/simulation.sh [FOLDER]        (build/simulation)
set -eu
cd "$(dirname "$0")/.."
out=${1:-build/simulation}

study() { # PROTOCOL
    build/bin/happe-sim study --protocol "$1" --out "$out/$1"
    rm -rf "${out:?}/$1/report"
    build/bin/happe-server analyse "$out/$1/export" --power "$out/$1/measures.json" --out "$out/$1/report"
}

echo
echo "== Section A.5: 24 simulated participants play four games under ondemand and under HAPPE, two minutes each"
study paper
echo
echo "== Section A.3: ten simulated participants at five fixed frequencies"
study a3
echo
echo "Open in a browser: file://$(realpath "$out")/paper/report/report.html, and file://$(realpath "$out")/a3/report/report.html"
