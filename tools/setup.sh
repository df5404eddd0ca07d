#!/bin/sh
# Installs the packages that building and testing HAPPE needs on Debian 12 or 13, as root or with sudo, and prints them. Does
# nothing if none is missing.
#   usage: tools/setup.sh governor|desktop|demo|test|all|package|package-governor|package-test|containers|statistics
# desktop and demo include governor; test includes both; all includes test. package includes desktop.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build
exec 9>build/.setup # one at a time
flock 9

# To build the governor.
governor="g++ cmake ninja-build pkg-config
    libfmt-dev libcli11-dev nlohmann-json3-dev libexpected-dev libsqlite3-dev libsqlitecpp-dev
    libsystemd-dev libevdev-dev libcpupower-dev libtomlplusplus-dev libsodium-dev"
# To build the programs of the desktop, too (cmake/Desktop.cmake).
desktop="$governor qt6-base-dev qt6-l10n-tools libwayland-dev wayland-protocols librust-wayland-protocols-dev
    libxau-dev libxcb1-dev libxcb-randr0-dev libxcb-res0-dev libxcb-shape0-dev libxcb-xfixes0-dev"
# To build and run the demonstration.
demo="$governor python3 python3-venv"
# Debian 13 has wlroots' Wayland protocols in a package of their own (cmake/WlrProtocols.cmake).
# shellcheck disable=SC1091  # not ours
case $(. /etc/os-release && echo "$ID ${VERSION_ID-}") in
    "debian 12") ;;
    debian*) desktop="$desktop librust-wayland-protocols-wlr-dev" ;;
esac
# To run `make test`: unit tests, a bus with stand-ins on it, simulated devices, a screen, a screen reader's interface,
# the library of the measuring cards, and tools that build a wheel.
test="$demo $desktop libgtest-dev umockdev dbus python3-dbusmock python3-gi git procps systemd util-linux
    xvfb openbox xdotool x11-utils at-spi2-core gir1.2-atspi-2.0 fonts-dejavu-core
    libcomedi0 python3-setuptools"
# To test and check everything: a compiler with sanitizers and fuzzers, linters, the emulated T61, PostgreSQL and
# browsers for the study server, and desktops. npm need not come from Debian.
all="$test clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev lld-19 llvm-19 shellcheck appstream desktop-file-utils
    qemu-system-x86 seabios acpica-tools mmdebstrap libarchive-tools kmod uidmap
    postgresql chromium
    xfwm4 picom sway xwayland weston grim qt6-wayland x11-xserver-utils gnome-shell kwin-wayland libglib2.0-bin"

# To make the governor's package.
package_governor="$governor build-essential debhelper help2man python3 systemd"
# To make all packages. Their build asks the Python programs for their help, with libraries of this release.
# shellcheck disable=SC1091  # not ours
release=$(. /etc/os-release && echo "${VERSION_ID:-13}")
package="$desktop $package_governor lintian python3-pip python3-setuptools python3-wheel
    $(sed -n "/^\[$release\]/,/^\[/s/.* = \"\([a-z0-9.-]*\).*/\1/p" packaging/python-from-debian.toml)"
# To test packages, and to make a repository of them.
package_test="autopkgtest mmdebstrap reprepro gpg gpg-agent"
# To build the server's image.
containers="buildah"

# To compare the models of the analysis with R's (tools/validate.sh statistics), after `test`.
statistics="r-base-core r-cran-ordinal r-cran-lme4 r-cran-lmertest r-cran-emmeans"

case ${1-} in
    governor) packages=$governor ;;
    desktop) packages=$desktop ;;
    package-governor) packages=$package_governor ;;
    demo) packages=$demo ;;
    test) packages=$test ;;
    all) packages=$all ;;
    package) packages=$package ;;
    package-test) packages=$package_test ;;
    containers) packages=$containers ;;
    statistics) packages=$statistics ;;
    *) echo "usage: tools/setup.sh governor|desktop|demo|test|all|package|package-governor|package-test|containers|statistics" >&2; exit 64 ;;
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
        command -v sudo >/dev/null || { echo "setup: run this as root, install sudo, or install these packages yourself" >&2; exit 77; }
    fi
    # The update may fail for one of several sources. It only matters whether the packages can be installed.
    $root apt-get -q update || echo "setup: apt-get update had errors; setup continues" >&2
    # shellcheck disable=SC2086  # a list of words
    $root env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends $missing
else
    echo "setup: all Debian packages are installed"
fi

case $1 in governor | desktop | package* | containers | statistics) exit 0 ;; esac

# pip installs the Python packages into build/venv and checks their hashes. The lock has all; `demo` and `test` need a part.
lock=build/pins/$1.txt
if [ "$1" = all ]; then
    lock=packaging/requirements.txt
else
    /usr/bin/python3 -B tools/python_parts.py packaging/requirements.txt build/pins
fi
installed() { cmp -s "$1" "build/venv/.installed-$2"; }
if installed packaging/requirements.txt all || installed "$lock" "$1"; then
    echo "setup: all Python packages are installed"
else
    echo "setup: installing Python packages of $lock into build/venv"
    [ -x build/venv/bin/python ] || /usr/bin/python3 -m venv build/venv
    build/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement "$lock"
    cp "$lock" "build/venv/.installed-$1"
fi

# The study server and the power logger run from their sources. The server's static files include htmx and uPlot, which Git
# ignores.
for site in build/venv/lib/python3*/site-packages; do
    printf '%s\n' "$PWD/profiles/python/src" "$PWD/study-server/src" "$PWD/power-logger/src" >"$site/happe.pth"
    rm -f "$site/happe_study.pth"
    tools/served.sh "$site" study-server/src/happe_study/static/vendor
done
mkdir -p build/bin
for program in happe-server:happe_study happe-power:happe_power; do
    printf '#!/bin/sh\nexec "%s/build/venv/bin/python" -m %s "$@"\n' "$PWD" "${program#*:}" >"build/bin/${program%:*}"
    chmod +x "build/bin/${program%:*}"
done

# JavaScript that the tests put into pages. It is not in git.
if [ "$1" = all ]; then
    stamp=study-server/node_modules/.installed
    if ! cmp -s study-server/package.json $stamp; then
        echo "setup: installing JavaScript packages of study-server/package.json"
        npm install --prefix study-server --no-package-lock --ignore-scripts --no-audit --no-fund --silent
        cp study-server/package.json $stamp
    else
        echo "setup: all JavaScript packages are installed"
    fi
fi
