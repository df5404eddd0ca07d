#!/bin/sh
# Tests the packages of build/packages in an emulated ThinkPad T61, which has systemd and the kernel's cpufreq: installation,
# first run, governing, study, recording, upgrade, removal and purge.
#   usage: packaging/package-vm-test.sh [OPTIONS OF tests/vm/suite.py]    e.g. --boot packages -- -k upgrade
set -eu
cd "$(dirname "$0")/.."
folder=build/package-vm
rm -rf $folder
for boot in packages:happe-governor servers:happe-python3,happe-study-server,happe-power-logger; do
    debs=$folder/${boot%:*}/packages
    mkdir -p "$debs"
    for package in $(echo "${boot#*:}" | tr , ' '); do
        cp build/packages/"$package"_*.deb "$debs"
        packaging/debian/tests/older 0.0.1~vm "$debs" "$debs/$package"_*.deb
    done
done
[ $# -gt 0 ] || set -- --boot packages --boot servers
build/venv/bin/python tests/vm/suite.py --with packages=$folder/packages/packages --with servers=$folder/servers/packages \
    --results $folder/results "$@"
