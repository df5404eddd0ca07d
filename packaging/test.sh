#!/bin/sh
# Every test there is. A skipped test fails: nothing here needs what a Debian 12 machine can't have.
set -eu
cd "$(dirname "$0")/.."

build() {
    echo "test: building $1"
    cmake --preset "$1" >"build/$1.log" 2>&1 || { cat "build/$1.log"; exit 1; }
    cmake --build --preset "$1" >"build/$1.log" 2>&1 || { cat "build/$1.log"; exit 1; }
}

unit() {
    echo "test: unit tests, $1"
    ctest --preset "$1" -j "$(nproc)" >"build/$1-tests.log" 2>&1 || { cat "build/$1-tests.log"; exit 1; }
    tail -n 4 "build/$1-tests.log"
    if grep -E '\*\*\*(Skipped|Not Run|Disabled)' "build/$1-tests.log"; then
        echo "test: what can run must run" >&2
        exit 1
    fi
}

build dev
unit dev
echo "test: contract, system and report tests"
build/venv/bin/python -m pytest -p no:cacheprovider --junitxml=build/pytest.xml
build/venv/bin/python packaging/refuse_skips.py build/pytest.xml

for preset in asan-ubsan tsan; do
    build $preset
    unit $preset
done

echo "test: happe-sim from outside, asan-ubsan"
HAPPE_SIM=build/asan-ubsan/bin/happe-sim build/venv/bin/python -m pytest -q -p no:cacheprovider \
    tests/contract/test_bad_traces.py tests/system/test_observe.py tests/system/test_study.py
echo "test: seeds side by side, tsan"
build/tsan/bin/happe-sim study --seed 1..8 --jobs 4 --participants 4 --out build/tsan/study >/dev/null

build coverage
find build/coverage -name '*.gcda' -delete # counts of an earlier run
unit coverage
echo "test: coverage of governor/core"
gcovr --root . --object-directory build/coverage --filter governor/core/ --exclude '.*_test\.cpp' \
    --exclude-unreachable-branches --exclude-throw-branches --print-summary --fail-under-line 100 --fail-under-branch 95

build fuzz
echo "test: fuzzing, a minute for each target"
ctest --preset fuzz -j "$(nproc)"
