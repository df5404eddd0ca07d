#!/bin/sh
# Builds HAPPE's packages from a copy of the tree as git lists it, into build/packages: Debian's, wheels, and lintian's opinion.
#   usage: packaging/package.sh
set -eu
cd "$(dirname "$0")/.."
tree=$PWD
copy=$tree/build/package
out=$tree/build/packages
version=$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)

# The libraries in Python are fetched once, checked against the hashes of the lock.
lock=packaging/requirements-all.txt
wheels=$tree/build/package-wheels
if ! cat $lock packaging/python_parts.py ./*/pyproject.toml | cmp -s - "$wheels/.of"; then
    echo "package: fetching the Python libraries of $lock"
    rm -rf "$wheels"
    build/venv/bin/python packaging/python_parts.py $lock "$wheels/lists"
    for part in common server power; do
        /usr/bin/python3 -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --require-hashes \
            --requirement "$wheels/lists/$part.txt" --wheel-dir "$wheels/$part"
    done
    cat $lock packaging/python_parts.py ./*/pyproject.toml >"$wheels/.of"
fi

echo "package: building version $version"
rm -rf "$copy" "$out"
mkdir -p "$copy/happe" "$out"
git ls-files -z -co --exclude-standard | tar -c --null --files-from=- | tar -x -C "$copy/happe"
vendor=study-server/src/happe_study/static/vendor/htmx.min.js # packaging/setup.sh fetched it; git ignores it
install -D -m 644 "$vendor" "$copy/happe/$vendor"
cp -r "$copy/happe/packaging/debian" "$copy/happe/debian"
cp -r "$wheels" "$copy/happe/wheels"

# ccache, where there is one: this compiles all programs with other flags than `make build`.
if command -v ccache >/dev/null; then
    CCACHE_DIR=$(ccache --get-config cache_dir)
    export CCACHE_DIR CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
(cd "$copy/happe" && DEB_BUILD_OPTIONS="parallel=$(nproc) noautodbgsym" nice dpkg-buildpackage --build=binary --no-sign) \
    >build/package.log 2>&1 || { tail -n 60 build/package.log; echo "package: build/package.log has all of it" >&2; exit 1; }
mv "$copy"/happe*.deb "$copy"/happe*.changes "$copy"/happe*.buildinfo "$out"
cp "$copy"/happe/wheels/own/*/*.whl "$out"

echo "package: lintian"
lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs --info "$out"/happe*.changes
du -h "$out"/*.deb "$out"/*.whl
