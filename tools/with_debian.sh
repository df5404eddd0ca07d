#!/bin/sh
# Runs a command in the Debian in FOLDER, or beside it. It mounts there what such a system needs. The command has its own
# namespaces, so no mount and no process stays when it has ended. Needs root.
#   usage: tools/with_debian.sh in|beside FOLDER COMMAND...      e.g. tools/with_debian.sh in FOLDER apt-get update
# in: FOLDER is the command's root, as on a machine of its own; beside: the command may chroot into FOLDER.
set -eu
# shellcheck disable=SC2016  # the inner shell's
exec unshare --mount --mount-proc --pid --fork --kill-child sh -euc '
    how=$1
    back=$PWD
    cd "$2"
    mount --bind . .
    cd "$PWD" # enters what is mounted there now
    mount -t proc proc proc
    mount -t sysfs -o ro sysfs sys
    mount --rbind /dev dev
    shift 2
    case $how in
        in) pivot_root . . && umount -l . && cd / ;; # a process in a chroot may have no user namespace
        beside) cd "$back" ;;
        *) exit 64 ;;
    esac
    exec "$@"' sh "$@"
