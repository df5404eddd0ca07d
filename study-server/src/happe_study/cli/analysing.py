# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server analyse` and `happe-server plan`: a study's report, and how many participants it needs. No server.

This imports the statistics packages only when a command needs them: numpy, scipy and matplotlib take a second, and a
server works without them.
"""

from __future__ import annotations

import json
import os
from functools import partial
from importlib import import_module
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from happe_cli.commands import Command, examples, is_terminal, json_option, print_table
from happe_cli.disk import sync_folder, whole
from happe_cli.errors import Failure
from happe_study.base.version import VERSION
from happe_study.cli.errors import PROGRAM
from happe_study.results.analysis.plan import (
    ASSUMPTIONS,
    FEWEST,
    MOST,
    MOST_STUDIES,
    STUDIES,
    document,
    of_protocol,
    powers,
)
from happe_study.results.analysis.refusal import Refusal
from happe_study.study.documents import InputError, read_measures
from happe_study.study.protocol.reading import ProtocolError, read_protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from happe_study.results.analysis.plan import Plan, Power
    from happe_study.results.analysis.tidy import Runs
    from happe_study.study.protocol.reading import Protocol

MORE = """EXPORT is the folder that `happe-server study export` wrote after the study was unblinded. Writes
report.html and results.json. The same input gives the same bytes. Where the data can't support
a figure, the report gives the reason instead. The export has the locked protocol.

Examples:
  happe-server study export crossover --out export
  happe-server analyse export --power measures.json --out report
  happe-server analyse export --machine t61.json --out report --json | jq .sections[].refused"""

NAMES = ("report.html", "results.json")
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
    making, pages = _needed("making"), _needed("report")
    try:
        report = making.make(making.Given(export, **given), _progress)
    except InputError as error:
        raise Failure(os.EX_DATAERR, *error.lines) from None
    document = pages.results(report)
    for name, content in zip(NAMES, (pages.html, lambda _: document), strict=True):
        with whole(out / name) as opened:
            opened.write(content(report))
    sync_folder(out)
    if as_json:
        click.echo(document, nl=False)
    else:
        print_table((str(out / name), f"{(out / name).stat().st_size} bytes") for name in NAMES)
    if refused := [line for section in report.sections for line in section.refused]:
        PROGRAM.show([f"refused {len(refused)} figures; the report says why"])


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


def _assumptions(command: Callable[..., None]) -> Callable[..., None]:
    """Options whose values the simulated studies assume."""
    for each in reversed(ASSUMPTIONS):
        option = click.option(
            f"--{each.name}",
            type=Bounded(each.low, each.high),
            default=each.default,
            show_default=True,
            metavar=each.unit,
            help=each.text,
        )
        command = option(command)
    return command


class Bounded(click.FloatRange):
    """A number within bounds. Click's own type also accepts "nan"."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401 - click's
        """Convert the option to a number; a usage error if it is wrong."""
        number: float = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


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
    type=click.IntRange(FEWEST, MOST),
    multiple=True,
    metavar="NUMBER",
    help="The number of participants; repeat the option for more numbers",
)
@click.option(
    "--studies",
    type=click.IntRange(1, MOST_STUDIES),
    default=STUDIES,
    show_default=True,
    metavar="NUMBER",
    help="The number of simulated studies of each size",
)
@_assumptions
@click.option(
    "--like",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    metavar="FOLDER",
    help="Draw participants from the study in this folder instead, which happe-sim study --out writes",
)
@click.option("--register", is_flag=True, help="Print instead the lines for the protocol that preregister the result")
@json_option
def plan(  # noqa: PLR0913, PLR0917 - an option each
    protocol: Path,
    participants: tuple[int, ...],
    studies: int,
    as_json: bool,  # noqa: FBT001 - click's flag
    register: bool,  # noqa: FBT001 - the same
    like: Path | None,
    **assumed: float,
) -> None:
    """Simulate studies of several sizes, and print how often they show non-inferiority and a saving.

    It assumes the paper's frequencies of ratings under ondemand (Table A.1) for the reference, in turn for each
    application. This needs a scale of five points. On a server, the page Protocol of a study does the same as a
    job.
    """
    planned = _protocol(protocol)
    try:
        wanted = of_protocol(planned, participants, studies, assumed, like_paper=like is None)
    except Refusal as error:
        raise Failure(os.EX_DATAERR, f"{protocol}: {error}") from None
    found = _powers(wanted, planned, like)
    if register:
        click.echo("\n".join(_registered(found, like, assumed)))
        return
    if as_json:
        click.echo(document(map(vars, found)), nl=False)
        return
    rows = [
        (each.participants, each.left, *(f"{100 * part:.1f} %" for part in (each.power, each.saving_power)))
        for each in found
    ]
    print_table([("participants", "left", "non-inferior", f"saving above {100 * assumed['above']:g} %"), *rows])


def _registered(found: Sequence[Power], like: Path | None, assumed: dict[str, float]) -> Iterator[str]:
    """The field `planned` for the protocol's section [analysis], as TOML."""
    given = [f"--{name} {value:g}" for name, value in assumed.items()] + ([f"--like {like.name}"] if like else [])
    lines = [f"happe-server {VERSION} plan --studies {found[0].studies} {' '.join(given)}"]
    lines += [
        f"{each.participants} participants, {each.left} at the end: of {each.studies} studies "
        f"{100 * each.power:.1f} % show non-inferiority, {100 * each.saving_power:.1f} % the saving"
        for each in found
    ]
    yield "planned = ["
    yield from (f"    {json.dumps(line)}," for line in lines)
    yield "]"


def _protocol(path: Path) -> Protocol:
    try:
        return read_protocol(path.read_bytes(), str(path))
    except ProtocolError as error:
        raise Failure(os.EX_DATAERR, *str(error).splitlines()) from None


def _powers(plan: Plan, planned: Protocol, like: Path | None) -> list[Power]:
    """Simulate all batches, one after the other."""
    planning = _needed("planning")
    analysis = planned.analysis
    assert analysis is not None  # noqa: S101 - a plan has its margin
    try:
        if like is None:
            draw = planning.drawing(plan)
        else:
            draw = partial(planning.drawn, planning.people_of(_runs(like), analysis.treatment, analysis.reference))
        return powers(plan, [planning.counted(plan, draw, batch) for batch in plan.batches()])
    except Refusal as error:
        raise Failure(os.EX_DATAERR, str(error)) from None


def _runs(folder: Path) -> Runs:
    """A study's runs with their power, from what `happe-sim study --out` wrote."""
    reading = _needed("reading")
    try:
        runs: Runs = reading.with_power(
            reading.read_export(folder / "export").runs, read_measures(folder / "measures.json")
        )[0]
    except InputError as error:
        raise Failure(os.EX_DATAERR, *error.lines) from None
    return runs
