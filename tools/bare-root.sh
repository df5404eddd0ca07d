#!/bin/sh
# Does what README says to a newcomer: makes a bare Debian, installs git and make in it, clones what is committed of this
# tree, runs a command in the clone, and says how long that took. As root.
#   usage: tools/bare-root.sh root|sudo COMMAND...      e.g. tools/bare-root.sh sudo make demo
# root: as root, and there is no sudo; sudo: as a user who has it. HAPPE_DEBIAN is the release: bookworm (Debian 12, unless
# told) or trixie (Debian 13, for `make demo`). HAPPE_ROOT is the folder of that Debian (build/bare-root); this script removes
# it at the end. The machine's settings of pip and npm, and of proxies, hold there too.
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
tools/with_debian.sh in "$root" sh -euc 'apt-get -qq update && apt-get -qq install -y git make >/dev/null'
git clone --quiet . "$root$home/happe"
chroot "$root" chown -R "$user:" "$home/happe"
echo "bare-root: $(chroot "$root" dpkg-query -W | wc -l) packages and $(du -sm "$root" | cut -f 1) MB, commit $(git rev-parse --short HEAD), as $user: $*"

settings=$(env | grep -E '^(PIP_(INDEX_URL|EXTRA_INDEX_URL|CERT|DEFAULT_TIMEOUT)|NPM_CONFIG_.*|npm_config_.*|https?_proxy|no_proxy)=' || true)
begin=$(date +%s)
status=0
# shellcheck disable=SC2086  # a setting a word
tools/with_debian.sh in "$root" runuser -u "$user" -- env -i HOME="$home" USER="$user" LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin $settings sh -euc 'cd ~/happe && exec "$@"' sh "$@" || status=$?
count=$(chroot "$root" dpkg-query -W | wc -l)
echo "bare-root: $* as $user ended with $status after $(($(date +%s) - begin)) s, with $count packages and $(du -sm "$root" | cut -f 1) MB"
exit "$status"
