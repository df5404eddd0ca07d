#!/bin/sh
# Copies the tree as git lists it to FOLDER, and adds files that a build of packages would otherwise fetch: wheels/, htmx,
# uPlot.
#   usage: packaging/package_source.sh FOLDER [governor]      governor: fetches nothing, because its package needs nothing
set -eu
cd "$(dirname "$0")/.."
folder=$1

copy_tree() {
    rm -rf "$folder"
    mkdir -p "$folder"
    git ls-files -z -co --exclude-standard | tar -c --null --files-from=- | tar -x -C "$folder"
}

if [ "${2-}" = governor ]; then
    copy_tree
    exit
fi

# pip fetches the Python libraries once and checks them against the hashes of the lock.
lock=packaging/requirements.txt
wheels=build/package-wheels
decided_by="/etc/os-release packaging/python-from-debian.toml tools/python_parts.py $(echo ./*/pyproject.toml profiles/python/pyproject.toml)"
# shellcheck disable=SC2086  # a list of words
if ! cat $lock $decided_by | cmp -s - "$wheels/.of"; then
    echo "package: fetching the Python libraries of $lock"
    rm -rf "$wheels"
    /usr/bin/python3 -B tools/python_parts.py $lock "$wheels/lists"
    for part in common server power static; do
        /usr/bin/python3 -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --require-hashes \
            --requirement "$wheels/lists/$part.txt" --wheel-dir "$wheels/$part"
    done
    # shellcheck disable=SC2086  # the same
    cat $lock $decided_by >"$wheels/.of"
fi

copy_tree
for wheel in "$wheels"/static/*.whl; do
    /usr/bin/python3 -m zipfile --extract "$wheel" "$wheels/static"
done
tools/served.sh "$wheels/static" "$folder/study-server/src/happe_study/static/vendor" # git ignores it
cp -r "$wheels" "$folder/wheels"
