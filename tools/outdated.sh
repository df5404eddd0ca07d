#!/bin/sh
# Lists the Python libraries that the packages carry, with their ages and newer releases. Asks the index of Python packages.
set -eu
cd "$(dirname "$0")/.."
tools=build/venv-locks
[ -x $tools/bin/pip-compile ] || { /usr/bin/python3 -m venv $tools && $tools/bin/pip install --quiet --upgrade pip pip-tools; }
/usr/bin/python3 -B tools/python_parts.py packaging/requirements.txt | $tools/bin/python -B tools/outdated.py packaging/requirements.txt
