# SPDX-License-Identifier: GPL-2.0-or-later
"""Verifying an audit log finds each change and its place. Lawful erasure is no fault."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

import given_studies
from happe_study.model.audit.chain import GENESIS, detail_digest, link
from happe_study.model.audit.verify import ERASED, Fault, Head, Link, noted_head, verify, verify_log
from happe_study.model.rights import Role
from postgres import ON_BOTH
from world import World

SALT = bytes(range(16))


def log(*actions: str, **details: int) -> list[Link]:
    """A log as the server writes it. Each detail has its entry's number."""
    links: list[Link] = []
    before = GENESIS
    for number, action in enumerate(actions, start=1):
        detail = {"by": "server", "number": number, **(details if action == ERASED else {})}
        digest = detail_digest(SALT, detail)
        before = link(before, number, 1000 + number, action, digest)
        links.append(Link(number, 1000 + number, action, digest, before, SALT, detail))
    return links


def head_of(links: Sequence[Link]) -> Head:
    return Head(links[-1].number, links[-1].chain_sha256) if links else Head(0, GENESIS)


def faults(links: Sequence[Link], head: Head | None = None, noted: Head | None = None) -> list[tuple[int, Fault]]:
    return verify(links, head or head_of(links), noted).faults


FIVE = ("a", "b", "c", "d", "e")


def test_the_chain_is_what_its_description_says() -> None:
    """The test computes the chain only from the description in model/audit/chain.py."""
    detail = json.dumps({"by": "server", "number": 1}, sort_keys=True, separators=(",", ":")).encode()
    digest = hashlib.sha256(SALT + detail).hexdigest()
    chain = hashlib.sha256("\n".join(["0" * 64, "1", "1001", "a", digest]).encode()).hexdigest()
    assert log("a") == [Link(1, 1001, "a", digest, chain, SALT, {"by": "server", "number": 1})]


@pytest.mark.parametrize("actions", [(), ("a",), FIVE])
def test_a_log_that_nobody_touched_is_whole(actions: tuple[str, ...]) -> None:
    links = log(*actions)
    report = verify(links, head_of(links), head_of(links[:3]) if len(links) > 3 else None)
    assert report.is_whole
    assert (report.entries, report.erased, report.head) == (len(links), 0, head_of(links))


@pytest.mark.parametrize(
    "change",
    [{"at_us": 7}, {"action": "z"}, {"detail_sha256": "f" * 64}, {"chain_sha256": "f" * 64}],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_entry_is_found_where_it_is(change: dict[str, object]) -> None:
    links = log(*FIVE)
    links[2] = replace(links[2], **change)  # type: ignore[arg-type] # a field of its
    assert (3, Fault.CHANGED) in faults(links, head_of(log(*FIVE)))


def test_one_change_is_told_once() -> None:
    links = log(*FIVE)
    links[2] = replace(links[2], action="z")
    assert faults(links) == [(3, Fault.CHANGED)]


def test_a_missing_entry_is_a_gap() -> None:
    links = log(*FIVE)
    assert faults(links[:2] + links[3:]) == [(4, Fault.GAP)]
    assert faults(links[1:]) == [(2, Fault.GAP)]


def test_entries_in_another_order_are_found() -> None:
    links = log(*FIVE)
    assert (3, Fault.REORDERED) in faults([*links[:2], links[3], links[2], links[4]])
    swapped = [*links[:2], replace(links[3], number=3), replace(links[2], number=4), links[4]]
    assert [number for number, _fault in faults(swapped)] == [3, 4, 5]


def test_a_changed_detail_is_found() -> None:
    links = log(*FIVE)
    links[2] = replace(links[2], detail={"by": "somebody"})
    assert faults(links) == [(3, Fault.DETAIL)]
    links[2] = replace(log(*FIVE)[2], salt=b"x" * 16)
    assert faults(links) == [(3, Fault.DETAIL)]


def test_details_may_be_missing_that_an_entry_says_were_erased() -> None:
    links = log("a", "b", "c", ERASED, details=2)
    erased = [links[0], *(replace(each, salt=None, detail=None) for each in links[1:3]), links[3]]
    report = verify(erased, head_of(links))
    assert report.is_whole
    assert report.erased == 2


def test_details_that_go_missing_without_a_word_are_found() -> None:
    links = log(*FIVE)
    links[2] = replace(links[2], salt=None, detail=None)
    assert faults(links) == [(5, Fault.ERASED)]


def test_a_log_that_does_not_end_at_its_head_is_found() -> None:
    links = log(*FIVE)
    assert faults(links[:4], head_of(links)) == [(4, Fault.HEAD)]
    assert faults(links, head_of(links[:4])) == [(5, Fault.HEAD)]
    assert faults([], head_of(links)) == [(0, Fault.HEAD)]


def test_only_a_noted_head_shows_that_the_end_was_cut_off_with_its_head() -> None:
    links = log(*FIVE)
    assert faults(links[:3]) == []
    assert faults(links[:3], noted=head_of(links)) == [(3, Fault.TRUNCATED)]


def test_only_a_noted_head_shows_that_the_log_was_made_anew() -> None:
    noted = head_of(log(*FIVE)[:4])
    anew = log("a", "b", "x", "d", "e", "f")
    assert faults(anew) == []
    assert faults(anew, noted=noted) == [(4, Fault.NOTED)]
    assert faults(log(*FIVE), noted=noted) == []


def test_a_flood_of_faults_is_cut_at_a_hundred() -> None:
    links = [replace(each, action="z") for each in log(*["a"] * 300)]
    report = verify(links, head_of(links))
    assert (len(report.faults), report.entries) == (100, 300)


@given(
    st.integers(0, 4), st.sampled_from(["at_us", "action", "detail_sha256", "chain_sha256", "detail", "drop", "twice"])
)
def test_no_single_change_goes_unnoticed(index: int, what: str) -> None:
    links = log(*FIVE)
    head = head_of(links)
    match what:
        case "drop":
            del links[index]
        case "twice":
            links.insert(index, links[index])
        case "at_us":
            links[index] = replace(links[index], at_us=5)
        case "detail":
            links[index] = replace(links[index], detail={"by": "x"})
        case _:
            links[index] = replace(links[index], **{what: "e" * 64})  # type: ignore[arg-type] # a field of text
    assert faults(links, head)


@pytest.mark.parametrize(
    "bad", ["", "5", "5:abc", ":" + "0" * 64, "-1:" + "0" * 64, "5:" + "G" * 64, "\u0665:" + "0" * 64]
)
def test_what_is_no_head_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="NUMBER:SHA256"):
        noted_head(bad)


def test_a_noted_head_reads_back() -> None:
    head = Head(12, "ab" * 32)
    assert noted_head(f" {head}\n") == head


@ON_BOTH
def test_the_log_in_the_database_verifies_and_shows_what_is_done_to_it(world: World) -> None:
    given_studies.study(world, protocol=given_studies.small())
    with world.database.reading() as session:
        before = verify_log(session)
    assert before.is_whole
    assert before.entries == 2
    with world.database.writing() as session:
        session.execute(text("DELETE FROM audit_details WHERE number = 1"))
    with world.database.reading() as session:
        assert verify_log(session, before.head).faults == [(2, Fault.ERASED)]
    with world.database.writing() as session:
        session.execute(text("UPDATE audit_head SET number = 3"))
    with world.database.reading() as session:
        assert Fault.HEAD in {fault for _number, fault in verify_log(session).faults}


def test_an_auditor_reads_the_log_and_verifies_it(world: World) -> None:
    mine = given_studies.study(world, protocol=given_studies.small("mine"))
    given_studies.study(world, protocol=given_studies.small("other"))
    everything = world.staff(Role.AUDITOR)
    page = everything.get("/api/v1/audit?limit=3").get_json()
    rest = everything.get(f"/api/v1/audit?after={page['next']}").get_json()
    entries = page["entries"] + rest["entries"]
    assert [entry["number"] for entry in entries] == [1, 2, 3, 4]
    assert rest["next"] is None
    for entry in entries:
        assert detail_digest(bytes.fromhex(entry["salt"]), entry["detail"]) == entry["detail_sha256"]
    report = everything.get("/api/v1/audit/verification").get_json()
    assert report == {"whole": True, "entries": 4, "erased": 0, "head": f"4:{entries[3]['chain_sha256']}", "faults": []}
    noted = everything.get(f"/api/v1/audit/verification?head=5:{'0' * 64}").get_json()
    assert noted["faults"] == [{"number": 4, "fault": "truncated"}]
    one = world.staff(Role.AUDITOR, study_id=mine.id).get("/api/v1/audit").get_json()["entries"]
    assert [entry["detail"] is not None for entry in one] == [True, True, False, False]
