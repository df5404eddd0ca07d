#!/bin/sh
# Pins the Python packages of pyproject.toml, with hashes and without addresses.
set -eu
cd "$(dirname "$0")/.."
tools=build/venv-locks
[ -x $tools/bin/pip-compile ] || { /usr/bin/python3 -m venv $tools && $tools/bin/pip install --quiet pip-tools; }
for set in demo all; do
    CUSTOM_COMPILE_COMMAND="make locks" $tools/bin/pip-compile --quiet --generate-hashes --no-emit-index-url \
        --no-emit-trusted-host --no-emit-find-links --strip-extras --allow-unsafe --upgrade \
        --extra "$set" --output-file "packaging/requirements-$set.txt" pyproject.toml
done
