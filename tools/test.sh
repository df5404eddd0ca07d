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
export TZ=UTC # but for the quick tests

compile() { # PRESET [--target NAME...]
    preset=$1
    shift
    echo "test: building $preset"
    cmake --preset "$preset" >"build/$preset.log" 2>&1 || { cat "build/$preset.log"; exit 1; }
    cmake --build --preset "$preset" --parallel "$(nproc)" "$@" >"build/$preset.log" 2>&1 ||
        { cat "build/$preset.log"; exit 1; }
}

unit() { # PRESET CTEST'S OPTIONS...
    preset=$1
    shift
    echo "test: unit tests, $preset"
    ctest --preset "$preset" -j "$(nproc)" "$@" >"build/$preset-tests.log" 2>&1 || { cat "build/$preset-tests.log"; exit 1; }
    tail -n 4 "build/$preset-tests.log"
    if grep -E '\*\*\*(Skipped|Not Run|Disabled)' "build/$preset-tests.log"; then
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

quick() {
    # Local time that is printed as UTC, or a day that ends at another midnight, must not look right by chance.
    export TZ=XST-01:30
    unit dev -LE fuzz
    echo "test: Python, except slow tests"
    # Two workers for each core, because many tests wait for a program.
    python quick -m "not slow" --numprocesses="$(($(nproc) * 2))" --dist=loadfile
}

programs() {
    echo "test: slow tests of programs and contracts"
    # Two at a time, or else this part would be the last to end.
    python programs -m "slow and not long" --ignore-glob='study-server/*' --numprocesses=2 --dist=loadfile
}

server() {
    echo "test: slow tests of the study server"
    # Two at a time, as above.
    python server -m "slow and not long" study-server --numprocesses=2 --dist=loadfile
}

# The libraries that read foreign input, and the algorithm, under AddressSanitizer and UBSan. `tools/validate.sh` does the same
# with every program, fuzzes for minutes, and looks for races.
instrumented() {
    compile asan-ubsan --target core_test documents_test keys_test store_test system_test fuzzers
    counts=$PWD/build/asan-ubsan/counts
    rm -rf "$counts"
    (export LLVM_PROFILE_FILE="$counts/%p.profraw" && unit asan-ubsan -R '^(core|documents|keys|store|system)_test$')
    echo "test: coverage of the algorithm"
    llvm-profdata-19 merge -o "$counts/all.profdata" "$counts"/*.profraw
    llvm-cov-19 report -instr-profile="$counts/all.profdata" build/asan-ubsan/bin/core_test \
        --sources governor/core/*.cpp --ignore-filename-regex='_test\.cpp$' | tee "$counts/report"
    awk '$1 == "TOTAL" { lines = $10; branches = $13 }
         END { if (lines != "100.00%" || branches + 0 < 95) {
                   print "test: the unit tests must reach all lines of governor/core/*.cpp, and 95 % of the branches"; exit 1 } }' \
        "$counts/report"

    echo "test: what the fuzzers found before, and bad traces"
    unit asan-ubsan -L fuzz
    /usr/bin/python3 -B tests/contract/bad_traces.py build/asan-ubsan/bad-traces
    build/asan-ubsan/bin/fuzz-trace build/asan-ubsan/bad-traces/*.jsonl >build/asan-ubsan-traces.log 2>&1 ||
        { cat build/asan-ubsan-traces.log; exit 1; }
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
