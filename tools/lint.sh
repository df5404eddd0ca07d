#!/bin/sh
# Checks formatting, style, types and the direction of dependencies. Fixes nothing, but prints commands that would.
#   usage: tools/lint.sh style|tidy
set -eu
cd "$(dirname "$0")/.."
bin=build/venv/bin
git rev-parse --is-inside-work-tree >/dev/null # git lists the files to check

style() {
    echo "lint: dependencies"
    $bin/python tests/architecture/check_dependencies.py
    PYTHONPATH=study-server/src $bin/lint-imports --no-cache --no-logo >build/imports.log || { cat build/imports.log; exit 1; }

    echo "lint: formatting of C and C++ (clang-format-19 -i fixes it)"
    git ls-files -co --exclude-standard '*.h' '*.cpp' '*.c' | xargs clang-format-19 --dry-run -Werror

    echo "lint: shell"
    git ls-files -co --exclude-standard '*.sh' .ci/run tests/vm/vm-install tests/vm/vm-run | xargs shellcheck

    echo "lint: what menus and software centres show"
    appstreamcli validate --no-net packaging/org.happe.Window.metainfo.xml
    desktop-file-validate packaging/*.desktop

    echo "lint: units (exposure at most 1.5)"
    for unit in happed.service happed-keys@.service happe-server.service happe-server-worker.service happe-power@.service; do
        systemd-analyze security --offline=true --threshold=15 --no-pager "packaging/systemd/$unit" >build/exposure.log ||
            { cat build/exposure.log; exit 1; }
    done

    echo "lint: Python (ruff format and ruff check --fix correct most of it)"
    $bin/ruff format --quiet --no-cache --check .
    $bin/ruff check --quiet --no-cache .
    $bin/mypy
    $bin/mypy study-server # separately, because some of its modules have the same names as others
    $bin/mypy power-logger
    $bin/mypy ui
}

tidy() {
    echo "lint: C++ except its tests (clang-tidy-19)"
    [ ! -d build/tidy ] || find build/tidy -name 'unity_*.cxx' -delete # some belong to moved libraries; CMake makes the others anew
    { cmake --preset tidy && cmake --build --preset tidy --target ui-sources; } >build/tidy.log 2>&1 || { cat build/tidy.log; exit 1; }
    # Each library is one file, because headers take most of the time. The check for included sources would complain.
    find build/tidy/governor build/tidy/ui build/tidy/packaging -name 'unity_*.cxx' | sort | xargs -P "$(nproc)" -n 1 clang-tidy-19 -p build/tidy --quiet \
        --checks=-bugprone-suspicious-include >build/tidy.log 2>&1 ||
        { grep -E -A6 '(error|warning):' build/tidy.log; exit 1; }
}

case ${1-} in
    style) style ;;
    tidy) tidy ;;
    *) echo "usage: tools/lint.sh style|tidy" >&2; exit 64 ;;
esac
echo "lint: clean"
