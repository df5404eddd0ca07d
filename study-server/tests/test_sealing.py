# SPDX-License-Identifier: GPL-2.0-or-later
"""A seal opens only for its purpose, and its length reveals nothing."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, SealedBox

from happe_study.model.participants import Participant
from happe_study.model.runs import Run
from happe_study.study.allocation import plan
from happe_study.study.protocol import reading as protocol_module
from happe_study.study.protocol.conditions import ONDEMAND, Condition
from happe_study.study.protocol.reading import Ondemand, read_protocol
from happe_study.study.protocol.sections import Epp
from happe_study.study.runs.services import condition_document
from happe_study.study.sealing import (
    CONDITION_BYTES,
    DOCUMENT_BYTES,
    PublicKeyError,
    SealError,
    TooLongError,
    check_public_key,
    open_condition,
    open_seed,
    open_slot,
    seal_condition,
    seal_for_device,
    seal_seed,
    seal_slot,
)
from test_designs import EVERY

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "profiles/schema/sealed-condition.schema.json").read_text(encoding="utf-8"))
EXAMPLES = Path(protocol_module.__file__).with_name("examples")
KEY, OTHER_KEY = bytes(range(32)), bytes(32)
SEED, SALT = b"e" * 32, b"a" * 32
CODE, OTHER_CODE = "0A1B2C3D", "0A1B2C3E"
NAMES = ("crossover", "torcs")  # of study and application
LONGEST_NAMES = ("s" * 40, "a" * 40)
DEVICE = PrivateKey(b"d" * 32)

# Every encoding of a point of order 1, 2, 4 or 8 in 32 bytes: x is 0, 1, p - 1 or one of two of order 8; p, p + 1 are 0
# and 1 again; the highest bit does not count (RFC 7748, section 5).
P = 2**255 - 19
ORDER_EIGHT = [
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
]
SMALL = [0, 1, P - 1, P, P + 1, *(int.from_bytes(bytes.fromhex(x), "little") for x in ORDER_EIGHT)]
LOW_ORDER = [(x + high).to_bytes(32, "little") for x in SMALL for high in (0, 2**255)]


def told(condition: Condition, names: tuple[str, str] = NAMES) -> dict[str, object]:
    """The document that a laptop gets for a run under a condition."""
    study, application = names
    participant, run = Participant(code="ZZZZZZZZ"), Run(code=CODE, application=application)
    document = condition_document(study, participant, run, condition, Ondemand()) | {"epp": max(Epp, key=len)}
    if condition.extended:
        document |= {"raised": True}
    return document


def opened(sealed: bytes) -> Any:  # noqa: ANN401 - JSON
    """Return the document that the device opens."""
    return json.loads(SealedBox(DEVICE).decrypt(sealed))


# At rest.


def test_a_condition_comes_back_from_its_seal(subtests: pytest.Subtests) -> None:
    for condition in EVERY:
        with subtests.test(condition.label):
            sealed = seal_condition(KEY, CODE, condition)

            assert open_condition(KEY, CODE, sealed) == condition


def test_all_seals_of_conditions_have_one_length() -> None:
    assert {len(seal_condition(KEY, CODE, condition)) for condition in EVERY} == {24 + CONDITION_BYTES + 16}


def test_the_same_condition_is_sealed_differently_each_time() -> None:
    assert len({seal_condition(KEY, CODE, ONDEMAND) for _ in range(20)}) == 20


@pytest.mark.parametrize(("key", "code"), [(KEY, OTHER_CODE), (OTHER_KEY, CODE)])
def test_a_seal_opens_for_its_run_with_its_key_alone(key: bytes, code: str) -> None:
    with pytest.raises(SealError):
        open_condition(key, code, seal_condition(KEY, CODE, ONDEMAND))


@given(st.integers(0, 24 + CONDITION_BYTES + 16 - 1), st.integers(1, 255))
def test_a_seal_of_which_a_byte_was_changed_does_not_open(at: int, by: int) -> None:
    sealed = bytearray(seal_condition(KEY, CODE, ONDEMAND))
    sealed[at] ^= by

    with pytest.raises(SealError):
        open_condition(KEY, CODE, bytes(sealed))


@given(st.binary(max_size=120))
def test_what_is_no_seal_does_not_open(sealed: bytes) -> None:
    with pytest.raises(SealError):
        open_condition(KEY, CODE, sealed)


def test_a_seed_comes_back_from_its_seal() -> None:
    sealed = seal_seed(KEY, "crossover", SEED, SALT)

    assert open_seed(KEY, "crossover", sealed) == (SEED, SALT)
    assert SEED not in sealed
    assert len(sealed) == 65 + 40
    with pytest.raises(SealError):
        open_seed(KEY, "paper-a5", sealed)


def test_a_seed_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        seal_seed(KEY, "x", SEED + b"x", SALT)


@pytest.mark.parametrize("name", ["paper-a5", "paper-a3", "crossover", "extended"])
def test_slots_come_back_from_their_seals_which_have_one_length(name: str) -> None:
    protocol = read_protocol((EXAMPLES / f"{name}.toml").read_bytes())
    slots = plan(protocol, SEED, SALT)[""]

    sealed = [seal_slot(KEY, (name, "", n), slot) for n, slot in enumerate(slots, start=1)]

    assert [open_slot(KEY, (name, "", n), seal) for n, seal in enumerate(sealed, start=1)] == slots
    assert {len(seal) for seal in sealed} == {4096 + 40}  # nonce and tag of XChaCha20-Poly1305


@pytest.mark.parametrize("place", [("y", "", 1), ("x", "z", 1), ("x", "", 2)])
def test_a_slots_seal_does_not_open_at_another_place(place: tuple[str, str, int]) -> None:
    sealed = seal_slot(KEY, ("x", "", 1), ())

    with pytest.raises(SealError):
        open_slot(KEY, place, sealed)


def test_a_seal_of_one_kind_does_not_open_as_another() -> None:
    with pytest.raises(SealError):
        open_condition(KEY, CODE, seal_seed(KEY, CODE, SEED, SALT))


# On the way to a device.


def test_the_device_finds_a_document_of_the_contract(subtests: pytest.Subtests) -> None:
    for condition in EVERY:
        with subtests.test(condition.label):
            document = told(condition)

            received = opened(seal_for_device(bytes(DEVICE.public_key), document))

            jsonschema_rs.validator_for(SCHEMA).validate(received)
            assert set(received.pop("pad")) <= {"."}
            assert received == document
            assert received["condition"] == condition.governor
            assert received["keys"] == ("act" if "HAPPE" in condition.label else "sham")


@pytest.mark.parametrize("names", [NAMES, LONGEST_NAMES])
def test_all_boxes_have_one_length_and_what_is_in_them_too(names: tuple[str, str]) -> None:
    boxes = [seal_for_device(bytes(DEVICE.public_key), told(condition, names)) for condition in EVERY]

    assert {len(box) for box in boxes} == {DOCUMENT_BYTES + 48}
    assert {len(SealedBox(DEVICE).decrypt(box)) for box in boxes} == {DOCUMENT_BYTES}


def test_another_device_cannot_open_a_box() -> None:
    sealed = seal_for_device(bytes(DEVICE.public_key), {"a": 1})

    with pytest.raises(CryptoError):
        SealedBox(PrivateKey(b"x" * 32)).decrypt(sealed)


def test_a_document_may_fill_the_box_and_not_a_byte_more() -> None:
    overhead = len('{"a":"","pad":""}')

    full = opened(seal_for_device(bytes(DEVICE.public_key), {"a": "x" * (DOCUMENT_BYTES - overhead)}))

    assert full["pad"] == ""
    with pytest.raises(TooLongError, match="513 bytes"):
        seal_for_device(bytes(DEVICE.public_key), {"a": "x" * (DOCUMENT_BYTES - overhead + 1)})


@pytest.mark.parametrize("public_key", LOW_ORDER, ids=bytes.hex)
def test_a_key_of_low_order_is_refused(public_key: bytes) -> None:
    with pytest.raises(PublicKeyError, match="low order"):
        check_public_key(public_key)
    with pytest.raises(PublicKeyError):
        seal_for_device(public_key, {})


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_a_key_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(PublicKeyError, match="must have 32"):
        check_public_key(b"\x09" * length)


@given(st.binary(min_size=32, max_size=32))
def test_the_public_key_of_a_private_one_is_accepted(private: bytes) -> None:
    check_public_key(bytes(PrivateKey(private).public_key))
