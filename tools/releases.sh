#!/bin/sh
# Fills a table for one release of Debian. It runs each command that README tells a newcomer in a bare system of its own, and
# then tests the life of the packages built there. Needs root, and an hour or more. The table is
# build/releases/RELEASE/table.md; the output of each step is beside it. The status is 1 if a step failed.
#   usage: tools/releases.sh bookworm|trixie|sid [STEP...]
# STEP: demo, governor, package, test, tutorials, life; all, if none is named. life needs the packages that `package` built.
set -eu
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "releases: run this as root: it makes systems in build/releases" >&2; exit 77; }
release=${1-}
case $release in
    bookworm | trixie | sid) shift ;;
    *) sed -n 's/^#   usage: /usage: /p' "$0" >&2; exit 64 ;;
esac
[ $# -gt 0 ] || set -- demo governor package test tutorials life
out=$PWD/build/releases/$release
root=$out/root
mkdir -p "$out/packages"
status=0

row() { # STEP RESULT SECONDS PACKAGES MB FETCHED
    minutes=$(echo "$3" | awk '/[0-9]/ { $0 = sprintf("%.1f", $0 / 60) } 1')
    printf '| %-26s | %-6s | %7s | %8s | %5s | %10s |\n' "$1" "$2" "$minutes" "$4" "$5" "$6" | tee -a "$out/table.md"
}

bare() { # LOG USER COMMAND...
    log=$out/$1.log
    shift
    result=pass
    HAPPE_DEBIAN=$release HAPPE_ROOT=$root tools/bare-root.sh "$@" >"$log" 2>&1 || { result=fail; status=1; }
    shift
    # shellcheck disable=SC2046  # two numbers
    [ -n "${bare_shown-}" ] || row "bare, with git and make" - - $(sed -n 's/^bare-root: \([0-9]*\) packages and \([0-9]*\) MB, commit .*/\1 \2/p' "$log" | grep . || echo - -) -
    bare_shown=1
    # shellcheck disable=SC2046  # four numbers
    row "$*" $result $(sed -n 's/^bare-root: .* after \([0-9]*\) s, with \([0-9]*\) packages, \([0-9]*\) MB, \([0-9]*\) MB fetched$/\1 \2 \3 \4/p' "$log" | grep . || echo - - - -)
}

# Tests the packages: first apt's commands in the laptop owner's tutorial, then installation, first run, upgrade from
# packages of a lower version, removal and purge.
life() {
    log=$out/life.log
    trap 'rm -rf "$root"' EXIT
    trap 'exit 130' INT TERM HUP
    result=pass
    # shellcheck disable=SC2016  # the shell in the root expands it
    {
        tools/debian_folder.sh "$root" python3,systemd,dbus,dpkg-dev,apt-utils,ca-certificates "$release" &&
            printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" && # an installation must start no service
            chmod 755 "$root/usr/sbin/policy-rc.d" &&
            mkdir -p "$root/srv/build/packages" &&
            cp "$out/packages"/happe*.deb "$root/srv/build/packages" &&
            cp -r packaging/debian/tests "$root/srv/tests" &&
            sed -n 's/^    sudo \(apt .*happe-governor.*\)/\1/p' docs/tutorials/laptop-owner.md >"$root/srv/tutorial" &&
            tools/with_debian.sh in "$root" sh -euc 'apt-get -qq update
                begin=$(date +%s)
                cd /srv
                [ "$(wc -l <tutorial)" -eq 2 ]
                yes | sh -ex tutorial
                if dpkg-query -W -f "\${db:Status-Abbrev}\${Package}\n" "happe*" | grep -v ^un; then exit 1; fi
                numbers="$(($(date +%s) - begin)) s, $(dpkg-query -W | wc -l) packages, $(du -smx / 2>/dev/null | cut -f 1) MB"
                echo "step: apt in the tutorial: $numbers"
                exec /srv/tests/lifecycle /srv/build/packages'
    } >"$log" 2>&1 || { result=fail; status=1; }
    for step in "apt in the tutorial" install "first run" "upgrade with data" remove purge; do
        numbers=$(sed -n "s/^step: $step: \([0-9]*\) s, \([0-9]*\) packages, \([0-9]*\) MB$/\1 \2 \3/p" "$log")
        # shellcheck disable=SC2086  # three numbers
        row "$step" "$([ -n "$numbers" ] && echo pass || echo fail)" ${numbers:-- - -} -
    done
    row "nothing is left" $result - - - -
}

rm -f "$out/table.md"
row "on Debian $release" result minutes packages MB "MB fetched"
row --- --- --- --- --- ---
for step; do
    case $step in
        demo) bare demo sudo make demo ;;
        governor) bare governor root make package PART=governor ;;
        package) rm -f "$out/packages"/*; HAPPE_PACKAGES=$out/packages bare package root make package ;;
        test) bare test root make test ;;
        tutorials) bare tutorials root make tutorials ;;
        life) life ;;
        *) echo "releases: no step '$step'" >&2; exit 64 ;;
    esac
done
exit $status
