#!/bin/sh
# Installs the built programs, as on a machine, into a new folder BUILD/NAME, and prints that folder's whole path.
#   usage: tools/install_tree.sh BUILD NAME    e.g. build/dev installed
set -eu
cd "$(dirname "$0")/.."
tree=$PWD/$1/$2
log=build/$2.log
rm -rf "$tree"
DESTDIR=$tree cmake --install "$1" --prefix /usr --strip >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
echo "$tree"
