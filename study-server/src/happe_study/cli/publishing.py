# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server publish`: an export as a data package for others, if answers identify nobody. It needs no server."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import click

from happe_cli.commands import Command, examples, json_option, print_json, print_table
from happe_cli.disk import sync_folder, whole
from happe_cli.errors import Failure
from happe_study.results.publishing.package import UnfitError, Wish, package


@click.command(
    cls=Command,
    epilog=examples(
        "happe-server study export crossover --out export",
        "happe-server publish export --out package --without field_of_study",
    ),
)
@click.argument("export", type=click.Path(file_okay=False, exists=True, path_type=Path))
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="The folder for the package"
)
@click.option(
    "--k",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    metavar="NUMBER",
    help="The least number of people who must share each combination of answers",
)
@click.option(
    "--without",
    metavar="QUESTION",
    multiple=True,
    help="Leave out the answers to this question; repeat the option for more",
)
@json_option
def publish(export: Path, out: Path, k: int, without: tuple[str, ...], as_json: bool) -> None:  # noqa: FBT001 - click's options
    """Make a Frictionless data package of an export (CSV), with a codebook and loaders for R and Python.

    Refuses if participants could be recognised by their answers to the questionnaire.
    """
    try:
        made = package(export, Wish(k, without))
    except UnfitError as error:
        raise Failure(os.EX_DATAERR, *error.lines) from None
    out.mkdir(exist_ok=True)
    for name in (*made.files, *made.copied):
        if (out / name).exists():
            raise Failure(os.EX_CANTCREAT, f"{out / name}: exists already; make the package in another folder")
    # The description comes last: a folder without it is incomplete.
    for name, file in made.copied.items():
        with whole(out / name) as opened, file.open("rb") as read:
            shutil.copyfileobj(read, opened)
    for name, content in sorted(made.files.items(), key=lambda each: each[0] == "datapackage.json"):
        with whole(out / name) as opened:
            opened.write(content)
    sync_folder(out)
    written = [{"file": str(out / name), "bytes": (out / name).stat().st_size} for name in (*made.copied, *made.files)]
    if as_json:
        print_json({"k": made.disclosure.k, "files": written})
    else:
        print_table([(str(each["file"]), f"{each['bytes']} bytes") for each in written])
