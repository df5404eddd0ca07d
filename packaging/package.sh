#!/bin/sh
# Builds HAPPE's Debian packages and wheels for this release of Debian from a copy of the tree as git lists it, and checks
# them with lintian. They are in build/packages. The version names the release: 0.2.0+deb12.
#   usage: packaging/package.sh [governor]      governor: only the governor's package, without lintian
set -eu
cd "$(dirname "$0")/.."
copy=build/package
out=build/packages
# shellcheck disable=SC1091  # not ours
release=$(. /etc/os-release && echo "deb${VERSION_ID:-sid} $VERSION_CODENAME")
version=$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)+${release% *}

packaging/package_source.sh $copy/happe "$@"
cp -r $copy/happe/packaging/debian $copy/happe/debian
sed -i "1s/(.*) [a-z]*;/($version) ${release#* };/" $copy/happe/debian/changelog
if [ "${1-}" != governor ]; then
    cat $copy/happe/wheels/lists/*.depends | sort -u | sed 's/.*/ & <!pkg.happe.governor>,/' >$copy/libraries
    sed -i "/^ python3-wheel /r $copy/libraries" $copy/happe/debian/control
fi
rm -rf $out $copy/happe_* $copy/happe-*
mkdir -p $out

echo "package: building version $version, for some minutes; build/package.log shows the progress"
(
    cd $copy/happe
    DEB_BUILD_OPTIONS="parallel=$(nproc) noautodbgsym" DEB_BUILD_PROFILES="${1:+pkg.happe.$1}" \
        tools/with_ccache.sh dpkg-buildpackage --build=binary --no-sign
) >build/package.log 2>&1 || { tail -n 60 build/package.log; echo "package: build/package.log has all of it" >&2; exit 1; }
mv $copy/happe*.deb $copy/happe*.changes $copy/happe*.buildinfo $out
if [ "${1-}" != governor ]; then
    cp $copy/happe/wheels/own/*/*.whl $out
    echo "package: lintian"
    # Debian 13's lintian demands a home page in the window's description, and the project has none. `make lint` checks the
    # rest. sid's lintian does not know a tag that the overrides name.
    suppressed=initial-upload-closes-no-bugs
    [ "${release% *}" = deb12 ] || suppressed=$suppressed,appstream-metadata-validation-failed,alien-tag
    lintian --fail-on error,warning --suppress-tags "$suppressed" --info $out/happe*.changes
fi
du -h $out/*
