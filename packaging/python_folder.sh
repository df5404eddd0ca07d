#!/bin/sh
# Lays out the Python part of a package from wheels, for debian/rules.
#   usage: packaging/python_folder.sh common FOLDER                              libraries that the programs share
#          packaging/python_folder.sh server|power FOLDER COMMON PROGRAM SECTION  a program in an environment of its own
# FOLDER is .../usr/lib/NAME, and COMMON the FOLDER of the shared libraries. /usr/lib/NAME/bin/python3 looks in both, then
# among Debian's own libraries, but not in /usr/local.
set -eu
part=$1 folder=$2
python=/usr/bin/python3
release=$($python -c 'import sys; print("%d.%d" % sys.version_info[:2])')

own() { # PART SOURCE: makes the wheel of a project of this tree
    $python -m pip wheel --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation \
        --wheel-dir "wheels/own/$1" "./$2"
}

unpack() { # TO WHEEL...
    to=$1
    shift
    $python -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-index --no-deps --no-compile \
        --no-warn-script-location --target "$to" "$@"
}

# Removes what nothing imports: tests, headers, type stubs, sources of compiled modules, Arrow's network service, second
# names of Arrow's libraries, and libraries' own programs. Strips compiled modules, but not the libraries that wheels bring
# in folders NAME.libs: auditwheel patched those, and stripping would break them.
thin() { # SITE
    # shellcheck disable=SC2115 # $1 is never empty
    rm -rf "$1"/bin "$1"/share "$1"/pyarrow/include "$1"/pyarrow/src "$1"/pyarrow/includes "$1"/numpy/_core/include \
        "$1"/numpy/_core/lib "$1"/pyarrow/*flight* "$1"/pyarrow/_pyarrow_cpp_tests* "$1"/pyarrow/libarrow_python*.so "$1"/pyarrow/lib*.so.*.*.*
    find "$1" -depth -type d \( -name test -o -name tests -o -name __pycache__ \) ! -path '*/numpy/testing/*' -exec rm -rf {} +
    find "$1" -type f \( -name '*.py[ixdc]' -o -name '*.pxi' -o -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.a' \
        -o -name RECORD -o -name INSTALLER -o -name REQUESTED -o -name direct_url.json -o -name WHEEL \
        -o -name '*.dist-info/entry_points.txt' -o -name '*_tests.cpython*' -o -name '_test_*.cpython*' \
        -o -name '_ctest.cpython*' -o -name '_fpumode.cpython*' \) -delete
    find "$1" -type f -exec chmod 644 {} +
    find "$1" -type f -name '*.py' -exec sed -i '1{/^#!/d}' {} +
    find "$1" -type f -name '*.so*' ! -path '*.libs/*' -exec strip --strip-unneeded --remove-section=.comment {} +
}

if [ "$part" = common ]; then
    own common profiles/python
    unpack "$folder" wheels/common/*.whl wheels/own/common/*.whl
    thin "$folder"
    exit
fi

common=$3 program=$4 section=$5
case $part in
    server) module=happe_study source=study-server ;;
    power) module=happe_power source=power-logger ;;
    *) echo "python_folder: $part: common, server or power" >&2; exit 64 ;;
esac
root=${folder%/usr/lib/*}
site=$folder/lib/python$release/site-packages
own "$part" "$source"
unpack "$site" "wheels/$part"/*.whl "wheels/own/$part"/*.whl
thin "$site"
printf '/usr/lib/happe-python3\n/usr/lib/python3/dist-packages\n' >"$site/happe-python3.pth"

mkdir -p "$folder/bin" "$root/usr/bin"
ln -s "../../../bin/${python##*/}" "$folder/bin/python3"
printf 'home = /usr/bin\ninclude-system-site-packages = false\n' >"$folder/pyvenv.cfg"
printf '#!/bin/sh\nexec /usr/lib/%s/bin/python3 -I -m %s "$@"\n' "${folder##*/}" "$module" >"$root/usr/bin/$program"
chmod 755 "$root/usr/bin/$program"

# For the manual page: neither the program nor the shared libraries are yet where they are looked for.
early=wheels/own/$part/$program
printf '#!/bin/sh\nexec env PYTHONPATH=%s %s -c "from %s.cli import main; main()" "$@"\n' "$site:$common" $python "$module" >"$early"
chmod 755 "$early"
packaging/manual.sh "$root" "$early" "$section"
