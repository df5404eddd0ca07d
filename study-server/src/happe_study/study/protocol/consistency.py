# SPDX-License-Identifier: GPL-2.0-or-later
"""Conflicts between fields of a protocol that are each valid alone."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from happe_contract.toml_lines import Path
from happe_study.study.protocol.complaints import excerpt
from happe_study.study.protocol.conditions import Scheme
from happe_study.study.protocol.sections import BUILT_IN, ItemKind, Protocol

MOST_RUNS = 200  # of a participant
MOST_POINTS = 11  # of a rating's scale
FEWEST_OPTIONS = 2
NO_APPLICATION = "desktop"  # docs/daemon.md, "Who is served"

Complaint = tuple[Path, str]
Rule = Callable[[Protocol, dict[str, Any]], Iterator[Complaint]]


def contradictions(protocol: Protocol, data: dict[str, Any]) -> Iterator[Complaint]:
    """Path and message of each conflict. `data` is the parsed TOML: it shows which fields the file itself sets."""
    for rule in _RULES:
        yield from rule(protocol, data)


def _twice(values: Sequence[str], path: Path, *rest: str) -> Iterator[Complaint]:
    """A complaint for each repeated value."""
    for index, value in enumerate(values):
        if value in values[:index]:
            yield (*path, index, *rest), f"{excerpt(value)} appears twice"


def _applications(protocol: Protocol, _data: dict[str, Any]) -> Iterator[Complaint]:
    yield from _twice([application.key for application in protocol.applications], ("application",), "key")
    for index, application in enumerate(protocol.applications):
        at = ("application", index)
        if application.key == NO_APPLICATION:
            yield (*at, "key"), "is HAPPE's name for no application; choose another one"
        if not application.command[0].strip():
            yield (*at, "command", 0), "must name a program"


def _levels(protocol: Protocol, _data: dict[str, Any]) -> Iterator[Complaint]:
    wanted = protocol.order.scheme is Scheme.LEVELS
    if wanted and protocol.order.levels is None:
        yield ("order", "levels"), 'is missing; order.scheme = "levels" needs it'
    if not wanted and protocol.order.levels is not None:
        yield ("order", "levels"), 'only with order.scheme = "levels"'


def _number_of_runs(protocol: Protocol, _data: dict[str, Any]) -> Iterator[Complaint]:
    if _can_be_counted(protocol) and protocol.runs_per_participant > MOST_RUNS:
        yield ("application",), f"{protocol.runs_per_participant} runs for each participant, at most {MOST_RUNS}"


def _unused_sections(protocol: Protocol, data: dict[str, Any]) -> Iterator[Complaint]:
    if protocol.order.scheme is Scheme.LEVELS:
        for section in ("ondemand", "battery", "keys"):
            if section in data:
                yield (section,), 'has no meaning with order.scheme = "levels"; remove it'
    if protocol.order.scheme is Scheme.EXTENDED and "ondemand" in data:
        yield ("ondemand",), 'has no meaning with order.scheme = "extended"; remove it'


def _keys(protocol: Protocol, _data: dict[str, Any]) -> Iterator[Complaint]:
    if protocol.keys.performance == protocol.keys.power:
        yield ("keys", "power"), "must differ from keys.performance"


def _withdrawal(protocol: Protocol, _data: dict[str, Any]) -> Iterator[Complaint]:
    yield from _twice([fate.value for fate in protocol.consent.withdrawal], ("consent", "withdrawal"))


def _rating(protocol: Protocol, _data: dict[str, Any]) -> Iterator[Complaint]:
    rating = protocol.rating
    if not rating.lowest < rating.highest < rating.lowest + MOST_POINTS:
        limits = f"{rating.lowest + 1} to {rating.lowest + MOST_POINTS - 1}"
        yield ("rating", "highest"), f"is {rating.highest}, must be {limits}, as rating.lowest is {rating.lowest}"


def _items(protocol: Protocol, _data: dict[str, Any]) -> Iterator[Complaint]:
    own = protocol.questionnaire.own
    yield from _twice([item.key for item in own], ("questionnaire", "item"), "key")
    for index, item in enumerate(own):
        path = ("questionnaire", "item", index)
        if item.key in BUILT_IN:
            yield (*path, "key"), f"{excerpt(item.key)} is built in"
        if item.kind is not ItemKind.CHOICE and item.options:
            yield (*path, "options"), 'only with kind = "choice"'
        if item.kind is ItemKind.CHOICE and len(item.options) < FEWEST_OPTIONS:
            yield (*path, "options"), f'kind = "choice" needs at least {FEWEST_OPTIONS}'
        yield from _twice(item.options, (*path, "options"))


def _strata(protocol: Protocol, _data: dict[str, Any]) -> Iterator[Complaint]:
    strata = protocol.strata
    if strata is None:
        return
    item = {item.key: item for item in protocol.questionnaire.items}.get(strata.by)
    if item is None:
        yield ("strata", "by"), f"{excerpt(strata.by)} is not an item of the questionnaire"
    elif item.kind is not ItemKind.CHOICE or not item.required:
        yield ("strata", "by"), f'{excerpt(strata.by)} must be a required item of kind = "choice"'
    else:
        yield from _quota_keys(strata.quota, item.options)
    if (total := sum(strata.quota.values())) != protocol.participants:
        yield ("strata", "quota"), f"the quotas sum to {total}, but participants = {protocol.participants}"


def _quota_keys(quota: dict[str, int], options: tuple[str, ...]) -> Iterator[Complaint]:
    for value in quota:
        if value not in options:
            yield (
                ("strata", "quota", value),
                f"is not an option of the item; they are {', '.join(map(excerpt, options))}",
            )
    for option in options:
        if option not in quota:
            yield ("strata", "quota"), f"{excerpt(option)} is missing; 0 lets in no participant with this answer"


def _balance(protocol: Protocol, _data: dict[str, Any]) -> Iterator[Complaint]:
    """Every stratum must consist of whole blocks, so that a completed study is exactly balanced."""
    if not _can_be_counted(protocol):
        return
    size = protocol.block_size
    for stratum, quota in protocol.quotas.items():
        if quota % size:
            path: Path = ("strata", "quota", stratum) if protocol.strata else ("participants",)
            yield path, f"is {quota}; exact balance needs a multiple of {size}: {_near(quota, size)}"


def _analysis(protocol: Protocol, _data: dict[str, Any]) -> Iterator[Complaint]:
    analysis, rating = protocol.analysis, protocol.rating
    if analysis is None or not _can_be_counted(protocol):
        return
    labels = [condition.label for condition in protocol.conditions]
    for side in ("treatment", "reference"):
        if (label := getattr(analysis, side)) not in labels:
            yield ("analysis", side), f"{excerpt(label)} is not a condition; they are {', '.join(labels)}"
    if analysis.treatment == analysis.reference:
        yield ("analysis", "treatment"), "must differ from analysis.reference"
    if analysis.margin >= rating.highest - rating.lowest:
        yield ("analysis", "margin"), f"must be less than the width of the scale, {rating.highest - rating.lowest}"


def _retention(protocol: Protocol, data: dict[str, Any]) -> Iterator[Complaint]:
    retention = protocol.retention
    if "retention" in data and (retention.until is None) == (retention.days_after_unblinding is None):
        yield ("retention",), "needs either until or days_after_unblinding"


def _near(number: int, size: int) -> str:
    below = number - number % size
    return f"{below} or {below + size}" if below else str(size)


def _can_be_counted(protocol: Protocol) -> bool:
    return (protocol.order.scheme is Scheme.LEVELS) <= (protocol.order.levels is not None)


_RULES: tuple[Rule, ...] = (
    _applications, _levels, _number_of_runs, _unused_sections, _keys, _withdrawal, _rating, _items, _strata,
    _balance, _analysis, _retention,
)  # fmt: skip
