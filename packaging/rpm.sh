#!/bin/sh
# Builds HAPPE's RPMs from a source tarball into build/packages, and compares what they have in them with the Debian packages
# that are there. On Debian nothing of what the spec requires is known to rpmbuild; tools/setup.sh has it installed.
#   usage: packaging/rpm.sh
set -eu
cd "$(dirname "$0")/.."
spec=packaging/rpm/happe.spec
version=$(sed -n 's/^Version: *//p' $spec)
[ "$version" = "$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)" ] ||
    { echo "rpm: $spec is of version $version, packaging/debian/changelog of another" >&2; exit 1; }
top=$PWD/build/rpm

rm -rf "$top"
mkdir -p "$top/SOURCES"
packaging/package_source.sh "$top/happe-$version"
tar -C "$top" -cf "$top/SOURCES/happe-$version.tar" "happe-$version"
rm -r "${top:?}/happe-$version"

echo "rpm: building version $version"
nodeps=
! [ -e /etc/debian_version ] || nodeps=--nodeps
tools/with_ccache.sh rpmbuild -bb $nodeps --define "_topdir $top" $spec >build/rpm.log 2>&1 ||
    { tail -n 60 build/rpm.log; echo "rpm: build/rpm.log has all of it" >&2; exit 1; }
rm -f build/packages/*.rpm
mv "$top"/RPMS/*/*.rpm build/packages
du -h build/packages/*.rpm
/usr/bin/python3 -B packaging/rpm/compare.py build/packages
