# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server analyse` and `happe-server plan`: a study's report, and how many participants it needs. No server.

What they are reckoned with is imported when it is needed: numpy, scipy and matplotlib take a second, and a server can
be installed without them.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from happe_cli.commands import Command, examples, is_terminal, json_option, print_json, print_table
from happe_cli.disk import sync_folder, whole
from happe_cli.errors import Failure
from happe_study.cli.errors import PROGRAM
from happe_study.design.protocol.reading import ProtocolError, read_protocol
from happe_study.evidence.documents.reading import InputError

if TYPE_CHECKING:
    from happe_study.design.protocol.reading import Protocol

MORE = """EXPORT is the folder that `happe-server study export` wrote after the study was unblinded. Writes
report.html, report.pdf and results.json; the same input gives the same bytes. A figure that the data do not
bear is refused in its place, with the reason. The protocol is the export's, as it was locked.

Examples:
  happe-server study export crossover --out export
  happe-server analyse export --power measures.json --out report
  happe-server analyse export --machine t61.json --out report --json | jq .sections[].refused"""

NAMES = ("report.html", "report.pdf", "results.json")
FEWEST_RESAMPLES, MOST_RESAMPLES = 999, 1_000_000
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
@click.option(
    "--resamples",
    type=click.IntRange(FEWEST_RESAMPLES, MOST_RESAMPLES),
    default=9999,
    show_default=True,
    metavar="NUMBER",
    help="How often the bootstrap draws participants",
)
@json_option
def analyse(export: Path, out: Path, as_json: bool, **given: Any) -> None:  # noqa: ANN401, FBT001 - click's options
    """Make the report of a study from its export; needs no server."""
    out.mkdir(exist_ok=True)
    for name in NAMES:
        if (out / name).exists():
            raise Failure(os.EX_CANTCREAT, f"{out / name}: is there already; make the report in another folder")
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
        PROGRAM.show([f"refused {len(refused)} figures that the data do not bear; the report says why"])


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


@click.command(
    cls=Command,
    epilog=examples(
        "happe-server plan crossover.toml",
        "happe-server plan crossover.toml --participants 24 --participants 48 --difference -0.05 --json",
    ),
)
@click.argument("protocol", type=file)
@click.option(
    "--participants",
    type=click.IntRange(5, 1000),
    multiple=True,
    metavar="NUMBER",
    help="This many; may be given again",
)
@click.option(
    "--difference",
    type=click.FloatRange(-10, 10),
    default=0.0,
    show_default=True,
    metavar="POINTS",
    help="The true difference of mean ratings, treatment less reference",
)
@click.option(
    "--between",
    type=click.FloatRange(0, 0.95),
    default=0.3,
    show_default=True,
    metavar="PART",
    help="The part of satisfaction's variance that is between people",
)
@click.option(
    "--liking",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    metavar="PART",
    help="The variance of people's own liking of the treatment, as such a part",
)
@json_option
def plan(protocol: Path, participants: tuple[int, ...], as_json: bool, **assumed: float) -> None:  # noqa: FBT001 - click's flag
    """How likely a study shows non-inferiority, by size; simulates 2000 studies of each.

    Ratings under the reference are assumed to be as frequent as the paper's under ondemand (Table A.1), in
    turn for each application, which takes a scale of five points.
    """
    planned = _protocol(protocol)
    if planned.analysis is None:
        raise Failure(os.EX_DATAERR, f"{protocol}: has no section [analysis], which says the margin")
    powers = _powers(protocol, planned, participants or _sizes(planned), assumed)
    if as_json:
        print_json([vars(each) for each in powers])
        return
    rows = [(each.participants, f"{100 * each.power:.1f} %", f"+- {196 * each.error:.1f}") for each in powers]
    print_table([("participants", "shown in", "95 %"), *rows])


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


def _powers(path: Path, planned: Protocol, sizes: tuple[int, ...] | list[int], assumed: dict[str, float]) -> Any:  # noqa: ANN401 - the module is imported late
    planning, refusal = _needed("planning"), _needed("refusal").Refusal
    paper, scale = planning.PAPER_RATINGS, planned.rating.highest - planned.rating.lowest + 1
    if scale != len(paper[0]):
        raise Failure(os.EX_DATAERR, f"{path}: rating: has {scale} points; the paper's ratings have {len(paper[0])}")
    frequencies = tuple(paper[n % len(paper)] for n in range(len(planned.applications)))
    analysis = planned.analysis
    assert analysis is not None  # noqa: S101 - looked at before
    try:
        start = planning.Assumptions(frequencies, assumed["between"], assumed["liking"])
        shifted = planning.shift_for(start, assumed["difference"])
        return planning.sizes(shifted, sizes, margin=analysis.margin, alpha=analysis.alpha)
    except refusal as error:
        raise Failure(os.EX_DATAERR, str(error)) from None
