#!/bin/sh
# Runs a command so that every user can reach this tree. Under root, some tests become another user, who needs programs and
# sources. But other users cannot enter a tree in root's home. Then the command gets a mount namespace in which the home is
# open and holds only this tree. Otherwise this script just runs the command.
#   usage: tools/reachable.sh COMMAND...      e.g. tools/reachable.sh build/venv/bin/python -m pytest ui
set -eu
cd "$(dirname "$0")/.."
reaches() { setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$1"; }
if [ "$(id -u)" -ne 0 ] || reaches "$PWD"; then
    exec "$@"
fi

closed=$PWD
until reaches "$(dirname "$closed")"; do
    closed=$(dirname "$closed")
done
# shellcheck disable=SC2016  # the inner shell's
exec unshare --mount sh -euc '
    closed=$1 tree=$PWD
    shift
    aside=$(mktemp -d)
    mount --bind "$tree" "$aside"
    mount -t tmpfs -o mode=755 home "$closed"
    (umask 022 && mkdir -p "$tree")
    mount --move "$aside" "$tree"
    rmdir "$aside"
    cd "$tree"
    exec "$@"' sh "$closed" "$@"
