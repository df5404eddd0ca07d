# SPDX-License-Identifier: GPL-2.0-or-later
"""The names of sources, and the messages about wrong names."""

import datetime as dt
import math
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from given_sources import MONOTONIC_US, REALTIME_US, SHUNT, Given, pair_at, steady
from happe_contract.traces import Block
from happe_power import sources
from happe_power.source_kit import BrokenError, check_kind, check_source
from happe_power.sources import GROUP, OWN, Kinds, spec
from happe_power.sources.clock import VirtualClock
from happe_power.sources.source import Reading, SourceError

FILE = {"kind": "file", "place": "a.csv", "channels": ["a", "b"]}


@pytest.mark.parametrize("name", OWN)
def test_every_kind_of_ours_keeps_to_what_others_have_to(name: str) -> None:
    check_kind(sources.kinds()[name])


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"kind": "comedy"}, "kind: no source is called 'comedy'; did you mean comedi"),
        ({}, "kind: is missing; there are comedi, nidaqmx"),
        ({"kind": "sim", "rat": 5}, "rat: sim has no such option; did you mean rate"),
        ({"kind": "sim", "rate": "fast"}, "rate: must be a number"),
        ({"kind": "sim", "rate": math.inf}, "rate: must be a number"),
        ({"kind": "sim", "rate": dt.date(2026, 1, 1)}, "rate: must be a number"),
        ({"kind": "sim", "rate": {"of": math.nan}}, "rate: must be a number"),
        ({"kind": "sim", "rate": 0}, "rate: must be at least 0.01"),
        ({"kind": "sim", "seed": 1.5}, "seed: must be an integer"),
        ({"kind": "sim", "pace": "slow"}, 'pace: must be one of "real", "none"'),
        ({"kind": "sim", "place": 3}, "place: must be a string"),
        ({"kind": "sim", "drop": [[5]]}, "drop: "),
        ({"kind": "sim", "drop": [[5, 2], [6, 1]]}, "drop: stretches must ascend, must not overlap"),
        ({"kind": "sim", "place": "nowhere.json"}, "nowhere.json: No such file"),
        ({"kind": "file", "channels": ["a", "b"]}, "place: which file?"),
        (FILE | {"time": "t", "index": "i"}, "index: `time` or `index`, not both"),
        ({"kind": "comedi", "channels": [0, 0]}, "channels: has an item twice"),
        ({"kind": "comedi", "measures": ["shunt", "volts"]}, 'measures: must be one of "shunt", "supply"'),
        ({"kind": "comedi", "place": "/dev/no"}, "/dev/no does not exist; is the board's module loaded"),
        ({"kind": "powercap", "zones": ["../../etc"]}, "there is no zone '../../etc'"),
    ],
)
def test_a_wrong_table_is_told_which_field_is_wrong_and_what_it_may_be(table: dict[str, Any], said: str) -> None:
    with pytest.raises(SourceError, match=re.escape(said)):
        sources.make(table)


@pytest.mark.parametrize("kind", sources.kinds().values(), ids=lambda kind: kind.name)
def test_the_help_of_a_kind_is_a_table_that_names_it(kind: sources.Kind) -> None:
    assert sources.named(tomllib.loads(kind.help())).kind is kind


def test_what_is_missing_comes_with_the_command_that_gets_it() -> None:
    [found] = sources.kinds()["nidaqmx"].find()
    assert (found.table, found.command) == (None, "pip install happe-power-logger[nidaqmx]")


def kind_of(name: str = "meter", **changed: Any) -> spec.Kind:  # noqa: ANN401 - fields of Kind
    """Return a kind with a test's instrument."""
    fields = {
        "name": name,
        "summary": "a meter",
        "place": "",
        "example": {"rate": 5},
        "options": (spec.Option("rate", 10, "readings a second", spec.number(1, 100)),),
        "make": lambda _spec, _clock: Given(steady(1000.0, 100, 2.0)),
        "find": lambda: [spec.Found(name, {"kind": name, "rate": 5}, "on the bench")],
    }
    return spec.Kind(**{**fields, **changed})


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Kinds]:
    """Return the kinds, with these objects as packages' entry points. Loading an exception raises it."""

    def make(**made: object) -> Kinds:
        module = ModuleType("meters_of_others")
        vars(module).update({name: value for name, value in made.items() if not isinstance(value, Exception)})
        monkeypatch.setitem(sys.modules, module.__name__, module)
        entries = [EntryPoint(name.replace("__", " "), f"{module.__name__}:{name}", GROUP) for name in made]
        monkeypatch.setattr(sources, "entry_points", lambda group: entries if group == GROUP else [])
        return Kinds()

    return make


def test_a_kind_of_another_package_is_one_of_all(others: Callable[..., Kinds]) -> None:
    kinds = others(meter=kind_of())
    assert list(kinds) == [*OWN, "meter"]
    said = spec.checked({"kind": "meter", "rate": 20}, kinds)
    assert (said.kind.name, said.number("rate")) == ("meter", 20.0)
    assert kinds.found("meter")[0].table == {"kind": "meter", "rate": 5}
    with pytest.raises(SourceError, match="rate: must be at most 100"):
        spec.checked({"kind": "meter", "rate": 200}, kinds)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (ImportError("no module"), "the kind 'meter' is ignored: it cannot be loaded: AttributeError"),
        ("a text", "meters_of_others:meter is no Kind with the name 'meter'"),
        (kind_of("other"), "meters_of_others:meter is no Kind with the name 'meter'"),
        (kind_of(example={"rate": 0}), "its example does not fit its own options: rate: must be at"),
        (
            kind_of(options=(spec.Option("rate", 1, "r", {"type": 3}),)),
            "does not fit its own options: no JSON Schema",
        ),
    ],
)
def test_a_kind_that_cannot_be_used_is_told_and_the_others_go_on(
    others: Callable[..., Kinds], monkeypatch: pytest.MonkeyPatch, made: object, said: str
) -> None:
    kinds = others(meter=made)
    monkeypatch.setattr(sources, "kinds", lambda: kinds)
    [found] = kinds.ignored
    assert found.table is None
    assert said in found.says
    assert list(kinds) == list(OWN)
    with pytest.raises(SourceError, match=re.escape(said)):
        sources.named({"kind": "meter"})


def test_a_search_that_fails_is_told(others: Callable[..., Kinds]) -> None:
    [found] = others(meter=kind_of(find=lambda: dict[str, list[spec.Found]]()["bus"])).found("meter")
    assert found.says == "looking for its instruments failed: KeyError('bus')"


def test_nobody_takes_the_name_of_a_kind_that_is_there(others: Callable[..., Kinds]) -> None:
    kinds = others(sim=kind_of("sim"), Bench__Meter=kind_of())
    assert list(kinds) == list(OWN)
    assert kinds["sim"].summary.startswith("a simulated T61")
    assert [found.says.partition("ignored: ")[2] for found in kinds.ignored] == [
        "a kind's name has small letters, digits and _, and begins with a letter",
        "there is a kind 'sim' already",
    ]


def shifted(after: int, **by_us: int) -> Given:
    """Return a source whose times are off by this from an index on."""
    readings = steady(1000.0, 100, 1.0)
    late = {
        index: lambda pair: replace(pair, **{each: getattr(pair, each) + us for each, us in by_us.items()})
        for index in range(after, 2000, 100)
    }
    return Given(
        [replace(each, at=late.get(each.at.index, lambda pair: pair)(each.at)) for each in readings if each.at]
    )


def reusing() -> Given:
    """Return a source that gives the same memory each time."""
    memory = tuple(np.zeros(100, np.int16) for _ in range(2))

    def readings() -> Iterator[Reading]:
        for first in range(0, 3000, 100):
            for column in memory:
                column[:] = first
            yield Reading((Block(first, memory),), pair_at(first + 100, 1000.0))

    return Given(readings())


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (Given([*steady(1000.0, 100, 0.3), *steady(1000.0, 100, 0.1)]), "comes after index 300"),
        (Given(steady(1000.0, 100, 9.0), rate_hz=900.0), "at 900 Hz"),
        (Given([]), "gave no sample"),
        (Given(steady(1000.0, 100, 1.0), channels=(SHUNT, SHUNT)), "the names of channels repeat"),
        (Given(steady(1000.0, 100, 99.0)), "lies in the future"),
        (shifted(500, monotonic_us=-450_000), "times go back"),
        (shifted(500, monotonic_us=500_000, realtime_us=500_000), "a gap must have the indices of the time it took"),
        (shifted(500, realtime_us=-1_000_000), "by the wall clock"),
        (reusing(), "values change after"),
    ],
)
def test_the_kit_finds_what_is_wrong_with_a_source(source: Given, said: str) -> None:
    clock = VirtualClock(MONOTONIC_US + 10_000_000, REALTIME_US + 10_000_000)
    with pytest.raises(BrokenError, match=said):
        check_source(source, clock, reads=200)


def test_the_kit_finds_what_is_wrong_with_a_kind() -> None:
    check_kind(kind_of())
    with pytest.raises(BrokenError, match="a name has small letters"):
        check_kind(kind_of("Meter"))
    with pytest.raises(BrokenError, match="does not describe this kind"):
        check_kind(kind_of(find=lambda: [spec.Found("other", None, "x")]))
