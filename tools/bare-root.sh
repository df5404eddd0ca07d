#!/bin/sh
# Does what README tells a newcomer: makes a bare Debian, installs git and make in it, clones this tree's last commit, runs
# a command in the clone, and prints how long that took. Needs root.
#   usage: tools/bare-root.sh root|sudo COMMAND...      e.g. tools/bare-root.sh sudo make demo
# root: the command runs as root, and there is no sudo; sudo: as a user who may use it. HAPPE_DEBIAN is the release:
# bookworm (Debian 12, the default), trixie (Debian 13) or sid. HAPPE_ROOT is the folder of that Debian (build/bare-root);
# this script removes it at the end. If HAPPE_PACKAGES is a folder, the script copies the built packages there. pip, npm and
# proxies have the settings of this machine.
set -eu
cd "$(dirname "$0")/.."
root=${HAPPE_ROOT:-$PWD/build/bare-root}
release=${HAPPE_DEBIAN:-bookworm}
case ${1-} in
    root) user=root home=/root ;;
    sudo) user=ana home=/home/ana ;;
    *) echo "usage: tools/bare-root.sh root|sudo COMMAND..." >&2; exit 64 ;;
esac
[ "$(id -u)" -eq 0 ] || { echo "bare-root: run this as root: it makes a system in $root" >&2; exit 77; }
shift

trap 'rm -rf "$root"' EXIT
trap 'exit 130' INT TERM HUP
echo "bare-root: making a Debian $release"
if [ "$user" = root ]; then
    tools/debian_folder.sh "$root" "" "$release"
else
    tools/debian_folder.sh "$root" sudo "$release"
    chroot "$root" useradd --create-home --shell /bin/bash "$user"
    echo "$user ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/$user"
    chmod 440 "$root/etc/sudoers.d/$user"
fi
tools/with_debian.sh in "$root" sh -euc 'apt-get -qq update && apt-get -qq install -y git make >/dev/null && apt-get clean'
git clone --quiet . "$root$home/happe"
chroot "$root" chown -R "$user:" "$home/happe"
echo "bare-root: $(chroot "$root" dpkg-query -W | wc -l) packages and $(du -sm "$root" | cut -f 1) MB, commit $(git rev-parse --short HEAD), as $user: $*"

settings=$(env | grep -E '^(PIP_(INDEX_URL|EXTRA_INDEX_URL|CERT|DEFAULT_TIMEOUT)|NPM_CONFIG_.*|npm_config_.*|https?_proxy|no_proxy)=' || true)
begin=$(date +%s)
status=0
# shellcheck disable=SC2086  # each word is a setting
tools/with_debian.sh in "$root" runuser -u "$user" -- env -i HOME="$home" USER="$user" LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin $settings sh -euc 'cd ~/happe && exec "$@"' sh "$@" || status=$?
seconds=$(($(date +%s) - begin))
count=$(chroot "$root" dpkg-query -W | wc -l)
size=$(du -sm "$root" | cut -f 1)
# The files that apt and pip fetched and kept.
fetched=$(du -cm "$root/var/cache/apt/archives" "$root$home/.cache/pip" 2>/dev/null | tail -n 1 | cut -f 1)
echo "bare-root: $* as $user ended with $status after $seconds s, with $count packages, $size MB, $fetched MB fetched"
[ "$status" -ne 0 ] || [ -z "${HAPPE_PACKAGES-}" ] || cp "$root$home/happe/build/packages/"* "$HAPPE_PACKAGES"
exit "$status"
