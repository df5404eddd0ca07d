#!/bin/sh
# Gathers the long evidence, part by part; all of it takes hours, so CI does not run it. A part that succeeded at this commit
# does not run again, so the same command continues after an interruption. build/validate/COMMIT/PART.log keeps the output of
# each part, with figures that the documents quote. Parts that make systems of their own need root.
#   usage: tools/validate.sh [PART...]     all parts, if none is named:
#   statistics   the intervals and tests of analysis and power logger on many simulated studies, and the models beside R's. It
#                keeps each cell (method, world, size), and goes on with the next one after an interruption
#   worlds       every governor through hours in every simulated world, on every machine
#   fuzz         ten minutes for each fuzz target, optimised
#   sanitizers   all unit tests under AddressSanitizer and UBSan, and simulated studies under ThreadSanitizer
#   long         tests with the mark `long`, 1,008,000 observations beside tests/contract/reference.py, 10,000 undone histories, an
#                hour of people and machines who use a server in any order, and two servers with three workers on one PostgreSQL and one S3 store, with 30 kills
#   desktops12, desktops13     real GNOME Shell and KWin of this release of Debian
#   emulated     every boot of the emulated machines
#   packages12, packages13     builds the packages on a bare system of this release, installs, upgrades, removes and purges them
set -eu
cd "$(dirname "$0")/.."

run() { # PART
    case $1 in
        statistics)
            OPENBLAS_NUM_THREADS=1 PYTHONPATH=study-server/tests:study-server/src:profiles/python/src nice -n 19 \
                build/venv/bin/python study-server/tests/inference_grid.py "build/validate/inference-$(git rev-parse --short HEAD)"
            build/venv/bin/python -m pytest -s -p no:cacheprovider profiles/python/tests/test_clocks_of_traces.py
            HAPPE_TRUTHS=300 build/venv/bin/python -m pytest -s -p no:cacheprovider power-logger/tests/test_independent_truths.py
            build/bin/happe-sim study --seed 1..100 --check
            tools/setup.sh statistics
            OPENBLAS_NUM_THREADS=1 PYTHONPATH=study-server/tests:study-server/src:profiles/python/src \
                build/venv/bin/python study-server/tests/compare_models.py build/validate/models
            ;;
        worlds)
            build/bin/happe-sim study --worlds all --machines all --seed 2001..2010 --jobs 2
            ;;
        fuzz)
            cmake --preset fuzz
            cmake --build --preset fuzz --target fuzzers
            for target in build/fuzz/bin/fuzz-*; do
                name=${target##*/fuzz-}
                mkdir -p "build/fuzz/corpus/$name"
                cp tests/fuzz/corpus/"$name"-* "build/fuzz/corpus/$name"
                "$target" -max_total_time=600 -timeout=30 -rss_limit_mb=2048 -print_final_stats=1 "build/fuzz/corpus/$name"
            done
            ;;
        sanitizers)
            cmake --preset asan-ubsan -B build/asan-ubsan-desktop -D HAPPE_UI=ON -D HAPPE_FUZZ=OFF
            cmake --build build/asan-ubsan-desktop --target unit_tests
            ctest --test-dir build/asan-ubsan-desktop --output-on-failure -j "$(nproc)"
            cmake --preset tsan
            cmake --build --preset tsan --target sim_test
            build/tsan/bin/sim_test --gtest_brief=1
            ;;
        long)
            tools/setup.sh all
            cmake --preset dev
            cmake --build --preset dev
            mkdir -p build/proxies
            (cd build/proxies && apt-get -q download nginx caddy && for package in ./*.deb; do dpkg -x "$package" .; done)
            PATH="$PWD/build/proxies/usr/sbin:$PWD/build/proxies/usr/bin:$PATH" \
                build/venv/bin/python -m pytest -p no:cacheprovider -m long
            HAPPE_TRACES=960 nice -n 19 build/venv/bin/python -m pytest -s -p no:cacheprovider tests/contract/test_replay.py \
                -k test_long_traces
            HAPPE_HISTORIES=15000 build/bin/core_test --gtest_filter='Extended.*'
            HAPPE_HISTORIES=10000 build/bin/store_test --gtest_filter='UndoTest.*'
            HAPPE_KILLS=30 build/venv/bin/python -m pytest -p no:cacheprovider study-server/tests/test_kill9.py
            HAPPE_PLAYS=5000 build/venv/bin/python -m pytest -p no:cacheprovider --timeout=0 \
                study-server/tests/test_people_play.py
            tools/versitygw.sh build/versitygw
            HAPPE_KILLS=30 HAPPE_PARTICIPANTS=4 HAPPE_VERSITYGW="$PWD/build/versitygw/versitygw" \
                build/venv/bin/python -m pytest -p no:cacheprovider --durations=1 study-server/tests/test_two_servers.py
            ;;
        desktops12) tools/desktops.sh bookworm ;;
        desktops13) tools/desktops.sh trixie ;;
        emulated) make vm-test ;;
        packages12) packaging/package-test.sh bookworm ;;
        packages13) packaging/package-test.sh trixie ;;
    esac
}

all="statistics worlds fuzz sanitizers long desktops12 desktops13 emulated packages12 packages13"
if [ "${1-}" = --one ]; then # from below
    run "$2"
    exit
fi
# shellcheck disable=SC2086 # words
[ $# -gt 0 ] || set -- $all
for part in "$@"; do
    case " $all " in
        *" $part "*) ;;
        *) echo "validate: no part '$part'; the parts are: $all" >&2; exit 64 ;;
    esac
done
git diff --quiet HEAD || { echo "validate: commit your changes first, because results belong to a commit" >&2; exit 65; }
folder=build/validate/$(git rev-parse --short HEAD)
mkdir -p "$folder"
status=0
for part in "$@"; do
    if [ -e "$folder/$part.seconds" ]; then
        echo "validate: $part succeeded before, in $(cat "$folder/$part.seconds") s"
        continue
    fi
    echo "validate: $part"
    begin=$(date +%s)
    # In a separate shell, so that the first command that fails ends the part.
    if sh -eu "$0" --one "$part" >"$folder/$part.log" 2>&1; then
        echo $(($(date +%s) - begin)) >"$folder/$part.seconds"
        echo "validate: $part succeeded after $(cat "$folder/$part.seconds") s: $folder/$part.log"
    else
        echo "validate: $part failed after $(($(date +%s) - begin)) s: $folder/$part.log ends with" >&2
        tail -n 20 "$folder/$part.log" >&2
        status=1
    fi
done
exit $status
