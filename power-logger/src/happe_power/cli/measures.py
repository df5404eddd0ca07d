# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power measures`: the power of every run of a study, for its analysis."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from happe_cli.commands import Command, is_terminal, json_option, print_json
from happe_cli.errors import Failure
from happe_contract.measuring.refusal import Refusal
from happe_contract.measuring.runs import FORMAT, Measured
from happe_contract.schemas import Kind, check
from happe_power.cli.host import Host, pass_host
from happe_power.cli.measure import limit_options, limits_of, session_options
from happe_power.measuring import How, measured, opened, read_runs
from happe_power.recording.files import write_whole
from happe_power.recording.header import MEASURED
from happe_power.toml_files import TomlFileError
from happe_power.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from happe_contract.measuring.refusal import Limits
    from happe_contract.measuring.runs import StudyRun

MORE = """RUNS is the table `runs` of `happe-server study export`: CSV, JSON lines or Parquet. For each complete
run the command finds the trace of its laptop at that time, and measures the run as `happe-power measure` would.
The run's times come from its record (the tables `records` and `clocks` beside RUNS), or from the server if
there is no record. --trace names a trace, or a folder of traces, such as the one that `happe-server study
traces` wrote. If several folders have the same trace, the command reads the one with most samples. Only the
measuring host has zero checks, so name its spool too. If a run can't be measured, the document gives the
reason, and the exit status is 1. When every run of a sealed trace has a figure, the uploader may delete the
parts of the trace.

Examples:
  happe-power measures export/crossover-runs.csv --trace 2b1e5a52 --trace 77c01d3a --out measures.json
  happe-power measures export/crossover-runs.csv --trace traces --trace /var/lib/happe-power/spool --out power.json
  happe-power measures export/crossover-runs.csv --trace traces --out measures.json --json | jq .refused"""


@click.command(cls=Command, epilog=MORE)
@click.argument("runs", type=click.Path(dir_okay=False, exists=True, path_type=Path))
@click.option(
    "--trace", "names", multiple=True, required=True, metavar="TRACE", help="A trace; repeat the option for more traces"
)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), required=True, metavar="FILE", help="The document to make"
)
@limit_options
@session_options
@json_option
@pass_host
def measures(host: Host, /, runs: Path, names: tuple[str, ...], out: Path, **chosen: Any) -> None:  # noqa: ANN401 - click's options
    """Mean power of every run of a study, for `happe-server analyse`."""
    if out.exists():
        raise Failure(os.EX_CANTCREAT, f"{out}: exists already; name another file")
    limits = limits_of(chosen)
    how = How(chosen["calibration"], chosen["channel"], chosen["own_clock"])
    folders = _folders(host, names)
    found = _measured(read_runs(runs), folders, how, limits)
    made = [each.document() for each in found]
    document = {"format": FORMAT, "measures": made}
    check(Kind.POWER_MEASURES, document)
    write_whole(out, f"{json.dumps(document, ensure_ascii=False, allow_nan=False)}\n".encode())
    _mark(folders, found)
    summary = _summary(out, made)
    if chosen["as_json"]:
        print_json(summary)
    else:
        _print(summary)
    if summary["refused"]:
        sys.exit(1)


def _folders(host: Host, names: Sequence[str]) -> list[Path]:
    """The folders of the named traces, and of all traces inside named folders."""
    found: list[Path] = []
    for name in names:
        inside = sorted(path.parent for depth in DEPTHS for path in Path(name).glob(f"{depth}/header.json"))
        found += inside if inside and not (Path(name) / "header.json").exists() else [host.trace(name)]
    return found


DEPTHS = ("[!.]*", "[!.]*/[!.]*")  # a dot at the beginning of its name marks an unfinished folder


def _measured(runs: list[StudyRun], folders: Sequence[Path], how: How, limits: Limits) -> list[Measured]:
    """Measure every run, and show a progress bar on a terminal."""
    try:
        found = measured(runs, opened(folders, how), limits)
        shown: dict[str, Any] = {"label": "runs", "file": sys.stderr, "hidden": not is_terminal()}
        with click.progressbar(found, len(runs), **shown) as counted:
            return list(counted)
    except TomlFileError as error:
        raise Failure(os.EX_CONFIG, *str(error).splitlines()) from None


def _mark(folders: Sequence[Path], found: Sequence[Measured]) -> None:
    """Let the uploader delete the parts of sealed traces of which every run has a figure."""
    refused = {each.session.trace.id for each in found if each.session and isinstance(each.found, Refusal)}
    done = {each.session.trace.id for each in found if each.session} - refused
    for trace in map(Trace.open, folders):
        if trace.sealed and trace.id in done:
            try:
                (trace.folder / MEASURED).touch()
            except OSError as error:
                said = f"{error.filename}: {error.strerror}; its parts stay until the disk runs short"
                click.echo(f"happe-power: {said}", err=True)


def _summary(out: Path, made: Sequence[dict[str, Any]]) -> dict[str, Any]:
    used = Counter(each["calibration"]["says"] for each in made if "mean_w" in each)
    noted = Counter(note for each in made for note in each.get("notes", ()))
    return {
        "out": str(out),
        "runs": len(made),
        "measured": sum(used.values()),
        "calibrations": [{"says": says, "runs": count} for says, count in used.most_common()],
        "notes": [{"says": says, "runs": count} for says, count in noted.most_common()],
        "refused": [{"run": each["run"], "why": each["refused"]} for each in made if "refused" in each],
    }


def _print(summary: dict[str, Any]) -> None:
    click.echo(f"{summary['out']}: {summary['measured']} of {summary['runs']} runs measured")
    for each in summary["calibrations"]:
        click.echo(f"note  {each['runs']} by {each['says']}")
    for each in summary["notes"]:
        click.echo(f"note  {each['runs']}: {each['says']}")
    for each in summary["refused"]:
        click.echo(f"refused  run {each['run']}: {each['why']}")
