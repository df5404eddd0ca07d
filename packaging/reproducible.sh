#!/bin/sh
# Builds the packages twice, the second time from a clone in a folder of another name, and compares them byte by byte.
#   usage: packaging/reproducible.sh
set -eu
cd "$(dirname "$0")/.."
other=$PWD/build/reproduced/another-name
rm -rf build/reproduced
trap 'rm -rf build/reproduced' EXIT
packaging/package.sh
git clone --quiet . "$other"
(cd "$other" && CCACHE_DISABLE=1 TZ=Pacific/Kiritimati LANG=C packaging/package.sh)
status=0
for first in build/packages/*.deb; do
    if cmp "$first" "$other/$first"; then
        sha256sum "$first"
    else
        status=1
    fi
done
exit $status
