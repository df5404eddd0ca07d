#!/bin/sh
# Renews the pictures in docs/img: those of the demonstration, and pages of the study server as its tests see them.
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
HAPPE_PICTURES=1 build/venv/bin/python -m pytest -q -p no:cacheprovider study-server/tests/browser
for page in participant-rating study-locked-1280-light; do
    build/venv/bin/python -c 'import sys; from PIL import Image; Image.open(sys.argv[1]).quantize(64).save(sys.argv[2], optimize=True)' \
        "build/pictures/study-server/$page.png" "docs/img/$page.png"
done
ls docs/img
