#!/bin/sh
# Builds the images of packaging/container from the packages of this release of Debian. Then it plays the study of
# study-server/tests/test_two_servers.py in the containers of compose.yaml, with HAPPE_PARTICIPANTS, and kills HAPPE_KILLS
# processes meanwhile. The base image is a minimal Debian from mmdebstrap. This script keeps its files in build and runs in
# its own namespaces, so it touches no image, container or network of this machine. Needs root.
#   usage: packaging/container-test.sh
set -eu
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "container-test: be root: it runs containers in build/container-test" >&2; exit 77; }
here=$PWD/build/container-test
# shellcheck disable=SC1091  # not ours
release=$(. /etc/os-release && echo "$VERSION_CODENAME")

if [ "${1-}" != inside ]; then
    trap 'rm -rf "$here"' EXIT
    trap 'exit 130' INT TERM HUP
    rm -rf "$here"
    mkdir -p "$here/storage"
    export HAPPE_PACKAGES="build/releases/$release/packages" # tools/releases.sh makes them in an hour
    ls "$HAPPE_PACKAGES"/happe-study-server_*.deb 2>/dev/null || { make package && HAPPE_PACKAGES=build/packages; }
    tools/debian_folder.sh "$here/debian" "" "$release"
    unshare --mount --mount-proc --pid --fork --kill-child sh "$0" inside
    exit
fi

# crun refuses a machine that has both kinds of cgroups.
! mountpoint -q /sys/fs/cgroup/unified || umount /sys/fs/cgroup/unified

# The folders that Podman writes to.
for each in /run/containers /run/crun /run/libpod /run/netns /dev/shm; do
    mkdir -p $each
    mount -t tmpfs tmpfs $each
done
mkdir -p /var/lib/containers
mount --bind "$here/storage" /var/lib/containers
export DISABLE_HC_SYSTEMD=true # without systemd there is no timer to check each container's health
tar -c -C "$here/debian" . | podman import --quiet - localhost/debian >/dev/null
begin=$(date +%s)
packaging/container.sh --build-arg BASE=localhost/debian --network host
echo "container-test: the images took $(($(date +%s) - begin)) s"
podman images
HAPPE_COMPOSE=1 unshare --net sh -euc 'ip link set lo up && exec "$@"' sh \
    build/venv/bin/python -m pytest -p no:cacheprovider --durations=1 study-server/tests/test_two_servers.py
