# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power measure` and `happe-power measures`."""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from happe_cli.commands import Command, is_terminal, json_option, print_json, print_table
from happe_cli.errors import Failure
from happe_contract import schemas
from happe_contract.measuring.budget import COVERAGE_FACTOR, Kind
from happe_contract.measuring.refusal import Limits, Refusal
from happe_contract.measuring.runs import FORMAT, Measured
from happe_contract.measuring.session import Session, Times
from happe_power import compare, figures, measuring
from happe_power.cli.host import MOMENT, TIMES, Host, pass_host
from happe_power.recording.files import write_whole
from happe_power.recording.header import MEASURED
from happe_power.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from happe_contract.measuring.budget import Budget
    from happe_contract.measuring.energy import Figure
    from happe_power.cli.host import Moment
    from happe_power.compare import Comparison

MORE = f"""{TIMES}
Times are the server's, or with --own-clock this host's. Without --from and --to the command measures the
whole trace. The number after +- is the expanded uncertainty with k = 2, about 95 %. The command refuses a
figure, with exit status 65, if too many samples are missing, if the clocks do not fix the interval's ends
precisely enough, or if nobody measured the shunt's resistance.

Examples:
  happe-power measure 2b1e5a52 --from 2026-11-21T14:05:00Z --to 2026-11-21T14:07:00Z --budget
  happe-power measure 2b1e5a52 --from 15m --to 17m --against 10:30 10:32
  happe-power measure 2b1e5a52 --own-clock --json | jq .mean_w"""


Given = TypeVar("Given")


def session_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of commands that work on a trace's session."""
    path = click.Path(dir_okay=False, exists=True, path_type=Path)
    for option in (
        click.option("--own-clock", is_flag=True, help="Take times by this host's wall clock, not the server's"),
        click.option("--channel", metavar="NAME", help="The channel for watts, if there are several"),
        click.option("--calibration", type=path, metavar="FILE", help="Use this calibration record, not the trace's"),
    ):
        command = option(command)
    return command


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options for the limits of refusal; `limits_of` reads them."""
    coverage = click.option(
        "--least-coverage",
        type=click.FloatRange(0, 100),
        default=100 * Limits.coverage,
        show_default=True,
        metavar="PERCENT",
        help="Refuse an interval that has a smaller share of its samples",
    )
    clock = click.option(
        "--most-clock",
        type=click.FloatRange(0),
        default=Limits.clock_us / 1000,
        show_default=True,
        metavar="MS",
        help="Refuse an interval whose ends are more uncertain",
    )
    return coverage(clock(command))


def limits_of(chosen: Mapping[str, Any]) -> Limits:
    """The limits from `limit_options`."""
    return Limits(coverage=chosen["least_coverage"] / 100, clock_us=1000 * chosen["most_clock"])


def opened(host: Host, name: str, *, calibration: Path | None, channel: str | None, own_clock: bool) -> Session:
    """A trace's session. Raises Failure, TraceError, TomlFileError."""
    trace = Trace.open(host.trace(name))
    return granted(figures.session(trace, record=calibration, channel=channel, own_clock=own_clock))


def granted(found: Given | Refusal) -> Given:
    """Return a result. Raises Failure for a refusal."""
    if isinstance(found, Refusal):
        raise Failure(os.EX_DATAERR, f"refused ({found.why}): {found.detail}")
    return found


@click.command(cls=Command, epilog=MORE)
@click.argument("trace")
@click.option("--from", "begin", type=MOMENT, metavar="TIME", help="Where the interval begins [the trace's beginning]")
@click.option("--to", "end", type=MOMENT, metavar="TIME", help="Where it ends  [the trace's end]")
@click.option("--against", type=MOMENT, nargs=2, metavar="FROM TO", help="Compare with this interval of the same trace")
@click.option("--against-trace", metavar="TRACE", help="Take that interval from another trace of the same rig")
@click.option("--budget", "with_budget", is_flag=True, help="Print the uncertainty budget")
@limit_options
@session_options
@json_option
@pass_host
def measure(host: Host, /, trace: str, **chosen: Any) -> None:  # noqa: ANN401 - click's options
    """Mean power and energy of an interval, with its uncertainty."""
    limits = limits_of(chosen)
    how = {name: chosen[name] for name in ("calibration", "channel", "own_clock")}
    found = [_taken(opened(host, trace, **how), (chosen["begin"], chosen["end"]), limits)]
    if chosen["against"]:
        other = opened(host, chosen["against_trace"] or trace, **how)
        found.append(_taken(other, chosen["against"], limits))
    elif chosen["against_trace"]:
        raise click.UsageError("--against-trace needs --against FROM TO")
    compared = _compared(*(figure for _, figure in found)) if chosen["against"] else {}
    if chosen["as_json"]:
        print_json(_document(found, compared))
    else:
        _print(found, compared, with_budget=chosen["with_budget"])


def _taken(session: Session, cuts: Sequence[Moment | None], limits: Limits) -> tuple[Session, Figure]:
    first = session.trace.started.index
    begin_us, end_us = (None if each is None else each.at(session.clocks, first) for each in cuts)
    times = Times(begin_us, end_us)
    return session, granted(session.figure(times, limits))


def _compared(one: Figure, reference: Figure) -> dict[str, Comparison]:
    return {
        "difference": granted(compare.difference(one, reference)),
        "improvement": granted(compare.improvement(one, reference)),
    }


def _document(found: list[tuple[Session, Figure]], compared: dict[str, Comparison]) -> dict[str, Any]:
    document = _figure(*found[0])
    if compared:
        document["against"] = _figure(*found[1])
        for name, each in compared.items():
            document[name] = {"value": each.value, "unit": each.unit, **_uncertainty(each.budget)}
    return document


def _figure(session: Session, figure: Figure) -> dict[str, Any]:
    standing, says = session.standing(figure)
    interval = figure.interval
    return {
        "trace": interval.trace,
        "from_us": interval.begin.server_us,
        "to_us": interval.end.server_us,
        "mean_w": figure.mean_w,
        "energy_j": figure.energy_j,
        "expanded_uncertainty_j": figure.energy_budget.expanded,
        "coverage": figure.coverage,
        "effective_samples": figure.noise.effective,
        "clock_bound_us": [interval.begin.half_width_us, interval.end.half_width_us],
        "calibration": {"standing": standing, "says": says},
        "notes": [*session.notes, *figure.notes],
        **_uncertainty(figure.budget),
    }


def _uncertainty(budget: Budget) -> dict[str, Any]:
    return {
        "k": COVERAGE_FACTOR,
        "expanded_uncertainty": budget.expanded,
        "standard_uncertainty": budget.standard_uncertainty,
        "type_a": budget.of_kind(Kind.A),
        "type_b": budget.of_kind(Kind.B),
        "dof": None if math.isinf(budget.dof) else budget.dof,
        "budget": [
            {
                "input": line.name,
                "kind": line.kind,
                "standard_uncertainty": line.standard_uncertainty,
                "unit": line.unit,
                "sensitivity": line.sensitivity,
                "part": abs(line.part),
                "dof": None if math.isinf(line.dof) else line.dof,
                "source": line.source,
            }
            for line in budget.lines
        ],
    }


def _print(found: list[tuple[Session, Figure]], compared: dict[str, Comparison], *, with_budget: bool) -> None:
    for session, figure in found:
        _print_figure(session, figure)
        if with_budget:
            print_budget(figure.budget, "W")
            click.echo()
    for name, each in compared.items():
        factor, unit = (100.0, "%") if each.unit == "1" else (1.0, each.unit)
        budget = each.budget.scaled(factor)
        click.echo(f"{name:12} {with_uncertainty(factor * each.value, budget.expanded)} {unit}")
        if with_budget:
            print_budget(budget, unit)
            click.echo()


def _print_figure(session: Session, figure: Figure) -> None:
    interval = figure.interval
    clock_ms = max(interval.begin.half_width_us, interval.end.half_width_us) / 1000
    click.echo(f"{'mean power':12} {with_uncertainty(figure.mean_w, figure.budget.expanded)} W")
    click.echo(f"{'energy':12} {with_uncertainty(figure.energy_j, figure.energy_budget.expanded)} J")
    click.echo(
        f"{'interval':12} {interval.seconds:.6f} s from {_shown(interval.begin.server_us)}, cut to {clock_ms:.1f} ms"
    )
    click.echo(f"{'coverage':12} {100 * figure.coverage:.3f} %")
    for note in (session.standing(figure)[1], *session.notes, *figure.notes):
        click.echo(f"{'note':12} {note}")


def print_budget(budget: Budget, unit: str) -> None:
    """Print a budget as a table, the largest part first; lines that add less than a thousandth are one line."""
    whole = budget.standard_uncertainty
    lines = sorted(budget.lines, key=lambda line: -abs(line.part))
    shown = [line for line in lines if abs(line.part) >= whole / 1000]
    rows: list[tuple[object, ...]] = [("input", "type", "u", "", "sensitivity", f"part, {unit}", "source")]
    rows += [
        (
            line.name,
            line.kind,
            f"{line.standard_uncertainty:.3g}",
            line.unit,
            f"{line.sensitivity:.4g}",
            f"{abs(line.part):.3g}",
            line.source,
        )
        for line in shown
    ]
    if rest := math.hypot(*(line.part for line in lines[len(shown) :])):
        rows.append((f"{len(lines) - len(shown)} others", "", "", "", "", f"{rest:.3g}", ""))
    print_table(rows)
    parts = f"type A {budget.of_kind(Kind.A):.3g}, type B {budget.of_kind(Kind.B):.3g}"
    dof = "infinite" if budget.dof > MANY else f"{budget.dof:.0f}"
    click.echo(f"combined {whole:.3g} {unit} ({parts}), effective degrees of freedom {dof}")
    click.echo(f"U (k = 2) {budget.expanded:.3g} {unit}")


MANY = 1e6  # from here on, degrees of freedom print as infinite


def with_uncertainty(value: float, expanded: float) -> str:
    """A value and its expanded uncertainty, two digits of it (GUM 7.2.6); zero has no sign."""
    if expanded <= 0:
        return f"{value:z.6f} +- 0"
    places = 1 - math.floor(math.log10(float(f"{expanded:.1e}")))
    shown = min(max(places, 0), MOST_PLACES)
    return f"{round(value, places):z.{shown}f} +- {round(expanded, places):.{shown}f}"


MOST_PLACES = 9


def _shown(server_us: int) -> str:
    moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=server_us)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


MEASURES_MORE = """RUNS is the table `runs` of `happe-server study export`: CSV, JSON lines or Parquet. For each
complete run the command finds the trace of its laptop at that time, and measures the run as `measure` would.
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


@click.command(cls=Command, epilog=MEASURES_MORE)
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
    how = {"record": chosen["calibration"], "channel": chosen["channel"], "own_clock": chosen["own_clock"]}
    folders, wanted = _folders(host, names), measuring.read_runs(runs)
    counted = measuring.measured(wanted, measuring.opened(folders, how), limits)
    shown: dict[str, Any] = {"label": "runs", "file": sys.stderr, "hidden": not is_terminal()}
    with click.progressbar(counted, len(wanted), **shown) as each_shown:
        found = list(each_shown)
    made = [each.document() for each in found]
    document = {"format": FORMAT, "measures": made}
    schemas.check(schemas.Kind.POWER_MEASURES, document)
    write_whole(out, f"{json.dumps(document, ensure_ascii=False, allow_nan=False)}\n".encode())
    _mark(folders, found)
    summary = _summary(out, made)
    if chosen["as_json"]:
        print_json(summary)
    else:
        _print_summary(summary)
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


def _print_summary(summary: dict[str, Any]) -> None:
    click.echo(f"{summary['out']}: {summary['measured']} of {summary['runs']} runs measured")
    for each in summary["calibrations"]:
        click.echo(f"note  {each['runs']} by {each['says']}")
    for each in summary["notes"]:
        click.echo(f"note  {each['runs']}: {each['says']}")
    for each in summary["refused"]:
        click.echo(f"refused  run {each['run']}: {each['why']}")
