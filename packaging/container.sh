#!/bin/sh
# Builds the images of compose.yaml, localhost/happe-server, happe-database and happe-store, from the packages in build/packages
# (or in the folder HAPPE_PACKAGES) and from versitygw, which Go builds here.
#   usage: packaging/container.sh [OPTIONS OF buildah build]     e.g. --build-arg BASE=debian:trixie-slim
# The packages must be of the release that BASE is (debian:bookworm-slim, if not given).
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
