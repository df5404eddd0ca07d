# SPDX-License-Identifier: GPL-2.0-or-later
"""Making a report from its input files, section by section."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from happe_study.results.analysis.reading import Export, read_export, with_power
from happe_study.results.analysis.report import Report, Section, Weight
from happe_study.results.analysis.sections import (
    answer,
    diagnostics,
    exclusions,
    methods,
    paper,
    participants,
    people,
    pictures,
    power,
    ratings,
)
from happe_study.results.analysis.study import FAULT, Study, attempt, not_finite, versions
from happe_study.results.analysis.tidy import Runs
from happe_study.study.documents import T61, InputError, read_measures, read_model
from happe_study.study.protocol.reading import Protocol, ProtocolError, read_protocol

SECTIONS: dict[str, Callable[[Study], Section]] = {
    "participants": participants.section,
    "runs": participants.runs_section,
    "exclusions": exclusions.section,
    "table-a1": paper.section,
    "savings": power.saving_section,
    "noninferiority": ratings.noninferiority_section,
    "ratings": ratings.ratings_section,
    "power-model": power.model_section,
    "period": power.period_section,
    "presses": people.presses_section,
    "blinding": people.blinding_section,
    "diagnostics": diagnostics.section,
    "figures": pictures.section,
    "methods": methods.section,
    "groups": people.groups_section,
}
FIXED_ORDER = (
    "Everybody had the conditions in the same order, as in the paper, and knew it: effects of time, like practice or "
    "boredom, can't be separated from the conditions. The report does not show causes."
)
DEVIATION = "Deviation: the study was unblinded before it was finished. "


RUN = "run "
MOST_RUNS = 5  # runs that a note names


@dataclass(frozen=True)
class Given:
    """A report's input: an export, and optional files."""

    export: Path
    power: Path | None = None
    protocol: Path | None = None
    machine: Path | None = None


def make(given: Given, progress: Callable[[str], None] = lambda _: None) -> Report:
    """Make the report. `progress` gets the name of each step. Raises InputError for a file that can't be used."""
    progress("reading the export")
    export = read_export(given.export)
    if not export.runs.rows:
        raise InputError([f"{given.export}: it has no complete run"])
    study, warnings = _study(given, export)
    made, faults = sections(study, progress)
    deviation = [f"{DEVIATION}{export.deviation}"] if export.deviation else []
    return Report(export.study, _title(study), _facts(given, study), [*deviation, *faults, *warnings], made)


def sections(study: Study, progress: Callable[[str], None] = lambda _: None) -> tuple[list[Section], list[str]]:
    """All sections, the answer first; and the faults in the data. A section that fails is empty and says why."""
    made = []
    for key, section in SECTIONS.items():
        progress(key)
        made.append(_made(key, partial(section, study)))
    data = {each.key: each.data for each in made}
    faults: list[str] = []
    found = attempt(faults, "Faults in the data", partial(answer.faults, study, data))
    return [_made("answer", partial(answer.section, study, data)), *made], found or faults


def _made(key: str, make: Callable[[], Section]) -> Section:
    """A section; without figures if it fails, or if one of its numbers is NaN or infinite."""
    refused: list[str] = []
    title = key.replace("-", " ").capitalize()
    section = attempt(refused, title, make) or Section(key, title, Weight.DESCRIPTIVE)
    if place := not_finite(section.data):
        section, refused = replace(section, tables=(), pictures=(), data=None), [f"{place}: is not a number: {FAULT}"]
    return replace(section, refused=(*section.refused, *refused))


def _study(given: Given, export: Export) -> tuple[Study, list[str]]:
    measures = read_measures(given.power) if given.power else {}
    every = Runs((*export.runs.rows, *export.excluded))
    measured, notes = with_power(every, measures) if given.power else (every, _NO_POWER)
    protocol = _protocol(given, export)
    model = read_model(given.machine) if given.machine else T61
    study, faults = _on_scale(Study(export, measured, protocol, measures, model))
    excluded = {run.run for run in export.excluded}
    counting, out = (tuple(run for run in study.runs.rows if (run.run in excluded) == there) for there in (False, True))
    study = study._replace(runs=Runs(counting), excluded=out)
    return study, [*faults, *_order_warnings(study), *_folded(notes)]


def _folded(notes: Sequence[str]) -> list[str]:
    """Notes about runs. Equal notes about several runs become one."""
    said: dict[str, list[str]] = {}
    for note in notes:
        run, found, what = note.partition(": ")
        said.setdefault(what if found and run.startswith(RUN) else note, []).append(run.removeprefix(RUN))
    return [
        f"{len(runs)} runs: {what}: {', '.join(runs[:MOST_RUNS])}{', ...' if len(runs) > MOST_RUNS else ''}"
        if len(runs) > 1
        else next(note for note in notes if note.endswith(what))
        for what, runs in said.items()
    ]


def _on_scale(study: Study) -> tuple[Study, list[str]]:
    """The study without ratings off the scale, and a fault for each such rating."""
    lowest, highest = study.scale
    scale = "the scale of the protocol" if study.protocol else "the paper's scale; --protocol gives another one"
    wrong = [run for run in study.runs.rows if run.rating is not None and not lowest <= run.rating <= highest]
    rows = tuple(replace(run, rating=None) if run in wrong else run for run in study.runs.rows)
    faults = [
        f"Fault: run {run.run}: rating: is {run.rating}, must be {lowest} to {highest}, {scale}; so this run has no "
        "rating here."
        for run in wrong
    ]
    return study._replace(runs=Runs(rows)), faults


def _order_warnings(study: Study) -> list[str]:
    """Warnings about effects that the order of the runs makes impossible to separate."""
    if study.one_order:
        return [FIXED_ORDER]
    still = study.runs.always_in_one_place
    return [f"{name} was always in the same place: effects of time can't be separated from it." for name in still]


_NO_POWER = ["No measured power was given (--power), so the report has no power figures."]


def _protocol(given: Given, export: Export) -> Protocol | None:
    """The protocol: the export's locked one, or without that the given one. InputError if both exist and differ."""
    locked = export.protocol
    if given.protocol is None:
        return _read_protocol(locked.encode(), "the export's protocol") if locked is not None else None
    content = given.protocol.read_bytes()
    if locked is not None and content.decode("utf-8-sig", "replace") != locked:
        raise InputError([f"{given.protocol}: is not the locked protocol of the export"])
    protocol = _read_protocol(content, str(given.protocol))
    if protocol.name != export.study:
        raise InputError([f"{given.protocol}: is the protocol of {protocol.name}, the export is of {export.study}"])
    return protocol


def _read_protocol(content: bytes, name: str) -> Protocol:
    try:
        return read_protocol(content, name)
    except ProtocolError as error:
        raise InputError(str(error).splitlines()) from None


def _title(study: Study) -> str:
    return study.protocol.title if study.protocol else study.export.study


def _facts(given: Given, study: Study) -> list[tuple[str, str]]:
    """The sources of the report, so that people can make it again."""
    facts = [("Study", study.export.study), ("Protocol", _protocol_fact(given, study.export))]
    for name, file in (("Power", given.power), ("Machine", given.machine)):
        facts.append((name, f"{file.name}, SHA-256 {_digest(file)}" if file else "not given"))
    facts += [(name, f"SHA-256 {digest}") for name, digest in study.export.digests.items()]
    facts.append(("Made with", versions()))
    return facts


def _protocol_fact(given: Given, export: Export) -> str:
    if export.protocol is not None:
        return f"as it was locked, SHA-256 {hashlib.sha256(export.protocol.encode()).hexdigest()}"
    if given.protocol is None:
        return "not given"
    return f"{given.protocol.name}, not checked against the lock, SHA-256 {_digest(given.protocol)}"


def _digest(file: Path) -> str:
    """The SHA-256 of a file without a byte order mark, as the study's page shows it."""
    return hashlib.sha256(file.read_bytes().removeprefix(b"\xef\xbb\xbf")).hexdigest()
