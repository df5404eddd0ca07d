# SPDX-License-Identifier: GPL-2.0-or-later
"""Fit the simulated participants to the paper's Tables A.1 and A.3.

Runs `happe-sim study --json` on seeds of its own (1001 and up; the documents' figures are from other seeds). CMA-ES
(Hansen's pycma) moves each application's parameters until the study's figures are near the paper's. The result shows
that the model can reproduce the study; it is no measurement of people. The parameters of the people, which all
applications share, are assumptions and stay as they are in the file.

    build/venv/bin/python governor/sim/commands/fit.py --program build/bin/happe-sim governor/sim/fitted.json
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import cma

FIRST_SEED = 1001
PROVENANCE = "fitted to Tables A.1 and A.3 by governor/sim/commands/fit.py"
CLOSE_ENOUGH = 0.5  # of a figure's tolerance; beyond it the loss grows faster

# Each parameter's range. The order is that of the search's dimensions.
RANGES: dict[str, tuple[float, float]] = {
    "workload.busy_khz": (1.4e6, 3.0e6),
    "workload.participant_spread": (0.0, 0.15),
    "workload.drift_spread": (0.02, 0.35),
    "workload.flicker_spread": (0.02, 0.5),
    "workload.calm_khz": (3.0e5, 1.5e6),
    "workload.calm_share": (0.0, 0.3),
    "other_watts": (-3.0, 3.0),
    "other_watts_spread": (0.05, 0.8),
    "need_khz": (3.0e5, 2.2e6),
    "need_spread": (0.05, 2.0),
    "unsatisfied_share": (0.0, 0.06),
    "impatience": (0.01, 0.4),
    "thrift": (0.0005, 0.03),
    "indicator_thrift": (0.5, 5.0),
    "rating": (4.3, 6.0),
    "rating_person_spread": (0.0, 1.0),
    "rating_run_spread": (0.0, 1.0),
    "annoyance": (0.0, 10.0),
    "control": (-0.3, 0.5),
    "indicator_rating": (-0.6, 0.4),
}

Application = dict[str, Any]


def get(application: Application, path: str) -> float:
    """Return a parameter by its path, e.g. workload.busy_khz."""
    value: Any = application
    for part in path.split("."):
        value = value[part]
    return float(value)


def put(application: Application, point: list[float]) -> Application:
    """Return a copy whose parameters are a point of the unit cube, rounded to four significant digits."""
    changed: Application = json.loads(json.dumps(application))
    for (path, (low, high)), share in zip(RANGES.items(), point, strict=True):
        *parents, last = path.split(".")
        target = changed
        for parent in parents:
            target = target[parent]
        target[last] = float(f"{low + share * (high - low):.4g}")
    return changed


def start(application: Application) -> list[float]:
    """Return the application's present point in the unit cube."""
    return [min(max((get(application, path) - low) / (high - low), 0.02), 0.98) for path, (low, high) in RANGES.items()]


def study(program: Path, document: dict[str, Any], seeds: int) -> dict[str, Any]:
    """Run the study with these parameters, and return its figures, averaged over seeds."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(document, file)
        file.flush()
        command = [str(program), "study", "--quiet", "--json", "--parameters", file.name]
        command += ["--seed", f"{FIRST_SEED}..{FIRST_SEED + seeds - 1}"]
        result: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        return result


def strains(result: dict[str, Any]) -> list[float]:
    """Return each figure's distance from the paper as a share of its tolerance. A saving's tolerance is 2 points."""
    figures: list[dict[str, float]] = []
    for cell in result["cells"]:
        figures += [value for value in cell.values() if isinstance(value, dict) and "paper" in value]
    for row in result["presses"]:
        figures += [value for value in row.values() if isinstance(value, dict) and "paper" in value]
    shares = [figure["difference"] / figure["tolerance"] for figure in figures]
    ondemand = {c["application"]: c["power_mean_w"] for c in result["cells"] if c["condition"] == "ondemand"}
    for cell in result["cells"]:
        power = cell["power_mean_w"]
        if "paper" in power and cell["condition"] != "ondemand":
            printed = 100.0 * (1.0 - power["paper"] / ondemand[cell["application"]]["paper"])
            shares.append((cell["saving_percent"] - printed) / 2.0)
    return shares


def loss(shares: list[float]) -> float:
    """Return the sum of squares, plus ten times the squares of what exceeds CLOSE_ENOUGH."""
    return sum(s * s + 10.0 * max(0.0, abs(s) - CLOSE_ENOUGH) ** 2 for s in shares)


def fit(program: Path, document: dict[str, Any], application: Application, seeds: int, evaluations: int) -> Application:
    """Return the application with the parameters of the least loss."""

    def cost(point: list[float]) -> float:
        trial = {**document, "applications": [put(application, list(point))]}
        return loss(strains(study(program, trial, seeds)))

    options = {"bounds": [0, 1], "maxfevals": evaluations, "seed": 7, "verbose": -9}
    best, search = cma.fmin2(cost, start(application), 0.12, options)
    sys.stderr.write(
        f"{application['name']}: loss {search.result.fbest:.3f} after {search.result.evaluations} studies\n"
    )
    return put(application, list(best))


def main() -> None:
    """Fit every application, two at a time, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="parameters to start from and to write")
    parser.add_argument("--program", type=Path, default=Path("build/bin/happe-sim"))
    parser.add_argument("--application", action="append", help="only this one (may be given more than once)")
    parser.add_argument("--seeds", type=int, default=8, help="how many, from 1001 on")
    parser.add_argument("--evaluations", type=int, default=1000, help="studies to run for each application")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    program = arguments.program.resolve(strict=True)

    document = json.loads(arguments.file.read_text())
    chosen = [a for a in document["applications"] if not arguments.application or a["name"] in arguments.application]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        fitted = {
            a["name"]: pool.submit(fit, program, document, a, arguments.seeds, arguments.evaluations) for a in chosen
        }
        document["applications"] = [
            fitted[a["name"]].result() if a["name"] in fitted else a for a in document["applications"]
        ]
    document["provenance"] = PROVENANCE
    arguments.file.write_text(json.dumps(document, indent=2) + "\n")
    final = strains(study(program, document, arguments.seeds))
    sys.stderr.write(f"worst figure at {max(map(math.fabs, final)):.2f} of its tolerance on the fit's own seeds\n")


if __name__ == "__main__":
    main()
