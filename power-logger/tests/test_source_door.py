# SPDX-License-Identifier: GPL-2.0-or-later
"""Kinds of sources from other packages. tests/system/test_power_plugin.py really installs one."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from given_sources import SHUNT, Given, steady
from happe_power import sources
from happe_power.source_kit import BrokenError, check_kind, check_source
from happe_power.sources import GROUP, OWN, Kinds, spec
from happe_power.sources.source import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable


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
        (ImportError("no module"), "the kind 'meter' cannot be loaded: AttributeError"),
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
    others: Callable[..., Kinds], made: object, said: str
) -> None:
    kinds = others(meter=made)
    [found] = kinds.found("meter")
    assert found.table is None
    assert said in found.says
    assert [kind.name for kind in kinds.loaded()] == list(OWN)
    with pytest.raises(SourceError):
        spec.checked({"kind": "meter"}, kinds)


def test_a_search_that_fails_is_told(others: Callable[..., Kinds]) -> None:
    [found] = others(meter=kind_of(find=lambda: dict[str, list[spec.Found]]()["bus"])).found("meter")
    assert found.says == "looking for its instruments failed: KeyError('bus')"


def test_nobody_takes_the_name_of_a_kind_that_is_there(others: Callable[..., Kinds]) -> None:
    kinds = others(sim=kind_of("sim"), Bench__Meter=kind_of())
    assert list(kinds) == list(OWN)
    assert kinds["sim"].summary.startswith("a simulated T61")
    assert [found.says.partition("ignored: ")[2] for found in kinds.passed_over()] == [
        "there is a kind 'sim' already",
        "a kind's name has small letters, digits and _, and begins with a letter",
    ]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (Given([*steady(1000.0, 100, 0.3), *steady(1000.0, 100, 0.1)]), "comes after index 300"),
        (Given(steady(1000.0, 100, 9.0), rate_hz=900.0), "at 900 Hz"),
        (Given([]), "gave no sample"),
        (Given(steady(1000.0, 100, 1.0), channels=(SHUNT, SHUNT)), "the names of channels repeat"),
    ],
)
def test_the_kit_finds_what_is_wrong_with_a_source(source: Given, said: str) -> None:
    with pytest.raises(BrokenError, match=said):
        check_source(source, reads=100)


def test_the_kit_finds_what_is_wrong_with_a_kind() -> None:
    check_kind(kind_of())
    with pytest.raises(BrokenError, match="a name has small letters"):
        check_kind(kind_of("Meter"))
    with pytest.raises(BrokenError, match="does not describe this kind"):
        check_kind(kind_of(find=lambda: [spec.Found("other", None, "x")]))
