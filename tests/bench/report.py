# SPDX-License-Identifier: GPL-2.0-or-later
"""Print a Google Benchmark result as ratios to the baselines of the same run, beside what is aimed for.

usage: report.py BENCH.json      exits with 1 if an aim is missed
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
POLICIES = (1, 4, 16, 64, 256)
MOST_STEP_NS = 200.0
MOST_PER_POLICY = 2.0  # of the cost of one policy alone: linear, with room for caches
MOST_STUDY_S = 1.0
MOST_OPEN_MS = 1.0


def median(benches: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """The median of a benchmark's repetitions, whose CPU time becomes nanoseconds in `ns`."""
    pattern = re.compile(re.escape(name) + r"(/[a-z_]+(:[\d.]+)?)*_median")
    found = next(bench for bench in benches if pattern.fullmatch(bench["name"]))
    return {**found, "ns": found["cpu_time"] * NS[found["time_unit"]]}


def main(path: str) -> int:
    """Print the table; exit status."""
    benches = json.loads(Path(path).read_text())["benchmarks"]
    missed = 0

    def row(what: str, value: str, aim: str, *, met: bool = True) -> None:
        nonlocal missed
        missed += not met
        print(f"  {what:58} {value:>14}  {aim}{'' if met else '  MISSED'}")

    print("CPU time, medians of five; ratios are to the baseline of this same run")
    one = median(benches, "core_step/1")["ns"]
    row("core step, one policy", f"{one:.0f} ns", f"at most {MOST_STEP_NS:.0f} ns", met=one <= MOST_STEP_NS)
    for policies in POLICIES[1:]:
        each = median(benches, f"core_step/{policies}")["ns"] / policies
        ratio = each / one
        row(
            f"core step, {policies} policies: cost of each to one alone",
            f"{ratio:.2f}",
            "linear",
            met=ratio <= MOST_PER_POLICY,
        )
    for policies in (POLICIES[0], POLICIES[-1]):
        step = median(benches, f"core_step/{policies}")["ns"]
        base = median(benches, f"table_lookup_baseline/{policies}")["ns"]
        row(f"core step to a bare table look-up, {policies} policies", f"{step / base:.1f}", "")
    study = median(benches, "paper_study")
    seconds = study["ns"] / 1e9
    row(
        f"the paper's study, {study['runs']:.0f} runs of 120 s",
        f"{seconds:.3f} s",
        "under 1 s",
        met=seconds < MOST_STUDY_S,
    )
    replay = median(benches, "replay_hour")["ns"] / median(benches, "parse_hour_baseline")["ns"]
    row("replay of an hour to reading its JSON alone", f"{replay:.2f}", "")
    opened = median(benches, "OpenAndFindOneOf10000")["ns"] / 1e6
    row("open a database of 10,000 UAFPs and find one", f"{opened:.3f} ms", "under 1 ms", met=opened < MOST_OPEN_MS)
    learned = median(benches, "LearnedBesideABareInsert")["learned_to_bare"]
    row("lessons stored a second to bare inserts", f"{learned:.2f}", "")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
