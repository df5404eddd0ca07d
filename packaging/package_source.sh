#!/bin/sh
# Copies the tree as git lists it to FOLDER, and there what a build of packages would otherwise fetch: wheels/, and htmx.
#   usage: packaging/package_source.sh FOLDER
set -eu
cd "$(dirname "$0")/.."
folder=$1

# The libraries in Python are fetched once, checked against the hashes of the lock.
lock=packaging/requirements.txt
wheels=build/package-wheels
if ! cat $lock tools/python_parts.py ./*/pyproject.toml profiles/python/pyproject.toml | cmp -s - "$wheels/.of"; then
    echo "package: fetching the Python libraries of $lock"
    rm -rf "$wheels"
    build/venv/bin/python tools/python_parts.py $lock "$wheels/lists"
    for part in common server power; do
        /usr/bin/python3 -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --require-hashes \
            --requirement "$wheels/lists/$part.txt" --wheel-dir "$wheels/$part"
    done
    cat $lock tools/python_parts.py ./*/pyproject.toml profiles/python/pyproject.toml >"$wheels/.of"
fi

rm -rf "$folder"
mkdir -p "$folder"
git ls-files -z -co --exclude-standard | tar -c --null --files-from=- | tar -x -C "$folder"
vendor=study-server/src/happe_study/static/vendor/htmx.min.js # tools/setup.sh put it there; git ignores it
install -D -m 644 "$vendor" "$folder/$vendor"
cp -r "$wheels" "$folder/wheels"
