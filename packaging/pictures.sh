#!/bin/sh
# Renews the pictures in docs/img from the demonstration.
set -eu
cd "$(dirname "$0")/.."
rm -rf build/pictures
packaging/demo.sh build/pictures >/dev/null
mkdir -p docs/img
cp build/pictures/figure-a3.svg docs/img/training-run.svg
cp build/pictures/figure-a4-power.svg docs/img/power-by-participant.svg
for profiles in build/pictures/figure-uafp-*.svg; do
    cp "$profiles" docs/img/profiles.svg
    break # those of the first participant shown
done
ls docs/img
