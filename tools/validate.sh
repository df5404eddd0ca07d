#!/bin/sh
# Gathers the long evidence, part by part; all of it takes hours, so CI does not run it. A part that succeeded at this commit
# does not run again, so the same command continues after an interruption. build/validate/COMMIT/PART.log keeps the output of
# each part, with figures that the documents quote. Parts that make systems of their own need root.
#   usage: tools/validate.sh [PART...]     all parts, if none is named:
#   statistics   the intervals and tests of analysis and power logger, on many more simulated studies than in CI. Of the
#                analysis it keeps each cell (method, world, size), and goes on with the next one after an interruption
#   models       the models of the analysis beside R's, on 30 data sets. It installs R first
#   undo         10,000 random histories and 50 that kill -9 interrupts, undone one lesson at a time
#   reference    1,008,000 observations, which happe-sim replay and tests/contract/reference.py must decide alike
#   kills        the study server, and its PostgreSQL, killed 30 and 15 times while devices upload
#   long         tests with the mark `long`: Firefox beside Chromium, SQLite beside PostgreSQL, hours of simulated instruments
#   field        200 simulated field studies; the analysis must find the simulated share of noticed probes
#   laboratory   two people in the emulated laboratory under the protocol `extended`, each with a sham probe and a real one
#   worlds       every governor through hours in every simulated world, on every machine
#   fuzz         ten minutes for each fuzz target, optimised
#   sanitizers   the unit tests of the desktop's programs under AddressSanitizer and UBSan; CI runs those of the governor
#   debian12, debian13, sid     a table of README's commands and of the packages' life on bare systems of this release of Debian;
#                sid fails no part
#   desktops12, desktops13, desktops_sid     the same tests in real GNOME Shell, KWin, labwc and wayfire of this release of
#                Debian; desktops_sid fails no part
#   packages     packages in a Debian of their own and in an emulated machine; a repository of them; two builds are the same
#   upgrade      the packages of release 0.1.0, with data of its programs, to today's: a table of the data before and after
#   emulated     the long tests in the emulated T61 and on an emulated machine with a frequency policy for each CPU: happed's cost,
#                twenty kills, busy threads, a hundred changes of another program's limit, a minute at 200 kS/s
#   session      the desktop's units under a real systemd user manager, with sway, GNOME Shell and without a display, on an
#                emulated machine
#   profiles     power-profiles-daemon's own tests of its bus interface, against happe-power-profiles
#   servers      two study servers and three workers on one PostgreSQL and one S3 store (versitygw, which Go builds here) through
#                a study, with 30 kills of one of them
#   containers   the same with one worker, in the containers of packaging/container, from this release's packages
#   bench        speed and memory
set -eu
cd "$(dirname "$0")/.."

run() { # PART
    case $1 in
        statistics)
            OPENBLAS_NUM_THREADS=1 PYTHONPATH=study-server/tests:study-server/src:profiles/python/src nice -n 19 \
                build/venv/bin/python study-server/tests/inference_grid.py "build/validate/inference-$(git rev-parse --short HEAD)"
            HAPPE_STUDIES=20000 build/venv/bin/python -m pytest -s -p no:cacheprovider \
                power-logger/tests/test_truths.py profiles/python/tests/test_clocks_of_traces.py
            HAPPE_TRUTHS=300 build/venv/bin/python -m pytest -s -p no:cacheprovider power-logger/tests/test_independent_truths.py
            build/bin/happe-sim study --seed 1..100 --check
            ;;
        models)
            tools/setup.sh statistics
            OPENBLAS_NUM_THREADS=1 PYTHONPATH=study-server/tests:study-server/src:profiles/python/src \
                build/venv/bin/python study-server/tests/compare_models.py build/validate/models
            ;;
        undo)
            HAPPE_HISTORIES=10000 build/bin/undo_test
            build/venv/bin/python -m pytest -p no:cacheprovider tests/system/test_kill9.py
            ;;
        reference)
            HAPPE_TRACES=960 nice -n 19 build/venv/bin/python -m pytest -s -p no:cacheprovider tests/contract/test_replay.py \
                -k test_long_traces
            ;;
        kills)
            HAPPE_KILLS=30 build/venv/bin/python -m pytest -p no:cacheprovider study-server/tests/test_kill9.py
            ;;
        long)
            build/venv/bin/python -m pytest -p no:cacheprovider -m long
            ;;
        field)
            HAPPE_FIELD_STUDIES=200 nice -n 19 build/venv/bin/python -m pytest -s -p no:cacheprovider \
                study-server/tests/analysis/test_noticing.py
            ;;
        laboratory)
            tools/laboratory.sh --protocol extended
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
                "$target" -max_total_time=600 -timeout=30 -rss_limit_mb=2048 -print_final_stats=1 "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name"
            done
            ;;
        sanitizers)
            cmake --preset asan-ubsan -B build/asan-ubsan-desktop -D HAPPE_UI=ON -D HAPPE_FUZZ=OFF
            cmake --build build/asan-ubsan-desktop --target unit_tests
            ctest --test-dir build/asan-ubsan-desktop --output-on-failure -j "$(nproc)"
            ;;
        debian12)
            tools/releases.sh bookworm
            ;;
        debian13)
            tools/releases.sh trixie
            ;;
        sid)
            tools/releases.sh sid || echo "sid is only reported"
            ;;
        desktops12)
            tools/desktops.sh bookworm
            ;;
        desktops13)
            tools/desktops.sh trixie
            ;;
        desktops_sid)
            tools/desktops.sh sid || echo "sid is only reported"
            ;;
        packages)
            make package-test package-vm-test
            packaging/repository-test.sh
            packaging/reproducible.sh
            ;;
        upgrade)
            make package
            packaging/upgrade-from-0.1.sh
            ;;
        emulated)
            tools/vm-test.sh --boot real_time --boot virtual_time --boot per_cpu --boot power -- -m long
            ;;
        session)
            tools/vm-test.sh --boot session
            ;;
        profiles)
            /usr/bin/python3 -B tests/power_profiles_daemon.py
            ;;
        servers)
            tools/versitygw.sh build/versitygw
            HAPPE_KILLS=30 HAPPE_PARTICIPANTS=4 HAPPE_VERSITYGW="$PWD/build/versitygw/versitygw" \
                build/venv/bin/python -m pytest -p no:cacheprovider --durations=1 study-server/tests/test_two_servers.py
            ;;
        containers)
            tools/setup.sh containers
            HAPPE_KILLS=30 HAPPE_PARTICIPANTS=4 packaging/container-test.sh
            ;;
        bench)
            make bench
            ;;
    esac
}

all="statistics models field laboratory reference worlds undo kills long fuzz sanitizers emulated session profiles servers bench packages upgrade containers debian12 debian13 sid desktops12 desktops13 desktops_sid"
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
