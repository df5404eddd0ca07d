#!/bin/sh
# Makes a signed apt repository of packages, or adds them to an existing one: docs/how-to/publish.md.
#   usage: packaging/repository.sh FOLDER KEY DEB...     e.g. ~/happe-repository releases@example.org build/packages/*.deb
# KEY is an OpenPGP key in the caller's keyring. A package's version names its release of Debian: 0.2.0+deb12. A web server
# can publish FOLDER. The machines need its happe.sources, happe-archive-keyring.gpg and happe.pref. The address in
# happe.sources is HAPPE_REPOSITORY (default: the folder itself).
set -eu
[ $# -ge 3 ] || { sed -n 's/^#   usage: /usage: /p' "$0" >&2; exit 64; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
key=$2
shift 2
fingerprint=$(gpg --batch --with-colons --list-secret-keys "$key" 2>/dev/null | sed -n '/^fpr/{s/^fpr:*\([0-9A-F]*\):/\1/p;q}')
[ -n "$fingerprint" ] || { echo "repository: no secret key '$key': gpg --quick-generate-key '$key' makes one" >&2; exit 66; }

mkdir -p "$folder/conf"
for release in 12:bookworm 13:trixie sid:sid; do
    printf 'Origin: HAPPE\nLabel: HAPPE\nSuite: %s\nCodename: %s\nVersion: %s\nArchitectures: amd64\nComponents: main\nSignWith: %s\n\n' \
        "${release#*:}" "${release#*:}" "${release%:*}" "$fingerprint"
done >"$folder/conf/distributions"

for deb; do
    version=$(dpkg-deb --field "$deb" Version)
    case $version in
        *+deb12) codename=bookworm ;;
        *+deb13) codename=trixie ;;
        *+debsid) codename=sid ;;
        *) echo "repository: $deb: version $version does not end with +deb12, +deb13 or +debsid" >&2; exit 65 ;;
    esac
    reprepro --silent --basedir "$folder" includedeb "$codename" "$deb"
done
reprepro --silent --basedir "$folder" export

gpg --batch --export "$fingerprint" >"$folder/happe-archive-keyring.gpg"
# apt takes only HAPPE's packages from this repository, whatever it may have one day.
cat >"$folder/happe.pref" <<'END'
Package: *
Pin: release o=HAPPE
Pin-Priority: -1

Package: happe happe-*
Pin: release o=HAPPE
Pin-Priority: 500
END
cat >"$folder/happe.sources" <<END
Types: deb
URIs: ${HAPPE_REPOSITORY:-file:$folder}
Suites: CODENAME
Components: main
Signed-By: /usr/share/keyrings/happe-archive-keyring.gpg
END
reprepro --basedir "$folder" list bookworm
reprepro --basedir "$folder" list trixie
reprepro --basedir "$folder" list sid
