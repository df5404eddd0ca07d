#!/bin/sh
# Runs a command where everybody can reach this tree. Some tests have root become another user, who must find programs and
# sources; root's home is closed to others. There the command sees, in a mount namespace of its own, an open and empty home
# with this tree in it. Anywhere else, and for anybody but root, it just runs.
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
