#!/bin/sh
# The long evidence, outside CI: hours in all, part by part. A part that succeeded at this commit is not run again, so the same
# command goes on where it was interrupted. What each part printed, figures that the documents quote among it, is in
# build/validate/COMMIT/PART.log. As root, for the parts that make systems of their own.
#   usage: tools/validate.sh [PART...]     all parts, if none is named:
#   statistics   the intervals and tests of analysis and power logger, on many more simulated studies than in CI
#   mutants      300 seeded changes of the code, which tests must notice
#   fuzz         ten minutes for each fuzz target, optimised
#   debian       README's commands on bare systems of Debian 12 and 13
#   packages     packages in a Debian of their own and in an emulated machine; RPMs; two builds of each are the same
#   bench        speed and memory
set -eu
cd "$(dirname "$0")/.."

run() { # PART
    case $1 in
        statistics)
            HAPPE_STUDIES=20000 build/venv/bin/python -m pytest -s -p no:cacheprovider study-server/tests/analysis/test_inference.py \
                power-logger/tests/test_truths.py profiles/python/tests/test_clocks_of_traces.py
            build/bin/happe-sim study --seed 1..100 --check
            ;;
        mutants)
            make mutants
            ;;
        fuzz)
            cmake --preset fuzz
            cmake --build --preset fuzz --target fuzzers
            for target in build/fuzz/bin/fuzz-*; do
                name=${target##*/fuzz-}
                mkdir -p "build/fuzz/corpus/$name"
                "$target" -max_total_time=600 -rss_limit_mb=2048 -print_final_stats=1 "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name"
            done
            ;;
        debian)
            make bare-root
            ;;
        packages)
            make package-test package-vm-test rpm
            ;;
        bench)
            make bench
            ;;
    esac
}

all="statistics mutants fuzz bench packages debian"
if [ "${1-}" = --one ]; then # from below
    run "$2"
    exit
fi
# shellcheck disable=SC2086 # words
[ $# -gt 0 ] || set -- $all
for part in "$@"; do
    case " $all " in
        *" $part "*) ;;
        *) echo "validate: there is no part '$part': $all" >&2; exit 64 ;;
    esac
done
git diff --quiet HEAD || { echo "validate: commit first: the results are a commit's" >&2; exit 65; }
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
    # In a shell of its own, so that the first command that fails ends the part.
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
