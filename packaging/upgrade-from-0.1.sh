#!/bin/sh
# Upgrades the packages of release 0.1.0 to those of build/packages in a Debian 12 of its own, with data of 0.1.0: profiles, a
# study in progress and a recording. Checks that nothing is lost. Needs root.
#   usage: packaging/upgrade-from-0.1.sh
# build/upgrade keeps the packages of 0.1.0, and the study that its programs made, for the next run.
set -eu
cd "$(dirname "$0")/.."
commit=5954821993442125eba6768b04f3a68e568cce46 # 0.1.0
work=$PWD/build/upgrade
tree=$work/happe-0.1.0
root=$work/root
[ "$(id -u)" -eq 0 ] || { echo "upgrade: run this as root: it makes a system in $root" >&2; exit 77; }
set -- build/packages/happe*_amd64.deb
[ -e "$1" ] || { echo "upgrade: build/packages has no packages; run make package" >&2; exit 66; }
mkdir -p "$work"

if [ ! -e "$work/.packages" ]; then
    echo "upgrade: building the packages of 0.1.0"
    rm -rf "$tree"
    mkdir -p "$tree"
    git archive "$commit" | tar -x -C "$tree"
    # Its scripts list their files with git. pip must not resolve dependencies: an index has newer libraries than the lock.
    git -C "$tree" init --quiet
    git -C "$tree" add --all
    # lintian already checked that release, and takes longer than the build.
    mkdir -p "$work/instead"
    ln -sf /bin/true "$work/instead/lintian"
    (cd "$tree" && PATH=$work/instead:$PATH PIP_NO_DEPS=1 make package) >"$work/packages.log" 2>&1 ||
        { tail -n 20 "$work/packages.log"; echo "upgrade: $work/packages.log has all of it" >&2; exit 1; }
    touch "$work/.packages"
fi

if [ ! -e "$work/study/facts.json" ]; then
    echo "upgrade: 0.1.0 begins a study"
    rm -rf "$work/study" "$work/programs"
    dpkg-deb --extract "$tree"/build/packages/happe-governor_*.deb "$work/programs"
    HAPPE_SIM=$work/programs/usr/bin/happe-sim PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$tree/packaging/demo \
        "$tree/build/venv/bin/python" packaging/upgrade/begin_study.py "$work/study"
fi

echo "upgrade: making a Debian 12"
trap 'rm -rf "$root"' EXIT
tools/debian_folder.sh "$root" python3,systemd,dbus,ca-certificates >"$work/root.log" 2>&1 || { tail "$work/root.log"; exit 1; }
# An installation must start no service, because it would listen on this machine's network.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
mkdir -p "$root/upgrade/old" "$root/upgrade/new"
cp "$tree"/build/packages/happe*.deb "$root/upgrade/old"
cp build/packages/happe*.deb "$root/upgrade/new"
cp -r "$work/study" packaging/upgrade/live_through.py tests/patience.py "$root/upgrade"
tools/with_debian.sh in "$root" sh -euc 'apt-get -qq update && python3 -B /upgrade/live_through.py'
