# SPDX-License-Identifier: GPL-2.0-or-later
"""Participants, laptops, a meter and staff use a server as people do, in any order that hypothesis finds.

They click twice, go back, send forms of old tabs, lose answers and send again, and the server's clock is set.
HAPPE_PLAYS sets how many plays there are (tools/validate.sh).
"""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import select
from werkzeug.test import TestResponse

import given_devices
import given_participants
import given_studies
import records
from callers import LIMITS
from enrolled import sequences
from happe_study.base import clock as base_clock
from happe_study.model.audit.verify import verify_log
from happe_study.model.participants import Participant
from happe_study.model.rights import Role
from happe_study.model.runs import Run
from happe_study.model.studies import Slot
from happe_study.model.traces import TracePart
from happe_study.study.studies.services import protocol_of
from scene import GUESS
from virtual_clock import Clock
from world import World, sqlite_copy

PLAYS = int(os.environ.get("HAPPE_PLAYS", "0"))
NOON_US, SECOND_US = 1_795_262_400_000_000, 1_000_000
SECONDS, SHARE = 120, 0.9  # the longest run, and how much of a run must pass before its rating
API = "/api/v1/studies/small"
PEOPLE, LAPTOPS, SLOTS, RUNS = 6, 2, 4, 10
Which, Again = st.integers(0, PEOPLE - 1), st.booleans()
Seldom = st.sampled_from((False,) * 9 + (True,))


@dataclass
class Person:
    """A participant with a browser, and the forms in its tabs: where each goes, and its hidden fields."""

    id: int
    code: str
    token: str
    browser: FlaskClient
    tabs: list[tuple[str, dict[str, str]]] = field(default_factory=list)


class Play(RuleBasedStateMachine):
    """A locked study of four places, and everybody who has to do with it."""

    def __init__(self, template: Path) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.clock = Clock(NOON_US)
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(base_clock, "time", self.clock)
        folder = Path(self.folder.name)
        self.world = World(folder, sqlite_copy(template, folder), limits=LIMITS, least_share_of_run=SHARE)
        self.people: list[Person] = []
        self.first: dict[tuple[int, str], object] = {}
        self.seats: dict[int, int] = {}  # the laptop at which a person last sat
        self.ids = 0

    @initialize()
    def begin(self) -> None:
        """Lock the study, and enrol its devices."""
        self.study = given_studies.study(self.world, protocol=given_studies.small() + GUESS, draw=bytes)
        self.staff = self.world.staff(Role.EXPERIMENTER)
        self.laptops = [given_devices.device(self.world, self.study) for _ in range(LAPTOPS)]
        self.meter = given_devices.device(self.world, self.study, "meter")
        self.trace = given_devices.header(self.study, self.meter, self.laptops[0])
        assert given_devices.put_trace(self.world.client(self.meter.token), self.trace).status_code == 201
        self.invite()
        self.invite()
        for value in range(6):  # both are enrolled
            self.goes_on(value, value, again=False)

    # What the rules need

    def does(self, send: Callable[[], TestResponse], *, again: bool) -> TestResponse:
        """Send something, and with `again` once more, as after a lost answer: that changes nothing and is no worse."""
        answer = send()
        if again:
            before = self.world.digest()
            second = send()
            assert self.world.digest() == before
            gone = second.status_code in {401, 404}  # the first one was a withdrawal
            assert gone or (second.status_code < 400) is (answer.status_code < 400), (answer.text, second.text)
        return answer

    def refused(self, send: Callable[[], TestResponse]) -> None:
        """Send something that the server must not take."""
        before = self.world.digest()
        assert 400 <= send().status_code < 500
        assert self.world.digest() == before

    def person(self, which: int) -> Person:
        """One of the people."""
        return self.people[which % len(self.people)]

    def enrolled(self, which: int) -> Person:
        """One of those who have runs to play, if anybody has."""
        with self.world.database.reading() as session:
            ids = set(session.scalars(select(Participant.id).where(Participant.state == "enrolled")))
        return [each for each in self.people if not ids or each.id in ids][which % (len(ids) or len(self.people))]

    def laptop(self, at: int, person: Person) -> FlaskClient:
        """The program of the laptop at which a person last sat, or seldom (`at` is 0) of another one."""
        seat = self.seats.get(person.id, 0) + (at == 0)
        return self.world.client(self.laptops[seat % LAPTOPS].token)

    def run_of(self, person: Person) -> Run | None:
        """The person's first run that is not complete."""
        with self.world.database.reading() as session:
            runs = select(Run).where(Run.participant_id == person.id, Run.state.not_in(("complete", "replaced")))
            found: Run | None = session.scalars(runs.order_by(Run.position)).first()
        return found

    def planned_after(self, run: Run) -> str | None:
        """The code of the person's next planned run after this one, if there is one."""
        with self.world.database.reading() as session:
            theirs = select(Run.code).where(Run.participant_id == run.participant_id, Run.state == "planned")
            found: str | None = session.scalars(
                theirs.where(Run.position > run.position).order_by(Run.position)
            ).first()
        return found

    def another_id(self) -> str:
        """A client's new id."""
        self.ids += 1
        return str(UUID(int=self.ids, version=4))

    def read(self, person: Person, text: str) -> None:
        """Assert that what a person reads has nothing of another person."""
        for other in self.people:
            assert other is person or not any(theirs in text for theirs in (other.code, other.token))

    # Staff

    @rule()
    def invite(self) -> None:
        """Invite somebody, who opens the link."""
        if len(self.people) == PEOPLE:
            return
        (invited,) = self.staff.post(f"{API}/participants", json={"count": 1}).get_json()["participants"]
        token = invited["link"].rpartition("/")[2]
        with self.world.database.reading() as session:
            row = session.scalars(select(Participant.id).where(Participant.code == invited["code"])).one()
        self.people.append(Person(row, invited["code"], token, given_participants.browser(self.world, token)))

    @rule(which=Which, how=st.sampled_from(("withdrawal", "replacement")), again=Again, sure=Seldom)
    def staff_ends(self, which: int, how: str, *, again: bool, sure: bool) -> None:
        """End somebody's part, which happens seldom."""
        if not sure:
            return
        person = self.person(which)
        body = {"confirm": person.code} if how == "withdrawal" else {"reason": "They did not come back."}
        self.does(lambda: self.staff.post(f"{API}/participants/{person.code}/{how}", json=body), again=again)

    @rule(which=Which, again=Again)
    def staff_plans_again(self, which: int, *, again: bool) -> None:
        """Plan another attempt of a run, which works if it was aborted."""
        if run := self.run_of(self.enrolled(which)):
            self.does(lambda: self.staff.post(f"{API}/runs/{run.code}/replacement"), again=again)

    # Participants

    @rule(which=Which)
    def looks(self, which: int) -> None:
        """Open the page on which one goes on, in another tab."""
        person = self.person(which)
        answer = person.browser.get("/p/", follow_redirects=True)
        self.read(person, answer.text)
        hidden = given_participants.hidden(answer.text)
        shown = [path for path in self.forms() if path == answer.request.path or f'action="{path}"' in answer.text]
        person.tabs += [(path, hidden) for path in shown]

    @rule(which=Which, value=st.integers(0, 4), again=Again)
    def goes_on(self, which: int, value: int, *, again: bool) -> None:
        """Open that page and send its form."""
        self.looks(which)
        self.sends(which, 0, value, again=again)

    @rule(which=Which, tab=st.integers(0, 3), value=st.integers(0, 4), again=Again)
    def sends(self, which: int, tab: int, value: int, *, again: bool) -> None:
        """Send the form of a tab, mostly of the last one."""
        person = self.person(which)
        if len(person.tabs) > tab:
            path, hidden = person.tabs[-1 - tab]
            said = self.forms()[path]
            form = hidden | said[value % len(said)]
            self.read(person, self.does(lambda: person.browser.post(path, data=form), again=again).text)
            if again:  # they go back, and say something else: the first answer stays
                person.browser.post(path, data=hidden | said[(value + 1) % len(said)])

    @rule(which=Which, other=Which, value=st.integers(0, 4))
    def sends_anothers(self, which: int, other: int, value: int) -> None:
        """Send a form of somebody else's from one's own browser, or rate their run with one's own form."""
        one, another = self.person(which), self.person(other)
        if one is not another and another.tabs:
            path, hidden = another.tabs[-1]
            form = hidden | self.forms()[path][value % len(self.forms()[path])]
            self.refused(lambda: one.browser.post(path, data=form))
        own = given_participants.hidden(one.browser.get("/p/withdraw").text)
        if one is not another and own and (run := self.run_of(another)):
            rating = own | {"run": run.code, "id": self.another_id(), "rating": "1"}
            self.refused(lambda: one.browser.post("/p/rating", data=rating))

    @rule(which=Which, again=Again, sure=Seldom)
    def withdraws(self, which: int, *, again: bool, sure: bool) -> None:
        """Leave the study, which happens seldom."""
        person = self.person(which)
        form = given_participants.hidden(person.browser.get("/p/withdraw").text) | {"confirm": "withdraw"}
        if sure:
            self.does(lambda: person.browser.post("/p/withdraw", data=form), again=again)

    def forms(self) -> dict[str, list[dict[str, str]]]:
        """What people fill in, by the address to which a form goes."""
        answers = [given_participants.answers(protocol_of(self.study), field_of_study=each) for each in ("law", "art")]
        return {
            "/p/consent": [{"decision": "agree", "on_withdrawal": each} for each in ("erase", "deidentify")],
            "/p/questionnaire": answers,
            "/p/handout": [{}],
            "/p/rating": [{"rating": str(each)} for each in range(1, 6)],
            "/p/guess": [{"guess": each} for each in ("usual", "learning", "dont-know")],
        }

    # Laptops and the meter

    @rule(which=Which, at=Which, again=Again)
    def sits_and_starts(self, which: int, at: int, *, again: bool) -> None:
        """Sit down at a laptop, which starts the next run, perhaps after it has lost the answer."""
        person = self.enrolled(which)
        self.seats[person.id] = at
        client = self.laptop(1, person)
        sat = self.does(lambda: client.put("/api/v1/device/sitting", json={"participant": person.token}), again=again)
        self.read(person, sat.text)
        if run := self.run_of(person):
            if run.state == "planned" and (later := self.planned_after(run)):
                self.refused(lambda: client.post(f"/api/v1/runs/{later}/start", json={"id": self.another_id()}))
            body = {"id": self.another_id()}
            self.does(lambda: client.post(f"/api/v1/runs/{run.code}/start", json=body), again=again)

    @rule(which=Which, at=Which, again=Again, seconds=st.sampled_from((SECONDS, SECONDS, 1)))
    def plays(self, which: int, at: int, seconds: int, *, again: bool) -> None:
        """Play for a while, until the laptop says that the run has ended."""
        person = self.enrolled(which)
        if run := self.run_of(person):
            self.clock.us += seconds * SECOND_US
            self.does(lambda: self.laptop(at, person).put(f"/api/v1/runs/{run.code}/end"), again=again)

    @rule(which=Which, at=Which, value=st.integers(1, 5), again=Again)
    def answers_at_the_laptop(self, which: int, at: int, value: int, *, again: bool) -> None:
        """Rate, or guess, at a laptop instead of on a page."""
        person = self.enrolled(which)
        if run := self.run_of(person):
            what, said = ("guess", {"guess": "learning"}) if run.rating else ("rating", {"rating": value})
            body = said | {"id": self.another_id()}
            address = f"/api/v1/runs/{run.code}/{what}"
            self.does(lambda: self.laptop(at, person).put(address, json=body), again=again)

    @rule(which=Which, at=Which, variant=st.integers(0, 2), again=Again)
    def record_arrives(self, which: int, at: int, variant: int, *, again: bool) -> None:
        """Upload a run's record; another one of the same run is refused."""
        person = self.enrolled(which)
        if run := self.run_of(person):
            record = records.make(run.code, 5, seed=run.id * 10 + variant // 2)
            self.does(lambda: given_devices.put_record(self.laptop(at, person), record), again=again)

    @rule(which=Which, at=Which, again=Again, sure=Seldom)
    def stops(self, which: int, at: int, *, again: bool, sure: bool) -> None:
        """Abort a run, at a laptop or by staff, which happens seldom."""
        person = self.enrolled(which)
        if (run := self.run_of(person)) and sure:
            client, place = (self.laptop(at, person), "/api/v1") if at % 2 else (self.staff, API)
            said = {"reason": "the power went out"}
            self.does(lambda: client.post(f"{place}/runs/{run.code}/abort", json=said), again=again)

    @rule(which=Which, at=Which, value=st.integers(0, 4), again=Again, until=st.integers(2, 5))
    def plays_a_run(self, which: int, at: int, value: int, *, again: bool, until: int) -> None:
        """Play a run as it should be, at least until it ends: rating, guess and record may come later."""
        person = self.enrolled(which)
        own = self.people.index(person)
        self.sits_and_starts(which, at, again=again)
        self.plays(which, 1, SECONDS, again=again)
        self.sends_anothers(own + 1, own, value)
        for _answer in range(min(until, 4) - 2):
            self.goes_on(own, value, again=again)
        if until == 5:
            self.record_arrives(which, 1, 0, again=again)

    @rule(number=st.integers(0, 2), content=st.integers(0, 1), again=Again)
    def meter_sends(self, number: int, content: int, *, again: bool) -> None:
        """Upload a part of the power trace; other content under its number is refused."""
        client, part = self.world.client(self.meter.token), records.part(number + 3 * content)
        self.does(lambda: given_devices.put_part(client, self.trace["id"], number, part), again=again)

    @rule(seconds=st.sampled_from((-7200, -1, 1, 60, 200_000)))
    def clock_is_set(self, seconds: int) -> None:
        """Set the server's clock, back or forth."""
        self.clock.us += seconds * SECOND_US

    # What is always true

    @invariant()
    def each_run_has_one_owner_and_one_answer(self) -> None:
        """Look at all runs and places."""
        with self.world.database.reading() as session:
            people = {row.id: row for row in session.scalars(select(Participant))}
            runs = list(session.scalars(select(Run)))
            parts = session.execute(select(TracePart.number, TracePart.digest)).all()
            places = [each for each in session.scalars(select(Slot.participant_id)) if each is not None]
        staying = {id_ for id_, row in people.items() if row.state in {"enrolled", "done"}}
        assert staying <= set(places)
        assert {people[each].state for each in places} <= {"enrolled", "done", "withdrawn"}
        left = Counter((run.participant_id, run.position) for run in runs if run.state != "replaced")
        assert not any(people[run.participant_id].state in {"invited", "consented"} for run in runs)
        assert all(left[id_, position] == 1 for id_ in staying for position in range(1, RUNS + 1))
        assert max(Counter(run.participant_id for run in runs if run.state == "started").values(), default=1) == 1
        for run in (run for run in runs if run.participant_id in staying):
            assert run.condition is None
            assert run.state == "planned" or None not in {run.device_id, run.start_id, run.started_us}
            assert run.rated_us is None or run.rated_us - (run.started_us or 0) >= SHARE * run.seconds * SECOND_US
            for name in (
                "start_id",
                "device_id",
                "rating",
                "rating_id",
                "guess",
                "guess_id",
                "record_us",
                "abort_reason",
            ):
                self.stays((run.id, name), getattr(run, name))
        for row in (people[each] for each in staying):
            for name in ("consent_version", "on_withdrawal", "answers", "enrolled_us", "handout_us"):
                self.stays((-row.id, name), getattr(row, name))
        for number, digest in parts:
            self.stays((0, str(number)), digest)

    def stays(self, what: tuple[int, str], value: object) -> None:
        """Assert that what was once stored is still so."""
        if value is not None or what in self.first:
            assert self.first.setdefault(what, value) == value, what

    def teardown(self) -> None:
        """Fill the study: its places are exactly balanced. Then its seals and its audit log agree with all that was."""
        try:
            if hasattr(self, "meter"):
                self.closes()
        finally:
            self.world.close()
            self.patch.undo()
            self.folder.cleanup()

    def closes(self) -> None:
        """Do so."""
        with self.world.database.reading() as session:
            taken = [each for each in session.scalars(select(Slot.participant_id)) if each is not None]
        taken += [given_participants.participant(self.world, self.study)[0].id for _ in range(SLOTS - len(taken))]
        with self.world.database.reading() as session:
            assert set(sequences(session, taken).values()) == {1}
        assert given_studies.unblind(self.world).agrees
        with self.world.database.reading() as session:
            assert verify_log(session).faults == []


def test_people_play(sqlite_template: Path) -> None:
    run_state_machine_as_test(
        lambda: Play(sqlite_template),  # type: ignore[arg-type] # it only calls it
        settings=settings(
            max_examples=PLAYS or 10,
            stateful_step_count=50,
            derandomize=not PLAYS,
            database=None,
            phases=[Phase.generate],  # to shrink a play takes minutes
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
