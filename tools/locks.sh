#!/bin/sh
# Pins the Python packages of every pyproject.toml, with the hashes of the files that tools/compile_lock.py chooses, and
# without addresses. The lock leaves out Django and what it needs, because HAPPE takes only htmx out of django-htmx. It
# also leaves out happe-shared, which is profiles/python; this script makes a wheel of it for the resolver.
set -eu
cd "$(dirname "$0")/.."
tools=build/venv-locks
[ -x $tools/bin/pip-compile ] || { /usr/bin/python3 -m venv $tools && $tools/bin/pip install --quiet --upgrade pip pip-tools; }
$tools/bin/pip wheel --quiet --no-deps --wheel-dir $tools/own ./profiles/python
$tools/bin/python tools/compile_lock.py --quiet --generate-hashes --no-header --annotation-style line \
    --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --strip-extras --upgrade \
    --find-links $tools/own --unsafe-package happe-shared \
    --unsafe-package asgiref --unsafe-package django --unsafe-package sqlparse \
    --extra demo --extra test --extra all --output-file packaging/requirements.txt \
    pyproject.toml profiles/python/pyproject.toml study-server/pyproject.toml power-logger/pyproject.toml
