#!/bin/sh
# Tests the packages in a minimal Debian of their own: installation, first run, study, upgrade, removal and purge, all by
# autopkgtest. Needs root.
#   usage: packaging/package-test.sh [RELEASE]
# Without RELEASE it takes the packages of build/packages. With bookworm or trixie it builds them first in a bare system of
# that release (build/packages-RELEASE).
set -eu
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "package-test: be root: it makes a system in build/package-root" >&2; exit 77; }
root=$PWD/build/package-root
source=build/package-tests
results=build/package-results
log=build/package-test.log
trap 'rm -rf "$root"' EXIT

packages=build/packages
# shellcheck disable=SC1091  # not ours
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
if [ $# -gt 0 ]; then
    release=$1
    packages=build/packages-$release
    rm -rf "$packages"
    mkdir -p "$packages"
    HAPPE_DEBIAN=$release HAPPE_PACKAGES=$PWD/$packages tools/bare-root.sh root make package
fi
echo "package-test: making a Debian $release"
tools/debian_folder.sh "$root" python3,systemd,dbus,dpkg-dev,apt-utils,ca-certificates "$release" >$log 2>&1 || { tail $log; exit 1; }
# An installation must start no service, because it would listen on this machine's network.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
rm -rf $source $results
mkdir -p $source
cp -r packaging/debian $source/debian
# autopkgtest cannot reset a chroot; this script makes one for this test and deletes it afterwards.
tools/with_debian.sh beside "$root" \
    autopkgtest --no-built-binaries --setup-commands='apt-get update' --ignore-restrictions=breaks-testbed --output-dir=$results \
    "$packages"/happe*.deb $source -- chroot "$root" >$log 2>&1 ||
    { tail -n 40 $log; echo "package-test: $log has all of it" >&2; exit 1; }
grep -o 'ok: .*' $log
tail -n 4 $results/summary
