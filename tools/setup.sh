#!/bin/sh
# Installs what HAPPE is built with on Debian 12 (or 13: `demo`), as root or with sudo, and says what. Does nothing where
# nothing is missing.
#   usage: tools/setup.sh demo|test|all|package      test has what demo has, all what test has
set -eu
cd "$(dirname "$0")/.."
mkdir -p build
exec 9>build/.setup # one at a time
flock 9

# To build and run the demonstration.
demo="g++ cmake ninja-build pkg-config
    libfmt-dev libcli11-dev nlohmann-json3-dev libexpected-dev libsqlite3-dev libsqlitecpp-dev
    libsystemd-dev libevdev-dev libcpupower-dev libtomlplusplus-dev libsodium-dev
    qt6-base-dev qt6-l10n-tools libwayland-dev wayland-protocols librust-wayland-protocols-dev
    libxcb1-dev libxcb-randr0-dev libxcb-res0-dev libxcb-shape0-dev libxcb-xfixes0-dev
    python3 python3-venv"
# Debian 13 has wlroots' Wayland protocols in a package of their own (cmake/WlrProtocols.cmake).
# shellcheck disable=SC1091  # not ours
case $(. /etc/os-release && echo "$ID ${VERSION_ID-}") in
    "debian 12") ;;
    debian*) demo="$demo librust-wayland-protocols-wlr-dev" ;;
esac
# To run `make test`: unit tests, a bus with stand-ins on it, simulated devices, readers of manuals, zsh, a screen, two of the
# libraries that the power logger reads instruments with.
test="$demo libgtest-dev umockdev dbus python3-dbusmock python3-gi git procps systemd util-linux
    groff-base man-db zsh xvfb openbox xdotool x11-utils fonts-dejavu-core libcomedi0 libiio0"
# To test and check all: sanitizers' and fuzzers' compiler, linters, coverage, the emulated T61; PostgreSQL and a browser for
# the study server; sigrok; desktops to put windows on. npm may be there from elsewhere than Debian.
all="$test clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev llvm-19 gcovr shellcheck
    qemu-system-x86 seabios acpica-tools mmdebstrap libarchive-tools kmod uidmap
    postgresql chromium
    xfwm4 picom sway xwayland weston grim qt6-wayland x11-xserver-utils
    sigrok-cli"

# To make packages, and to test them: after `all`.
package="appstream autopkgtest debhelper desktop-file-utils dpkg-dev lintian mmdebstrap python3-pip python3-setuptools python3-wheel rpm"

case ${1-} in
    demo) packages=$demo ;;
    test) packages=$test ;;
    all) packages=$all ;;
    package) packages=$package ;;
    *) echo "usage: tools/setup.sh demo|test|all|package" >&2; exit 64 ;;
esac

command -v npm >/dev/null || [ "$1" != all ] || packages="$packages npm"
missing=
for package in $packages; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || state=none
    [ "$state" = installed ] || missing="$missing $package"
done

if [ -n "$missing" ]; then
    echo "setup: installing Debian packages:$missing"
    root=
    if [ "$(id -u)" -ne 0 ]; then
        root=sudo
        command -v sudo >/dev/null || { echo "setup: be root, or install sudo, or install these yourself" >&2; exit 77; }
    fi
    # The update may fail for one source of several; what counts is whether the packages can be had.
    $root apt-get -q update || echo "setup: apt-get update had errors; going on" >&2
    # shellcheck disable=SC2086  # a list of words
    $root env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends $missing
else
    echo "setup: all Debian packages are there"
fi

[ "$1" != package ] || exit 0

# Python's packages go into build/venv, pinned with their hashes: the lock has all of them, `demo` and `test` need a part.
lock=build/pins/$1.txt
if [ "$1" = all ]; then
    lock=packaging/requirements.txt
else
    /usr/bin/python3 -B tools/python_parts.py packaging/requirements.txt build/pins
fi
installed() { cmp -s "$1" "build/venv/.installed-$2"; }
if installed packaging/requirements.txt all || installed "$lock" "$1"; then
    echo "setup: all Python packages are there"
else
    echo "setup: installing Python packages of $lock into build/venv"
    [ -x build/venv/bin/python ] || /usr/bin/python3 -m venv build/venv
    build/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement "$lock"
    cp "$lock" "build/venv/.installed-$1"
fi

# The study server and the power logger run from their sources. The server serves htmx from its static files; Git ignores it
# there.
for site in build/venv/lib/python3*/site-packages; do
    printf '%s\n' "$PWD/profiles/python/src" "$PWD/study-server/src" "$PWD/power-logger/src" >"$site/happe.pth"
    rm -f "$site/happe_study.pth"
    install -D -m 644 "$site/django_htmx/static/django_htmx/htmx-2.min.js" \
        study-server/src/happe_study/static/vendor/htmx.min.js
done
mkdir -p build/bin
for program in happe-server:happe_study happe-power:happe_power; do
    printf '#!/bin/sh\nexec "%s/build/venv/bin/python" -m %s "$@"\n' "$PWD" "${program#*:}" >"build/bin/${program%:*}"
    chmod +x "build/bin/${program%:*}"
done

# JavaScript that the tests put into pages. Nothing of it is in git.
if [ "$1" = all ]; then
    stamp=study-server/node_modules/.installed
    if ! cmp -s study-server/package.json $stamp; then
        echo "setup: installing JavaScript packages of study-server/package.json"
        npm install --prefix study-server --no-package-lock --ignore-scripts --no-audit --no-fund --silent
        cp study-server/package.json $stamp
    else
        echo "setup: all JavaScript packages are there"
    fi
fi
