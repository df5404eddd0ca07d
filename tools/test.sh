#!/bin/sh
# Runs one part of the tests. Each part prints its runners' closing lines, its slowest tests and its time. A skipped test
# fails the part, because all tests can run on Debian 12.
#   usage: tools/test.sh build|quick|programs|server|instrumented
# build compiles the programs and the unit tests, which quick, programs and server test. instrumented makes its own builds
# with sanitizers.
set -eu
cd "$(dirname "$0")/.."

# The tests give numpy small arrays. Other threads of BLAS would only wait, and each would keep a core busy.
export OPENBLAS_NUM_THREADS=1

compile() { # PRESET [--target NAME...]
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
        echo "test: no test may be skipped" >&2
        exit 1
    fi
}

python() { # NAME PYTEST'S OPTIONS...
    name=$1
    shift
    tools/reachable.sh build/venv/bin/python -m pytest -q -p no:cacheprovider --junitxml="build/$name.xml" \
        --durations=20 --durations-min=1 --basetemp="$folder/$name" "$@"
    build/venv/bin/python tools/refuse_skips.py "build/$name.xml"
}

# These tests see the governor's programs from outside. The slow ones run with the sanitizers in the programs, except for
# tests of memory, whose sizes would be the sanitizer's, and of a megabyte of happed's answers. Simulated studies run
# without sanitizers: they read no input from outside, and would take ten times as long.
GOVERNOR='tests/contract/test_bad_traces.py tests/system/test_happectl*.py tests/system/test_happed*.py
    tests/system/test_observe.py'

quick() {
    unit dev
    echo "test: Python, except slow tests"
    # Two workers for each core, because many tests wait for a program.
    python quick -m "not slow" --numprocesses="$(($(nproc) * 2))" --dist=loadfile
}

programs() {
    echo "test: slow tests of programs and contracts"
    # Two at a time, or else this part would be the last to end.
    # shellcheck disable=SC2046,SC2086 # words
    python programs -m "slow and not long" --ignore-glob='study-server/*' $(printf -- '--ignore=%s ' $GOVERNOR) \
        --numprocesses=2 --dist=loadfile
    python measured tests/system/test_happed_hostile.py -k memory
}

server() {
    echo "test: slow tests of the study server"
    # Two at a time, as above.
    python server -m "slow and not long" study-server --numprocesses=2 --dist=loadfile
}

instrumented() {
    compile asan-ubsan --target unit_tests fuzzers happe-sim happed happectl happed-keys
    counts=$PWD/build/asan-ubsan/counts
    rm -rf "$counts"
    (export LLVM_PROFILE_FILE="$counts/%p.profraw" && unit asan-ubsan)
    echo "test: coverage of the algorithm"
    llvm-profdata-19 merge -o "$counts/all.profdata" "$counts"/*.profraw
    llvm-cov-19 report -instr-profile="$counts/all.profdata" build/asan-ubsan/bin/happed \
        --sources governor/core/*.cpp --ignore-filename-regex='_test\.cpp$' | tee "$counts/report"
    awk '$1 == "TOTAL" { lines = $10; branches = $13 }
         END { if (lines != "100.00%" || branches + 0 < 95) {
                   print "test: the unit tests must reach all lines of governor/core/*.cpp, and 95 % of the branches"; exit 1 } }' \
        "$counts/report"

    echo "test: the governor's programs from outside, asan-ubsan"
    (
        bin=build/asan-ubsan/bin
        export HAPPE_SIM=$bin/happe-sim HAPPED=$bin/happed HAPPECTL=$bin/happectl HAPPED_KEYS=$bin/happed-keys
        # Two at a time, because each test mostly waits.
        # shellcheck disable=SC2086 # words
        python asan-ubsan $GOVERNOR --numprocesses=2 --dist=loadfile \
            -k "not memory and not where_it_is_bad and not megabyte"
    )
    # One process reads all of the bad traces, because a program with sanitizers takes long to start.
    /usr/bin/python3 -B tests/contract/bad_traces.py build/asan-ubsan/bad-traces
    build/asan-ubsan/bin/fuzz-trace build/asan-ubsan/bad-traces/*.jsonl >build/asan-ubsan-traces.log 2>&1 ||
        { cat build/asan-ubsan-traces.log; exit 1; }

    echo "test: the threads of simulated studies, tsan"
    compile tsan --target study_test
    build/tsan/bin/study_test --gtest_brief=1

    echo "test: fuzzing, some seconds for each target"
    ctest --preset asan-ubsan -L fuzz -j "$(nproc)"
}

# These processes give way to an emulated machine beside them, whose clock must not fall behind (.ci/run).
renice -n 10 $$ >/dev/null
mkdir -p build
begin=$(date +%s)
# Some tests become another user. Each pytest that root starts closes pytest's own folder to other users.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT # it has gigabytes when a test has failed
trap 'exit 130' INT
trap 'exit 143' TERM
case ${1-} in
    build)
        compile dev
        # make exports PYTHONDONTWRITEBYTECODE. Without this step each program would compile its sources at each start.
        build/venv/bin/python -m compileall -q demo power-logger/src profiles/python/src study-server/src
        ;;
    quick | programs | server | instrumented) "$1" ;;
    *) echo "usage: tools/test.sh build|quick|programs|server|instrumented" >&2; exit 64 ;;
esac
cpu=$(awk -v hz="$(getconf CLK_TCK)" '{ printf "%d", ($16 + $17) / hz }' /proc/$$/stat) # of the processes that have ended
echo "test: $1 took $(($(date +%s) - begin)) s, and $cpu s of CPU"
