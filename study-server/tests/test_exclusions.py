# SPDX-License-Identifier: GPL-2.0-or-later
"""Excluding runs and participants: on the record, blind and reversible before the unblinding, only marked after it."""

import os
import re
from http import HTTPStatus

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

import given_participants as people
import given_studies
from enrolled import SECRETS
from given_accounts import browser, post
from happe_study.base.problems import Problem
from happe_study.model.participants import Participant
from happe_study.model.rights import Role
from happe_study.model.runs import Exclusion, ExclusionReason, Run
from happe_study.model.studies import Slot, Study
from happe_study.results.gate import excluded, unfinished
from happe_study.results.unblinding import Order, unblind_run
from happe_study.results.withdrawal import retention
from happe_study.results.withdrawal import services as withdrawal
from happe_study.study.runs import exclusions, services
from operated import Operated
from postgres import ON_BOTH
from test_erasure import Played, played
from world import World

FAULT, OTHER = ExclusionReason.FAULT, ExclusionReason.OTHER
NOTE = "The game crashed twice."


@pytest.fixture
def player(world: World) -> Played:
    """A participant of a locked study, who has completed the first run."""
    return played(world, given_studies.study(world, protocol=given_studies.small()))


def small(session: Session) -> Study:
    """The study `small`."""
    return session.scalars(select(Study).where(Study.name == "small")).one()


def exclude(world: World, code: str, reason: ExclusionReason = FAULT, note: str = NOTE) -> None:
    """Exclude a run or a participant of the only study."""
    with world.database.writing() as session:
        exclusions.exclude(session, small(session), code, reason, note, None)


def undo(world: World, code: str) -> None:
    """Count a run or a participant again."""
    with world.database.writing() as session:
        exclusions.undo(session, small(session), code, "It was another one.", None)


def reveal(world: World, code: str) -> None:
    """Unblind a run in an emergency."""
    with world.database.writing() as session:
        study = small(session)
        run = services.find(session, study.id, code)
        unblind_run(session, study, run, SECRETS, Order(None, "Somebody fell ill.", code))


def kinds(world: World) -> dict[str, bool]:
    """Whether each exclusion is blind, by the code of the run or the participant."""
    with world.database.reading() as session:
        study = small(session)
        return {run or whose: each.blind for each, whose, run in exclusions.of_study(session, study.id)}


def refusal(world: World, code: str, act: str = "exclude") -> str:
    """The kind of the Problem with which the server refuses to exclude, or to undo."""
    with pytest.raises(Problem) as refused:
        exclude(world, code) if act == "exclude" else undo(world, code)
    return refused.value.kind


def study_of(world: World) -> Study:
    """The study `small`, as it is now."""
    with world.database.reading() as session:
        return small(session)


def rate(world: World, *codes: str) -> None:
    """Let these runs be complete."""
    with world.database.writing() as session:
        session.execute(update(Run).where(Run.code.in_(codes)).values(state="complete"))


@ON_BOTH
def test_an_exclusion_is_on_the_record_and_changes_nothing_else(world: World, player: Played) -> None:
    def others() -> list[str]:
        with world.database.reading() as session:
            return [
                repr(row) for table in (Slot, Run, Participant) for row in session.execute(select(*table.__table__.c))
            ]

    before = others()
    for code in (player.runs[0], player.row.code):
        exclude(world, code)
        exclude(world, code)  # repeated, without effect
        with pytest.raises(Problem, match="for another reason"):
            exclude(world, code, OTHER)
    assert kinds(world) == {player.runs[0]: True, player.row.code: True}
    assert others() == before
    about = {"by": "server", "reason": "technical fault", "note": NOTE, "blind": True}
    assert world.details("run.excluded") == [about | {"run": player.runs[0]}]
    assert world.details("participant.excluded") == [about | {"participant": player.row.code}]
    with world.database.reading() as session:
        study = small(session)
        assert excluded(session, study) == [
            "1 participant is excluded: 1 technical fault.",
            "1 run is excluded: 1 technical fault.",
        ]
        assert unfinished(session, study) == ["3 of 4 places are free."]
    for code in (player.runs[0], player.row.code):
        undo(world, code)
        assert refusal(world, code, "undo") == "not-excluded"
    assert kinds(world) == {}
    assert [each["note"] for each in world.details("run.included")] == ["It was another one."]


def test_what_does_not_count_anyway_is_not_excluded(world: World, player: Played) -> None:
    invited, _link = people.participant(world, study_of(world), enrolled=False)
    other = given_studies.study(world, "other", protocol=given_studies.small("other"))
    stranger, _link = people.participant(world, other)
    with world.database.writing() as session:
        run = services.find(session, player.row.study_id, player.runs[1])
        run.state = "aborted"
    assert [refusal(world, code) for code in player.runs[1:3]] == ["run-state", "run-state"]
    assert refusal(world, invited.code) == "participant-state"
    assert [refusal(world, code) for code in (stranger.code, "7K2M9QXA", "?")] == ["not-found"] * 3


def test_once_a_condition_may_be_known_an_exclusion_is_marked_and_a_blind_one_stays(
    world: World, player: Played
) -> None:
    rate(world, *player.runs[:3])
    first, second, third = player.runs[:3]
    exclude(world, first)
    given_studies.unblind(world)
    exclude(world, second)
    assert kinds(world) == {first: True, second: False}
    assert refusal(world, first, "undo") == "not-blind"
    undo(world, second)
    exclude(world, player.row.code)
    assert kinds(world) == {first: True, player.row.code: False}
    assert third not in kinds(world)


def test_an_emergency_marks_the_runs_that_it_reveals_their_person_and_no_other(world: World, player: Played) -> None:
    with world.database.reading() as session:
        mine = {run.code: run for run in session.scalars(select(Run).where(Run.participant_id == player.row.id))}
    rate(world, *mine)
    torcs = [code for code in player.runs if mine[code].application == mine[player.runs[1]].application]
    training, asked, follows, *rest = torcs
    exclude(world, follows)
    reveal(world, asked)
    for code in mine.keys() - {follows}:
        exclude(world, code)
    exclude(world, player.row.code)
    late = {code for code, blind in kinds(world).items() if not blind}
    assert late == {asked, *rest, player.row.code}
    assert kinds(world)[training]
    assert refusal(world, follows, "undo") == "not-blind"
    undo(world, training)


def test_a_new_attempt_of_a_revealed_run_is_revealed(world: World, player: Played) -> None:
    code = player.runs[1]
    people.started(world, code, player.laptop)
    reveal(world, code)
    with world.database.writing() as session:
        run = services.find(session, player.row.study_id, code)
        services.abort(session, run, "ill", None)
        again = services.replace(session, run, SECRETS, None).code
    rate(world, again)
    exclude(world, again)
    assert kinds(world) == {again: False}


def test_who_is_erased_cannot_be_counted_back_in(world: World, player: Played) -> None:
    exclude(world, player.runs[0])
    exclude(world, player.row.code)
    with world.database.writing() as session:
        session.execute(update(Participant).where(Participant.id == player.row.id).values(state="done"))
        retention.erase(session, player.row.id, SECRETS)
    assert NOTE not in repr(world.details("run.excluded"))
    with world.database.reading() as session:
        assert set(session.scalars(select(Exclusion.note))) == {None}
    codes = list(kinds(world))  # the new ones
    assert [refusal(world, code, "undo") for code in codes] == ["erased", "erased"]
    with world.database.writing() as session:
        session.execute(update(Participant).where(Participant.id == player.row.id).values(on_withdrawal="erase"))
        withdrawal.withdraw(session, session.get_one(Participant, player.row.id), SECRETS, None)
    assert kinds(world) == {}
    refused = [refusal(world, code, act) for code in codes for act in ("undo", "exclude")]
    assert refused == ["not-excluded", "participant-state"] * 2


# The doors.


def test_over_http_an_experimenter_excludes_and_the_analyst_exports_why(world: World, player: Played) -> None:
    address, run = "/api/v1/studies/small/exclusions", player.runs[0]
    experimenter = world.staff(Role.EXPERIMENTER)
    body = {"code": run, "reason": "disturbed", "note": NOTE}
    assert experimenter.post(address, json=body | {"reason": "rating"}).status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert experimenter.post(address, json=body).status_code == HTTPStatus.NO_CONTENT
    told = world.staff(Role.ANALYST).post("/api/v1/studies/small/exports/exclusions?format=jsonl").get_json(force=True)
    assert told.pop("at_us")
    assert told == {"participant": player.row.code, "run": run, "reason": "disturbed", "note": NOTE, "blind": True}
    status = world.staff(Role.CUSTODIAN).get("/api/v1/studies/small/status").get_json()
    assert status["excluded"] == ["1 run is excluded: 1 disturbed."]
    assert experimenter.post(f"{address}/{run}/inclusion", json={"note": "no"}).status_code == HTTPStatus.NO_CONTENT
    assert kinds(world) == {}


def test_on_the_page_an_investigator_excludes_and_counts_again(world: World, player: Played) -> None:
    client, page, run = browser(world, Role.INVESTIGATOR), "/studies/small/exclusions", player.runs[0]
    person = f"/studies/small/participants/{player.row.code}"
    assert f'href="{page}?code={run}"' in client.get(person).text
    assert f'value="{run}"' in client.get(f"{page}?code={run}").text
    form = {"code": run.lower(), "reason": "could not go on", "note": NOTE}
    for wrong in ({"code": "7K2M9QXA"}, {"reason": "x"}, {"note": ""}):
        refused = post(client, page, **form | wrong)
        assert (refused.status_code, re.findall(r'id="(\w+)-error"', refused.text)) == (422, list(wrong))
    assert post(client, page, **form).headers["Location"] == page
    assert NOTE in client.get(page).text
    assert "excluded: could not go on" in client.get(person).text
    assert "1 run is excluded: 1 could not go on." in client.get("/studies/small/unblinding").text
    again = f"{page}/{run}/inclusion"
    assert "Count it again" in post(client, again, page=f"{page}?again={run}", note="").text
    assert post(client, again, page=f"{page}?again={run}", note="It was another one.").headers["Location"] == page
    assert NOTE not in client.get(page).text


def test_the_command_excludes_and_counts_again_and_the_unblinding_says_what_is_excluded(operated: Operated) -> None:
    run = played(operated.world, given_studies.study(operated.world, protocol=given_studies.small())).runs[0]
    command = ("study", "exclude", "small", run, "--note", NOTE)
    assert (
        operated.run(*command).status
        == operated.run(*command, "--undo", "--reason", "technical fault").status
        == os.EX_USAGE
    )
    assert operated.done(*command, "--reason", "technical fault").out == f"{run} is excluded.\n"
    said = "1 run is excluded: 1 technical fault."
    assert f"excluded      {said}" in operated.done("study", "status", "small").out
    assert f"excluded: {said}" in operated.run("study", "unblind", "small").err
    assert operated.done(*command, "--undo", "--json").json() == {"code": run, "excluded": False}
