#!/bin/sh
# Makes a minimal Debian 12 in build/package-root, and has the packages of build/packages live in it: installation, first run,
# study, upgrade, removal, purge. As root.
#   usage: packaging/package-test.sh
set -eu
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "package-test: be root: it makes a system in build/package-root" >&2; exit 77; }
root=$PWD/build/package-root

unmount() {
    ! mountpoint -q "$root/proc" || umount "$root/proc"
    ! mountpoint -q "$root/dev" || umount -R "$root/dev"
}
trap unmount EXIT
unmount
rm -rf "$root"
echo "package-test: making a Debian 12"
PYTHONPATH=tests/vm:tests build/venv/bin/python - "$root" >build/package-root.log 2>&1 <<'END' || { tail build/package-root.log; exit 1; }
import subprocess
import sys

import image

options = ["--quiet", "--variant=minbase", "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr", *image.apt_options()]
packages = "--include=python3,systemd,dbus,dpkg-dev,ca-certificates"
sources = "\n".join(image.debian_sources()) + "\n"
subprocess.run(["mmdebstrap", *options, packages, "bookworm", sys.argv[1], "-"], input=sources, text=True, check=True)
END
mkdir -p "$root/packages"
cp build/packages/happe*.deb packaging/debian/tests/lifecycle "$root/packages"
cp /etc/resolv.conf "$root/etc/resolv.conf"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"
chroot "$root" /packages/lifecycle /packages >build/package-test.log 2>&1 ||
    { tail -n 40 build/package-test.log; echo "package-test: build/package-test.log has all of it" >&2; exit 1; }
grep '^ok:' build/package-test.log
tail -n 1 build/package-test.log
