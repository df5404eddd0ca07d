#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Make a page of the simulated studies: the paper's tables and figures beside the simulation's."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

import tables
from checked import BadDataError, NoInputError, check_name
from study_files import read_study

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sections import Section
    from study_data import Study

EX_OK, EX_USAGE, EX_DATAERR, EX_NOINPUT, EX_CANTCREAT = 0, 64, 65, 66, 73
TITLE = "HAPPE: the user study, simulated"
FITTED = ("torcs", "quake3", "glest", "trackballs")  # happe-sim's applications if none are chosen
OWN_CONDITIONS = {"ondemand", "T-HAPPE", "O-HAPPE", "B-HAPPE", "oracle"}

TEACHES = """\
The folders are what happe-sim writes: study.json, runs.csv and traces/. The page is one file without scripts; it loads
nothing from anywhere. The figures are also written one by one, for papers and slides.

  happe-sim study --protocol paper --seed 1 --out paper
  happe-sim study --protocol a3 --seed 1 --out a3
  report.py paper a3 report
  report.py --title 'Seed 7' paper-7 a3-7 report-7

With several seeds (--seed 1..10) the tables show their means; the figures show the runs of the first seed.
The same input gives the same bytes.

exit codes: 0 written; 64 wrong usage; 65 a file holds what it may not, the message names file and field;
66 a file cannot be read; 73 the output cannot be written
"""


class Parser(argparse.ArgumentParser):
    """An argparse parser that leaves with sysexits' code."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is."""
        self.exit(EX_USAGE, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")


def parser() -> Parser:
    """Return the command line's parser."""
    own = Parser(
        prog="report.py", description=__doc__, epilog=TEACHES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    own.add_argument(
        "paper", type=Path, metavar="PAPER_DIR", help="folder of a study with --protocol paper (section A.5)"
    )
    own.add_argument("a3", type=Path, metavar="A3_DIR", help="folder of a study with --protocol a3 (section A.3)")
    own.add_argument("out", type=Path, metavar="OUT_DIR", help="where report.html and figure-*.svg go; made if missing")
    own.add_argument("--title", default=TITLE, type=title_of, help="the page's title [%(default)s]")
    return own


def title_of(text: str) -> str:
    """Return a title that a page can bear."""
    try:
        return check_name(text, "it")
    except BadDataError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def seeds(study: Study) -> str:
    """Return a study's seeds as happe-sim takes them."""
    return str(study.seeds[0]) if len(study.seeds) == 1 else f"{study.seeds[0]}..{study.seeds[-1]}"


def command(study: Study) -> str:
    """Return the command line that makes a study's folder."""
    words = ["happe-sim", "study", "--protocol", study.protocol, "--participants", str(study.participants)]
    words += ["--seed", seeds(study)]
    if study.applications != list(FITTED):
        words += [word for name in study.applications for word in ("--application", name)]
    if study.protocol == "paper":
        words += [word for name in study.conditions if name not in OWN_CONDITIONS for word in ("--also", name)]
    return shlex.join([*words, "--out", study.protocol])


def render(paper: Study, a3: Study, title: str, sections: Sequence[Section]) -> str:
    """Return the page."""
    import svg

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["svg"] = lambda drawing: Markup(svg.inline_svg(drawing))
    environment.filters["listed"] = tables.listed
    own = ["governor/sim/report/report.py", *([] if title == TITLE else [f"--title={title}"]), "paper", "a3", "report"]
    return environment.get_template("report.html.j2").render(
        title=title,
        paper=paper,
        a3=a3,
        sections=sections,
        table_a1=tables.table_a1(paper),
        totals=tables.table_totals(paper),
        headline={row.name: row for row in tables.table_totals(paper)}.get("O-HAPPE"),
        ratings=tables.mean_ratings(paper),
        table_a3=tables.table_a3(paper),
        groups=tables.table_groups(paper),
        verdict=tables.verdict(paper),
        commands=[command(paper), command(a3), shlex.join(own)],
        seeds=(seeds(paper), seeds(a3)),
        light=svg.variables(0),
        dark=svg.variables(1),
        dark_rules=Markup(svg.dark_rules()),
    )


def write(folder: Path, files: dict[str, str]) -> None:
    """Write files, each whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        part = folder / f"{name}.part"
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(folder / name)


def make(arguments: argparse.Namespace) -> None:
    """Read the folders and write the page."""
    paper, a3 = read_study(arguments.paper, "paper"), read_study(arguments.a3, "a3")

    from sections import all_sections
    from svg import svg_file

    sections = all_sections(paper, a3)
    drawings = [drawing for section in sections for drawing in (*section.drawings, *section.narrow)]
    files = {f"{drawing.key}.svg": svg_file(drawing) for drawing in drawings}
    write(arguments.out, {**files, "report.html": render(paper, a3, arguments.title, sections)})


def main(words: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    arguments = parser().parse_args(words)
    try:
        make(arguments)
    except (BadDataError, NoInputError) as error:
        sys.stderr.write(f"report.py: {error}\n")
        return EX_DATAERR if isinstance(error, BadDataError) else EX_NOINPUT
    except OSError as error:
        sys.stderr.write(f"report.py: {error.filename}: cannot write: {os.strerror(error.errno or 0)}\n")
        return EX_CANTCREAT
    return EX_OK


if __name__ == "__main__":
    sys.exit(main())
