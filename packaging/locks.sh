#!/bin/sh
# Pins the Python packages of every pyproject.toml, with hashes and without addresses. Django and what it needs are left out:
# django-htmx is there for the htmx in it.
set -eu
cd "$(dirname "$0")/.."
tools=build/venv-locks
[ -x $tools/bin/pip-compile ] || { /usr/bin/python3 -m venv $tools && $tools/bin/pip install --quiet pip-tools; }
for set in demo all; do
    extras="--extra $set"
    [ $set = all ] || extras="$extras --extra analysis" # of the study server
    # shellcheck disable=SC2086  # a list of words
    CUSTOM_COMPILE_COMMAND="make locks" $tools/bin/pip-compile --quiet --generate-hashes --no-emit-index-url \
        --no-emit-trusted-host --no-emit-find-links --strip-extras --upgrade \
        --unsafe-package django --unsafe-package asgiref --unsafe-package sqlparse \
        $extras --output-file "packaging/requirements-$set.txt" \
        pyproject.toml study-server/pyproject.toml power-logger/pyproject.toml
done
