# SPDX-License-Identifier: GPL-2.0-or-later
"""The allocation follows only from protocol, seed and salt, and is exactly balanced in every whole block of slots."""

import hashlib
import hmac
from collections import Counter
from itertools import groupby, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from happe_study.study.allocation import (
    CommitmentError,
    Draws,
    PlannedRun,
    SlotPlan,
    commitment,
    plan,
    recompute,
    verify,
)
from happe_study.study.protocol.conditions import Condition, Phase
from happe_study.study.protocol.reading import Nesting, Protocol, read_protocol

SEED = bytes(range(32))
SALT = bytes(range(32, 64))
KEYS = "abcdefgh"


def study(order: str, *, participants: int, applications: int = 2, strata: str = "") -> Protocol:
    """Return a protocol with applications a, b, c, ..."""
    apps = ", ".join(f'{{ key = "{key}", name = "x", command = ["x"], seconds = 1 }}' for key in KEYS[:applications])
    return read_protocol(
        f"""
        name = "x"
        title = "x"
        participants = {participants}
        application = [{apps}]
        order = {{ {order} }}
        consent = {{ version = "1", text = "x" }}
        handout.text = "x"
        {strata}
        """.encode()
    )


def sequence(slot: SlotPlan, application: str) -> tuple[Condition, ...]:
    """Return the order of conditions of one application."""
    return tuple(run.condition for run in slot if run.application == application)


def order_of_applications(slot: SlotPlan) -> tuple[str, ...]:
    """Return the order in which applications come for the first time."""
    return tuple(dict.fromkeys(run.application for run in slot))


NESTINGS = st.sampled_from(["application", "block"])
SCHEMES = st.one_of(
    st.just('scheme = "paper"'),
    st.just('scheme = "crossover"'),
    st.integers(2, 7).map('scheme = "levels", levels = {}'.format),
)
SECRETS = st.binary(min_size=32, max_size=32)


@st.composite
def studies(draw: st.DrawFn) -> Protocol:
    """Return a protocol of one to three blocks."""
    applications = draw(st.integers(1, 4))
    arrangement = draw(st.sampled_from(["listed", "random", "williams"]))
    order = f'{draw(SCHEMES)}, nesting = "{draw(NESTINGS)}", applications = "{arrangement}"'
    size = study(order, participants=840, applications=applications).block_size  # 840: a multiple of 1 to 8
    return study(order, participants=size * draw(st.integers(1, 3)), applications=applications)


@settings(max_examples=60, deadline=None)
@given(studies(), SECRETS, SECRETS)
def test_every_prefix_of_whole_blocks_is_exactly_balanced(protocol: Protocol, seed: bytes, salt: bytes) -> None:
    slots = plan(protocol, seed, salt)[""]

    assert len(slots) == protocol.participants
    for end in range(protocol.block_size, len(slots) + 1, protocol.block_size):
        for application in protocol.applications:
            count = Counter(sequence(slot, application.key) for slot in slots[:end])
            assert count == dict.fromkeys(protocol.sequences, end // len(protocol.sequences))


@settings(max_examples=60, deadline=None)
@given(studies(), SECRETS, SECRETS)
def test_everybody_plays_each_application_once_under_each_condition_nested_as_the_protocol_says(
    protocol: Protocol, seed: bytes, salt: bytes
) -> None:
    every = {(app.key, condition) for app in protocol.applications for condition in protocol.conditions}
    for slot in plan(protocol, seed, salt)[""]:
        assert [run.position for run in slot] == list(range(1, protocol.runs_per_participant + 1))
        assert Counter((run.application, run.condition) for run in slot) == dict.fromkeys(every, 1)
        if protocol.order.nesting is Nesting.BLOCK:
            finished = [condition for condition, _ in groupby(run.condition for run in slot)]
            assert len(finished) == len(protocol.conditions)
        else:
            assert len([key for key, _ in groupby(run.application for run in slot)]) == len(protocol.applications)


@pytest.mark.parametrize("applications", [1, 2, 3, 4, 5])
def test_applications_in_williams_order_are_balanced_for_place_and_carry_over(applications: int) -> None:
    order = 'scheme = "crossover", applications = "williams"'
    protocol = study(order, participants=120, applications=applications)

    slots = plan(protocol, SEED, SALT)[""]

    for end in range(protocol.block_size, len(slots) + 1, protocol.block_size):
        orders = [order_of_applications(slot) for slot in slots[:end]]
        at = Counter(pair for order in orders for pair in enumerate(order))
        after = Counter(pair for order in orders for pair in pairwise(order))
        assert set(at.values()) == {end // applications}
        assert set(after.values()) <= {end // applications}


def test_applications_in_random_order_differ_between_slots() -> None:
    slots = plan(study('scheme = "paper", applications = "random"', participants=200, applications=3), SEED, SALT)[""]

    assert len({order_of_applications(slot) for slot in slots}) == 6


def test_the_paper_has_one_order_for_everybody() -> None:
    protocol = study('scheme = "paper", nesting = "block"', participants=3)

    slots = plan(protocol, SEED, SALT)[""]

    expected = [(key, condition) for condition in ("ondemand", "T-HAPPE", "O-HAPPE", "B-HAPPE") for key in ("a", "b")]
    assert [[(run.application, run.condition.label) for run in slot] for slot in slots] == [expected] * 3


def test_the_crossover_trains_each_application_first() -> None:
    by_application, by_block = (
        plan(study(f'scheme = "crossover", nesting = "{nesting}"', participants=4), SEED, SALT)[""]
        for nesting in ("application", "block")
    )

    assert all([run.phase is Phase.TRAINING for run in slot] == [True, *[False] * 4] * 2 for slot in by_application)
    assert all([run.phase is Phase.TRAINING for run in slot] == [True] * 2 + [False] * 8 for slot in by_block)


def test_each_application_has_an_order_of_its_own() -> None:
    slots = plan(study('scheme = "crossover"', participants=400), SEED, SALT)[""]

    pairs = {(sequence(slot, "a"), sequence(slot, "b")) for slot in slots}

    assert len(pairs) == 16


def test_a_slots_place_in_its_block_does_not_tell_its_sequence() -> None:
    protocol = study('scheme = "crossover"', participants=400)
    slots = plan(protocol, SEED, SALT)[""]

    for place in range(4):
        assert {sequence(slot, "a") for slot in slots[place::4]} == set(protocol.sequences)


def test_each_stratum_is_balanced_by_itself() -> None:
    strata = 'strata = { by = "game_experience", quota = { beginner = 8, moderate = 0, master = 4 } }'
    protocol = study('scheme = "crossover"', participants=12, strata=strata)

    slots = plan(protocol, SEED, SALT)

    assert {stratum: len(of_stratum) for stratum, of_stratum in slots.items()} == protocol.quotas
    for of_stratum in slots.values():
        count = Counter(sequence(slot, "b") for slot in of_stratum)
        assert set(count.values()) <= {len(of_stratum) // 4}
    assert slots["beginner"][:4] != slots["master"]


# The seed.


@given(studies(), SECRETS, SECRETS)
@settings(max_examples=20, deadline=None)
def test_the_same_seed_and_salt_give_the_same_allocation(protocol: Protocol, seed: bytes, salt: bytes) -> None:
    committed = commitment(seed, salt)

    assert recompute(protocol, committed, seed, salt) == plan(protocol, seed, salt)


def test_the_commitment_is_the_digest_of_seed_and_salt() -> None:
    # sha256sum of the bytes 0 to 63
    expected = "fdeab9acf3710362bd2658cdc9a29e8f9c757fcf9811603a8c447cd1d9151108"

    assert commitment(SEED, SALT) == expected
    assert verify(expected, SEED, SALT)
    assert verify(expected.upper(), SEED, SALT)


@pytest.mark.parametrize(("seed", "salt"), [(SALT, SEED), (SEED, bytes(32)), (bytes(32), SALT)])
def test_what_was_not_committed_to_is_refused(seed: bytes, salt: bytes) -> None:
    committed = commitment(SEED, SALT)

    assert not verify(committed, seed, salt)
    with pytest.raises(CommitmentError):
        recompute(study('scheme = "paper"', participants=1), committed, seed, salt)


@pytest.mark.parametrize(("seed", "salt"), [(b"", SALT), (SEED, b""), (SEED + b"x", SALT[1:]), (SEED, SALT + b"x")])
def test_seed_and_salt_have_one_length_so_that_their_border_is_known(seed: bytes, salt: bytes) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        commitment(seed, salt)
    with pytest.raises(ValueError, match="32 bytes"):
        plan(study('scheme = "paper"', participants=1), seed, salt)


# The generator again, as docs/protocol.md describes it.


def words(purpose: str, count: int) -> list[int]:
    """Return the stream's first words."""
    blocks = (
        hmac.new(SEED, SALT + purpose.encode() + number.to_bytes(8, "big"), hashlib.sha256).digest()
        for number in range(count)
    )
    stream = b"".join(blocks)
    return [int.from_bytes(stream[8 * n : 8 * n + 8], "big") for n in range(count)]


def test_draws_are_words_of_the_stream() -> None:
    draws = Draws(SEED, SALT, "0/1/conditions/torcs")

    assert [draws.below(1 << 64) for _ in range(10)] == words("0/1/conditions/torcs", 10)


def test_a_word_beyond_the_greatest_multiple_is_passed_over() -> None:
    bound = (1 << 63) + 1  # it skips nearly half of all words

    draws = Draws(SEED, SALT, "x")

    expected = [word for word in words("x", 100) if word < bound]
    assert 0 < len(expected) < 100
    assert [draws.below(bound) for _ in expected] == expected


def test_the_greatest_multiple_itself_is_passed_over() -> None:
    first, second, *_ = words("i", 9)
    assert second < first > 1 << 63, "choose another purpose: no multiple of `first` may be greater"

    assert Draws(SEED, SALT, "i").below(first) == second


def test_a_shuffle_is_that_of_fisher_and_yates() -> None:
    order = list("abcdefg")
    for place, word in zip(range(6, 0, -1), words("x", 6), strict=True):
        other = word % (place + 1)
        order[place], order[other] = order[other], order[place]

    assert Draws(SEED, SALT, "x").shuffled("abcdefg") == order


def test_a_small_allocation_can_be_recomputed_by_the_page_alone() -> None:
    """By docs/protocol.md, two levels have the sequences (1, 2) and (2, 1). There are two blocks of two slots."""
    protocol = study('scheme = "levels", levels = 2', participants=4)
    expected: list[list[tuple[str, int]]] = []
    for block in range(2):
        chosen = {}
        for key in ("a", "b"):
            swap = words(f"0/{block}/conditions/{key}", 1)[0] % 2 == 0
            chosen[key] = [(2, 1), (1, 2)] if swap else [(1, 2), (2, 1)]
        expected += [[(key, level) for key in ("a", "b") for level in chosen[key][slot]] for slot in range(2)]

    slots = plan(protocol, SEED, SALT)[""]

    assert slots == [
        tuple(PlannedRun(n, key, Condition(f"fixed-{level}")) for n, (key, level) in enumerate(runs, start=1))
        for runs in expected
    ]
