#!/bin/sh
# Tests HAPPE in real desktops of one release of Debian: GNOME Shell and KWin. The script makes a system
# of that release and builds this tree's last commit there, so compiler, libraries, desktops and X servers are all of that
# release. Needs root. It fails if a desktop cannot be installed.
# build/desktops/RELEASE keeps the system (4 GB), and the next run only updates the tree. Prints the desktops' versions.
#   usage: tools/desktops.sh bookworm|trixie [PYTEST'S OPTIONS...]      e.g. tools/desktops.sh trixie -k kwin
# With HAPPE_PICTURES=1 the tests keep pictures in build/desktops/RELEASE/srv/happe/build/pictures/ui.
set -eu
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "desktops: run this as root: it makes a system in build/desktops" >&2; exit 77; }
release=${1-}
case $release in
    bookworm) desktops="gnome-shell kwin-wayland" ;;
    trixie) desktops="gnome-shell kwin-wayland kwin-style-breeze libkscreen-bin" ;;
    *) sed -n 's/^#   usage: /usage: /p' "$0" >&2; exit 64 ;;
esac
shift
root=$PWD/build/desktops/$release
tree=$root/srv/happe
if [ ! -e "$tree" ]; then
    tools/debian_folder.sh "$root" git,make "$release"
    git clone --quiet --no-checkout . "$tree"
fi
git -C "$tree" fetch --quiet "$PWD" HEAD
git -C "$tree" reset --quiet --hard FETCH_HEAD

# pip and proxies have the settings of this machine.
settings=$(env | grep -E '^(PIP_(INDEX_URL|EXTRA_INDEX_URL|CERT|DEFAULT_TIMEOUT)|https?_proxy|no_proxy|HAPPE_PICTURES)=' || true)
there() { # COMMAND...
    # shellcheck disable=SC2086  # each word is a setting
    tools/with_debian.sh in "$root" env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin $settings sh -euc 'cd /srv/happe && exec "$@"' sh "$@"
}
there tools/setup.sh test
# shellcheck disable=SC2086  # each word is a package
there apt-get -q -y install --no-install-recommends $desktops xwayland grim libgl1-mesa-dri qt6-wayland libglib2.0-bin
there cmake --preset dev -DHAPPE_UNIT_TESTS=OFF
there cmake --build --preset dev --target happectl happed happe-indicator happe-tray happe-ui-window happe-ui-pointer

# shellcheck disable=SC2016,SC2086  # dpkg's variables; each word is a package
there dpkg-query -W -f 'desktops: ${Package} ${Version}\n' $desktops
status=0
there build/venv/bin/python -m pytest -p no:cacheprovider --junitxml=build/desktops.xml --durations=0 --durations-min=1 \
    ui/tests/test_agent_shells.py ui/tests/test_overlay_gnome.py ui/tests/test_overlay_layers.py \
    ui/tests/test_setup_gnome.py "$@" || status=$?
there build/venv/bin/python tools/refuse_skips.py build/desktops.xml || status=1
exit $status
