#!/bin/sh
# Every test there is, in parts: all need `dev`. A skipped test fails: nothing here needs what a Debian 12 machine
# can't have.
#   usage: packaging/test.sh dev|programs|server|instrumented
set -eu
cd "$(dirname "$0")/.."

# Nearly all that numpy is given here is small: BLAS's other threads would only wait, at the cost of a core each.
export OPENBLAS_NUM_THREADS=1

build() { # PRESET [--target NAME...]
    preset=$1
    shift
    echo "test: building $preset"
    cmake --preset "$preset" >"build/$preset.log" 2>&1 || { cat "build/$preset.log"; exit 1; }
    cmake --build --preset "$preset" --parallel "$(nproc)" "$@" >"build/$preset.log" 2>&1 ||
        { cat "build/$preset.log"; exit 1; }
}

unit() { # PRESET
    echo "test: unit tests, $1"
    ctest --preset "$1" -LE fuzz -j "$(nproc)" >"build/$1-tests.log" 2>&1 || { cat "build/$1-tests.log"; exit 1; }
    tail -n 4 "build/$1-tests.log"
    if grep -E '\*\*\*(Skipped|Not Run|Disabled)' "build/$1-tests.log"; then
        echo "test: what can run must run" >&2
        exit 1
    fi
}

# What the governor's programs do, seen from outside, is seen once: with the sanitizers in them. What is measured is their
# memory, whose sizes would be the sanitizer's, and the paper's tables, whose ten seeds show a sanitizer no more than one.
GOVERNOR='tests/contract/test_bad_traces.py tests/system/test_happectl*.py tests/system/test_happed*.py
    tests/system/test_observe.py tests/system/test_study.py'
MEASURED='memory or tables_are_reproduced'

programs() {
    echo "test: Python, contracts, programs from outside"
    # shellcheck disable=SC2046,SC2086 # words
    run programs --ignore-glob='study-server/*' $(printf -- '--ignore=%s ' $GOVERNOR)
    run measured tests/system/test_happed_hostile.py tests/system/test_study.py -k "$MEASURED"
}

server() {
    echo "test: the study server"
    run server study-server
}

run() { # NAME OPTIONS...
    name=$1
    shift
    # pytest's own folder is closed to other users, whom some tests become, by each pytest that starts beside this one.
    folder=$(mktemp -d)
    packaging/reachable.sh build/venv/bin/python -m pytest -p no:cacheprovider --junitxml="build/$name.xml" \
        --basetemp="$folder/$name" "$@"
    build/venv/bin/python packaging/refuse_skips.py "build/$name.xml"
    rm -rf "$folder" || true # for nothing but room
}

instrumented() {
    build asan-ubsan --target unit_tests fuzzers happe-sim happed happectl happed-keys
    unit asan-ubsan
    echo "test: the governor's programs from outside, asan-ubsan"
    (
        bin=build/asan-ubsan/bin
        export HAPPE_SIM=$bin/happe-sim HAPPED=$bin/happed HAPPECTL=$bin/happectl HAPPED_KEYS=$bin/happed-keys
        # shellcheck disable=SC2086 # words
        run asan-ubsan $GOVERNOR -k "not ($MEASURED)"
    )

    echo "test: threads, which happe-sim's studies alone have, tsan"
    build tsan --target happe-sim study_test
    build/tsan/bin/study_test --gtest_brief=1
    build/tsan/bin/happe-sim study --seed 1..8 --jobs 4 --participants 4 --out build/tsan/study >/dev/null

    echo "test: coverage of governor/core"
    build coverage --target governor_test uafp_test loop_test replay_test
    find build/coverage -name '*.gcda' -delete # counts of an earlier run
    for test in governor uafp loop replay; do
        build/coverage/bin/${test}_test --gtest_brief=1
    done
    gcovr --root . --object-directory build/coverage --filter governor/core/ --exclude '.*_(test\.cpp|fixture\.h)' \
        --exclude-unreachable-branches --exclude-throw-branches --print-summary --fail-under-line 100 --fail-under-branch 95

    echo "test: fuzzing, 20 s for each target"
    ctest --preset asan-ubsan -L fuzz -j "$(nproc)"
}

# All of it gives way to an emulated machine beside it, which has a clock to keep up with (.ci/run).
renice -n 10 $$ >/dev/null
mkdir -p build

case ${1-} in
    dev) build "${HAPPE_DEV_PRESET:-dev}" ;; # dev-whole leaves the same
    programs) programs ;;
    server) server ;;
    instrumented) instrumented ;;
    *) echo "usage: packaging/test.sh dev|programs|server|instrumented" >&2; exit 64 ;;
esac
