#!/bin/sh
# Builds the image localhost/happe-server of packaging/Containerfile from the packages of build/packages.
#   usage: packaging/container.sh [OPTIONS OF buildah build]     e.g. --build-arg BASE=debian:trixie-slim
set -eu
cd "$(dirname "$0")/.."
context=build/container
rm -rf $context
mkdir -p $context
cp packaging/Containerfile build/packages/happe-study-server_*.deb build/packages/happe-python3_*.deb $context
buildah build --format docker --tag localhost/happe-server "$@" $context
