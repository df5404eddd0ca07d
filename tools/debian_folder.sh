#!/bin/sh
# Makes a new minimal Debian in FOLDER from this machine's apt sources. It trusts the certificates that this machine trusts.
# Needs root.
#   usage: tools/debian_folder.sh FOLDER [PACKAGES [RELEASE]]
# PACKAGES: more packages, their names separated by commas. RELEASE: bookworm (Debian 12) or another one. sid has no suites
# of updates.
set -eu
folder=$1
cd "$(dirname "$0")/.."
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
PYTHONPATH=tests/vm python3 -B - "$folder" "${2-}" "${3-bookworm}" <<'END'
import subprocess
import sys

import image

options = ["--quiet", "--variant=minbase", "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr", *image.apt_options()]
options += [f"--include={sys.argv[2]}"] if sys.argv[2] else []
release = sys.argv[3]
sources = [line for line in image.debian_sources() if release != "sid" or line.split()[2] == "bookworm"]
sources = "\n".join(sources).replace("bookworm", release) + "\n"
subprocess.run(["mmdebstrap", *options, release, sys.argv[1], "-"], input=sources, text=True, check=True)
END
cp /etc/resolv.conf "$folder/etc/resolv.conf"
own=usr/local/share/ca-certificates
if [ -d "/$own" ]; then
    mkdir -p "$folder/$own"
    cp -r "/$own/." "$folder/$own"
    [ ! -x "$folder/usr/sbin/update-ca-certificates" ] || chroot "$folder" update-ca-certificates >/dev/null
fi
