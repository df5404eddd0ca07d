#!/bin/sh
# Builds HAPPE's packages from a copy of the tree as git lists it, into build/packages: Debian's, wheels, and lintian's opinion.
#   usage: packaging/package.sh
set -eu
cd "$(dirname "$0")/.."
copy=build/package
out=build/packages
version=$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)

packaging/package_source.sh $copy/happe
cp -r $copy/happe/packaging/debian $copy/happe/debian
rm -rf $out $copy/happe_* $copy/happe-*
mkdir -p $out

echo "package: building version $version"
(
    cd $copy/happe
    DEB_BUILD_OPTIONS="parallel=$(nproc) noautodbgsym" tools/with_ccache.sh dpkg-buildpackage --build=binary --no-sign
) >build/package.log 2>&1 || { tail -n 60 build/package.log; echo "package: build/package.log has all of it" >&2; exit 1; }
mv $copy/happe*.deb $copy/happe*.changes $copy/happe*.buildinfo $out
cp $copy/happe/wheels/own/*/*.whl $out

echo "package: lintian"
lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs --info $out/happe*.changes
du -h $out/*.deb $out/*.whl
