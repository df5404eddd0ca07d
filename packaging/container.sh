#!/bin/sh
# Builds the images of compose.yaml: localhost/happe-server, happe-database and happe-store. It takes the packages from
# build/packages, or from the folder HAPPE_PACKAGES, and builds versitygw with Go.
#   usage: packaging/container.sh [OPTIONS OF buildah build]     e.g. --build-arg BASE=debian:trixie-slim
# The packages must be for the release that BASE is (default: debian:bookworm-slim).
set -eu
cd "$(dirname "$0")/.."
context=build/container
packages=${HAPPE_PACKAGES:-build/packages}
rm -rf $context
mkdir -p $context
tools/versitygw.sh build/versitygw
cp packaging/container/* "$packages"/happe-study-server_*.deb "$packages"/happe-python3_*.deb build/versitygw/versitygw $context
for target in database store server; do
    buildah build --format docker --target $target --tag localhost/happe-$target "$@" $context
done
