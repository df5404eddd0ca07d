# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server analyse` and `happe-server plan`: a study's report, and how many participants it needs. No server.

The statistics packages are imported only when needed: numpy, scipy and matplotlib take a second, and a server can
be installed without them.
"""

from __future__ import annotations

import json
import os
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from happe_cli.commands import Command, examples, is_terminal, json_option, print_json, print_table
from happe_cli.disk import sync_folder, whole
from happe_cli.errors import Failure
from happe_study.base.version import VERSION
from happe_study.cli.errors import PROGRAM
from happe_study.design.protocol.reading import ProtocolError, read_protocol
from happe_study.evidence.documents.reading import InputError, read_measures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from happe_study.design.protocol.reading import Protocol
    from happe_study.results.analysis.planning import Assumptions, Power
    from happe_study.results.analysis.tidy import Runs

    Option = Callable[[Callable[..., Any]], Callable[..., Any]]

MORE = """EXPORT is the folder that `happe-server study export` wrote after the study was unblinded. Writes
report.html, report.pdf and results.json. The same input gives the same bytes. Where the data can't support
a figure, the report gives the reason instead. The export has the locked protocol.

Examples:
  happe-server study export crossover --out export
  happe-server analyse export --power measures.json --out report
  happe-server analyse export --machine t61.json --out report --json | jq .sections[].refused"""

NAMES = ("report.html", "report.pdf", "results.json")
file = click.Path(dir_okay=False, exists=True, path_type=Path)


@click.command(cls=Command, epilog=MORE)
@click.argument("export", type=click.Path(file_okay=False, exists=True, path_type=Path))
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="The folder for the report"
)
@click.option("--power", type=file, metavar="FILE", help="The runs' measured power: happe-power-measures/1")
@click.option("--protocol", type=file, metavar="FILE", help="The locked protocol, if the export has none")
@click.option(
    "--machine", type=file, metavar="FILE", help="The machine's power model: happe-power-model/1  [the T61's]"
)
@json_option
def analyse(export: Path, out: Path, as_json: bool, **given: Any) -> None:  # noqa: ANN401, FBT001 - click's options
    """Make the report of a study from its export; needs no server."""
    out.mkdir(exist_ok=True)
    for name in NAMES:
        if (out / name).exists():
            raise Failure(os.EX_CANTCREAT, f"{out / name}: exists already; make the report in another folder")
    making, pages = _needed("making"), _needed("pages")
    try:
        report = making.make(making.Given(export, **given), _progress)
    except InputError as error:
        raise Failure(os.EX_DATAERR, *error.lines) from None
    document = pages.results(report)
    for name, content in zip(NAMES, (pages.html, pages.pdf, lambda _: document), strict=True):
        with whole(out / name) as opened:
            opened.write(content(report))
    sync_folder(out)
    if as_json:
        click.echo(document, nl=False)
    else:
        print_table((str(out / name), f"{(out / name).stat().st_size} bytes") for name in NAMES)
    if refused := [line for section in report.sections for line in section.refused]:
        PROGRAM.show([f"refused {len(refused)} figures that the data can't support; the report says why"])


def _needed(module: str) -> Any:  # noqa: ANN401 - a module
    try:
        return import_module(f"happe_study.results.analysis.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("happe_study"):
            raise
        advice = "install happe-study-server[analysis]"
        raise Failure(os.EX_UNAVAILABLE, f"the Python package {error.name} is missing; {advice}") from None


def _progress(what: str) -> None:
    if is_terminal():
        PROGRAM.show([what])


def assumption(name: str, within: tuple[float, float], default: float, text: str, metavar: str = "PART") -> Option:
    """An option whose value the simulated studies assume."""
    kind = click.FloatRange(*within)
    return click.option(name, type=kind, default=default, show_default=True, metavar=metavar, help=text)


@click.command(
    cls=Command,
    epilog=examples(
        "happe-server plan crossover.toml",
        "happe-server plan crossover.toml --participants 24 --participants 48 --difference -0.05 --json",
        "happe-server plan crossover.toml --minority 0.1 --dropout 0.1 --register",
    ),
)
@click.argument("protocol", type=file)
@click.option(
    "--participants",
    type=click.IntRange(5, 1000),
    multiple=True,
    metavar="NUMBER",
    help="The number of participants; repeat the option for more numbers",
)
@assumption(
    "--difference", (-10, 10), 0.0, "The true difference of mean ratings: treatment minus reference", metavar="POINTS"
)
@assumption("--between", (0, 0.95), 0.3, "The share of satisfaction's variance between people")
@assumption(
    "--liking", (0, 1), 0.05, "The variance of people's own liking of the treatment, as a share of the same variance"
)
@assumption("--minority", (0, 0.5), 0.0, "The share of people who rate the treatment lower than the others do")
@assumption("--dislike", (0, 10), 2.0, "How much lower this minority rates it", metavar="POINTS")
@assumption("--dropout", (0, 0.9), 0.0, "The share of the participants who drop out")
@assumption("--saving", (-1, 0.9), 0.25, "The true typical saving")
@assumption("--spread", (0.001, 1), 0.06, "The standard deviation of people's own savings")
@assumption("--above", (-1, 0.9), 0.2, "The saving above which the whole interval should be")
@click.option(
    "--like",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    metavar="FOLDER",
    help="Draw participants from the study in this folder instead: happe-sim study --out writes one",
)
@click.option("--register", is_flag=True, help="Print lines for the protocol instead, which preregister the result")
@json_option
def plan(
    protocol: Path,
    participants: tuple[int, ...],
    as_json: bool,  # noqa: FBT001 - click's flag
    register: bool,  # noqa: FBT001
    like: Path | None,
    **assumed: float,
) -> None:
    """How likely a study shows non-inferiority and a saving, by size; simulates 2000 studies of each.

    It assumes the paper's frequencies of ratings under ondemand (Table A.1) for the reference, in turn for each
    application. This needs a scale of five points.
    """
    planned = _protocol(protocol)
    if planned.analysis is None:
        raise Failure(
            os.EX_DATAERR,
            f"{protocol}: has no section [analysis] with the margin; add one (docs/protocol.md, The analysis)",
        )
    powers = _powers(protocol, planned, participants or _sizes(planned), like, assumed)
    if register:
        click.echo("\n".join(_registered(powers, like, assumed)))
        return
    if as_json:
        print_json([vars(each) for each in powers])
        return
    rows = [
        (each.participants, each.left, *(f"{100 * part:.1f} %" for part in (each.power, each.saving_power)))
        for each in powers
    ]
    print_table([("participants", "left", "non-inferior", f"saving above {100 * assumed['above']:g} %"), *rows])


def _registered(powers: Sequence[Power], like: Path | None, assumed: dict[str, float]) -> Iterator[str]:
    """`planned` of the protocol's section [analysis], as TOML."""
    given = [f"--{name} {value:g}" for name, value in assumed.items()] + ([f"--like {like.name}"] if like else [])
    lines = [f"happe-server {VERSION} plan {' '.join(given)}"]
    lines += [
        f"{each.participants} participants, {each.left} at the end: of {each.studies} studies "
        f"{100 * each.power:.1f} % show non-inferiority, {100 * each.saving_power:.1f} % the saving"
        for each in powers
    ]
    yield "planned = ["
    yield from (f"    {json.dumps(line)}," for line in lines)
    yield "]"


def _protocol(path: Path) -> Protocol:
    try:
        return read_protocol(path.read_bytes(), str(path))
    except ProtocolError as error:
        raise Failure(os.EX_DATAERR, *str(error).splitlines()) from None


def _sizes(planned: Protocol) -> list[int]:
    """The protocol's number of participants and its halves and multiples, in whole blocks."""
    block, wanted = planned.block_size, planned.participants
    rounded = {max(1, round(part * wanted / block)) * block for part in (0.5, 1, 1.5, 2, 3)}
    return sorted(size for size in rounded if size >= FEWEST_PLANNED)


FEWEST_PLANNED = 5


def _powers(
    path: Path, planned: Protocol, sizes: Sequence[int], like: Path | None, assumed: dict[str, float]
) -> list[Power]:
    planning, refusal = _needed("planning"), _needed("refusal").Refusal
    analysis = planned.analysis
    assert analysis is not None  # noqa: S101 - looked at before
    width = float(planned.rating.highest - planned.rating.lowest)
    test = _needed("noninferiority").Wanted(analysis.margin, analysis.alpha, width)
    goal = planning.Goal(test, assumed["above"], assumed["dropout"])
    try:
        if like is None:
            draw = partial(planning.simulated, _assumed(path, planned, assumed))
        else:
            draw = partial(planning.drawn, planning.people_of(_runs(like), analysis.treatment, analysis.reference))
        return [planning.power(size, goal, draw) for size in sizes]
    except refusal as error:
        raise Failure(os.EX_DATAERR, str(error)) from None


def _assumed(path: Path, planned: Protocol, assumed: dict[str, float]) -> Assumptions:
    planning = _needed("planning")
    paper, scale = planning.PAPER_RATINGS, planned.rating.highest - planned.rating.lowest + 1
    if scale != len(paper[0]):
        raise Failure(os.EX_DATAERR, f"{path}: rating: has {scale} points; the paper's ratings have {len(paper[0])}")
    frequencies = tuple(paper[n % len(paper)] for n in range(len(planned.applications)))
    wanted = {key: assumed[key] for key in ("between", "liking", "minority", "dislike", "saving", "spread")}
    shifted: Assumptions = planning.shift_for(planning.Assumptions(frequencies, **wanted), assumed["difference"])
    return shifted


def _runs(folder: Path) -> Runs:
    """A study's runs with their power, from what `happe-sim study --out` wrote."""
    reading = _needed("reading")
    try:
        measures = read_measures(folder / "measures.json")
        runs: Runs = reading.with_power(reading.read_export(folder / "export").runs, measures)[0]
    except InputError as error:
        raise Failure(os.EX_DATAERR, *error.lines) from None
    return runs
