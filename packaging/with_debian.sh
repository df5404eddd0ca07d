#!/bin/sh
# Runs a command that may chroot into the Debian in FOLDER: with what such a system needs mounted there, in namespaces of the
# command's own, so that no mount and no process is left when it has ended. As root.
#   usage: packaging/with_debian.sh FOLDER COMMAND...      e.g. packaging/with_debian.sh FOLDER chroot FOLDER apt-get update
set -eu
# shellcheck disable=SC2016  # the inner shell's
exec unshare --mount --mount-proc --pid --fork --kill-child sh -euc '
    mount --bind "$1" "$1" # the root of a system is a mount point
    mount -t proc proc "$1/proc"
    mount -t sysfs -o ro sysfs "$1/sys"
    mount --rbind /dev "$1/dev"
    shift
    exec "$@"' sh "$@"
