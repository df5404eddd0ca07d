#!/bin/sh
# Makes a repository of build/packages with a key of its own, and installs from it in a bare Debian of this release. apt must
# take only HAPPE's packages from it, and nothing after somebody has changed a signed list. Needs root.
#   usage: packaging/repository-test.sh
set -eu
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "repository-test: be root: it makes a system in build/repository-test" >&2; exit 77; }
here=$PWD/build/repository-test
rm -rf "$here"
trap 'rm -rf "$here"' EXIT
mkdir -p "$here"
mkdir -m 700 "$here/gpg"
export GNUPGHOME="$here/gpg"
gpg --batch --quiet --passphrase '' --quick-generate-key releases@example.org
# shellcheck disable=SC1091  # not ours
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
tools/debian_folder.sh "$here/root" "" "$release"
HAPPE_REPOSITORY=file:/srv/happe packaging/repository.sh "$here/repository" releases@example.org build/packages/happe*.deb
gpgconf --kill all
mkdir -p "$here/root/srv"
cp -r "$here/repository" "$here/root/srv/happe"
cat >"$here/root/srv/test.sh" <<'END'
set -eu
cd /srv/happe
sed -i "s/CODENAME/$1/" happe.sources
install -m 644 happe-archive-keyring.gpg /usr/share/keyrings/
install -m 644 happe.sources /etc/apt/sources.list.d/
install -m 644 happe.pref /etc/apt/preferences.d/
apt-get -qq update
DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install happe-governor >/dev/null
happectl --version
apt-cache policy | grep -A 1 'file:/srv/happe' | grep -q 'o=HAPPE'
apt-cache policy | grep -q -- '-1 file:/srv/happe' # of any other package
echo "ok: apt installed from the repository, and pins it"
sed -i 's/^Label: HAPPE/Label: OTHER/' "dists/$1/InRelease"
! apt-get update 2>&1 | grep -q BADSIG && exit 1
echo "ok: apt refuses a list that was changed after it was signed"
END
tools/with_debian.sh in "$here/root" sh /srv/test.sh "$release"
