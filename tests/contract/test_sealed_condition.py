# SPDX-License-Identifier: GPL-2.0-or-later
"""The study server and happed follow the same schema of sealed conditions."""

import base64
import hashlib
import json
from itertools import product
from typing import Any

import pytest

import seals
from happe_study.model.participants import Participant
from happe_study.model.runs import Run
from happe_study.study import sealing
from happe_study.study.people import devices
from happe_study.study.protocol.conditions import Condition
from happe_study.study.protocol.reading import Ondemand
from happe_study.study.runs.services import condition_document
from happed_stand_in import HappeCtl
from happed_t61 import T61
from happed_wire import BusError
from happed_world import Client
from seals import Json, end, facts, key_of
from test_vectors import validator

PARTICIPANT, RUN = Participant(code=seals.SUBJECT), Run(code=seals.RUN, application=seals.APPLICATION)
SETTINGS = Ondemand(sampling_rate_us=20_000, up_threshold=95)
CONDITIONS = [
    *(
        Condition(governor, indicator=indicator)
        for governor, indicator in product(("ondemand", "O-HAPPE"), (False, True))
    ),
    Condition("T-HAPPE"),
    Condition("B-HAPPE", indicator=True),
    Condition("L-HAPPE"),
    *(Condition(f"fixed-{step}") for step in (1, 5)),
]


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.label)
def test_what_the_server_seals_happed_runs(experimenter: Client, capped_t61: T61, condition: Condition) -> None:
    document = condition_document(seals.STUDY, PARTICIPANT, RUN, condition, SETTINGS)
    box = sealing.seal_for_device(key_of(experimenter), document)

    run = experimenter("StartRun", "a{sv}", seals.what(box))
    assert experimenter.get("Indicator") is condition.indicator
    if condition.governor == "ondemand":
        assert (capped_t61.tunable("sampling_rate"), capped_t61.tunable("up_threshold")) == ("20000", "95")
    end(experimenter, run)
    assert facts(experimenter, run)["indicator"] is condition.indicator


def test_the_server_enrols_the_key_as_happectl_prints_it(experimenter: Client, happectl: HappeCtl) -> None:
    key = key_of(experimenter)
    with happectl.daemon(DeviceKey=[list(key)]):
        printed = json.loads(happectl.run("study", "key", "--json").stdout)
        shown = happectl.run("study", "key").stdout
    assert devices.public_key(printed["public_key"]) == key
    assert printed["key_sha256"] == devices.fingerprint(key) == hashlib.sha256(key).hexdigest()
    assert shown == f"public key  {base64.b64encode(key).decode()}\nSHA-256     {printed['key_sha256']}\n"


# Values for each field: valid ones and invalid ones.
VALUES: dict[str, list[Any]] = {
    "format": ["happe-condition/1", "happe-condition/2", None],
    "study": ["a", "a" * 40, "a" * 41, "", "A", "3", "a_-9", "a b", None],
    "run": [seals.RUN, "7ZK3M9Q", "7ZK3M9QAA", "7ZK3M9QI", "7zk3m9qa", 7],
    "subject": ["00000000", "ZZZZZZZZ", "ZZZZZZZU", "", "4HT2XC0N\u00e9"],
    "application": ["torcs", "quake3", "3quake", "quake 3", True],
    "condition": ["fixed-1", "fixed-64", "fixed-65", "fixed-0", "fixed-01", "fixed-1x", "Ondemand", "HAPPE", 1],
    "indicator": [True, False, 0, "true", None],
    "keys": ["act", "sham", "Act", "", None],
    "sampling_rate_us": [1, 10_000_000, 10_000_001, 0, -1, "1", None],
    "up_threshold": [1, 100, 101, 0, True, 80.5],
    "raised": [True, False, 1, None],
    "epp": ["performance", "balance_performance", "balance_power", "power", "leave", "default", "", 128, None],
    "pad": ["", "...", "x", None, 3],
    "more": [1],
}
PLAIN = {
    "ondemand": seals.document("ondemand", sampling_rate_us=20_000, up_threshold=80),
    **{name: seals.document(name) for name in ("ondemand ", "fixed-3", "T-HAPPE", "O-HAPPE", "B-HAPPE")},
}
PLAIN["ondemand "]["condition"] = "ondemand"
PLAIN["raised"] = seals.document("L-HAPPE", raised=True)


def variants() -> list[Json]:
    """Documents that differ from a good one in a field: another value, or none."""
    changed = [
        {**plain, name: value} for plain in PLAIN.values() for name, values in VALUES.items() for value in values
    ]
    without = [
        {name: value for name, value in plain.items() if name != left} for plain in PLAIN.values() for left in plain
    ]
    return [*PLAIN.values(), *changed, *without]


def as_sealed(document: Json) -> bytes:
    """Pad the document to its length, unless it has a pad already."""
    return seals.compact(document).ljust(seals.BYTES, b" ") if "pad" in document else seals.padded(document)


def is_read(client: Client, what: dict[str, tuple[str, Any]]) -> bool:
    """Return whether happed accepts the document, even if this machine cannot run it."""
    try:
        end(client, client("StartRun", "a{sv}", what))
    except BusError as error:
        return error.message != "sealed: holds no document that this version knows"
    return True


@pytest.mark.slow
def test_happed_reads_what_the_schema_allows_and_nothing_else(experimenter: Client) -> None:
    """A document with a pad of its own has a wrong length, so both refuse it."""
    schema = validator("sealed-condition.schema.json")
    key = key_of(experimenter)
    for document in variants():
        plain = as_sealed(document)
        good = schema.is_valid(json.loads(plain)) and b" " not in plain
        study, run = (str(document.get(name) or "-") for name in ("study", "run"))
        box = seals.seal(key, plain)
        assert is_read(experimenter, seals.what(box, study, run)) is good, document
