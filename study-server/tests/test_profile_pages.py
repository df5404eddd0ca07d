# SPDX-License-Identifier: GPL-2.0-or-later
"""After unblinding, people find, read, compare, download and review profiles. Before it, nobody sees any."""

import csv
import functools
import html
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from flask.testing import FlaskClient
from sqlalchemy import delete, func, select, update

import given_participants as people
import given_profiles
import given_reports
from given_accounts import browser, post
from happe_study.model.accounts import Account
from happe_study.model.audit.models import AuditDetail, AuditEntry
from happe_study.model.audit.verify import verify_log
from happe_study.model.documents import DocumentKind
from happe_study.model.participants import Participant
from happe_study.model.profiles import Profile, ProfileReview, TaughtRun
from happe_study.model.rights import Role
from happe_study.model.rules import Caller
from happe_study.model.runs import Run, RunRecord
from happe_study.model.studies import Study
from happe_study.results.withdrawal import services as withdrawal
from happe_study.study import documents
from happe_study.study.profiles import drawing
from happe_study.study.profiles.searching import found
from world import World, fixed_secrets, sqlite_copy

Json = dict[str, Any]

PAGES, API = "/studies/small/profiles", "/api/v1/studies/small/profiles"
ROW = re.compile(rf'<th scope="row"><a href="{PAGES}/([0-9A-Z]+/[a-z]+)["?]')
SCHEMA = Path(__file__).parents[2] / "profiles/schema/profile.schema.json"


@dataclass
class Lab:
    """An unblinded study of three participants. The last one pressed no key."""

    world: World
    reviewer: FlaskClient
    codes: list[str]

    def every(self, **query: str | int) -> list[Json]:
        """All profiles that a search finds."""
        answer = self.reviewer.get(API, query_string=query).get_json()
        assert answer["count"] == len(answer["profiles"])
        found: list[Json] = answer["profiles"]
        return found

    def told(self, profile: Json) -> Json:
        """A profile with its lessons."""
        found: Json = self.reviewer.get(f"{API}/{key(profile)}").get_json()
        return found


def key(profile: Json) -> str:
    """A profile's part of an address."""
    return f"{profile['participant']}/{profile['application']}"


@pytest.fixture(scope="module")
def lab(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab for all tests that only read."""
    folder: Path = tmp_path_factory.mktemp("learned")
    world = World(folder, sqlite_copy(sqlite_template, folder))
    rows = given_profiles.taught(world, players=3)
    reviewer = world.client(world.account(Role.REVIEWER))
    yield Lab(world, reviewer, [row.code for row in rows])
    world.close()


def text_of(client: FlaskClient, path: str, **query: str) -> str:
    """A page's text."""
    answer = client.get(path, query_string=query or None)
    assert answer.status_code == 200, answer.text
    return html.unescape(answer.text)


def test_before_unblinding_nothing_is_there_and_every_page_says_why(world: World) -> None:
    (row,) = given_profiles.taught(world, players=1, runs=2, blind=True)
    reviewer = world.client(world.account(Role.REVIEWER))
    for page in ("", "/reviews", f"/{row.code}/torcs"):
        assert "Not before the study is unblinded" in text_of(reviewer, PAGES + page)
    assert [reviewer.get(f"{API}{each}").status_code for each in ("", f"/{row.code}/torcs")] == [409, 409]
    for path in ("/download", "/take-in", f"/{row.code}/torcs", f"/{row.code}/torcs/lessons"):
        assert reviewer.post(PAGES + path, data={"format": "csv", "do": "note", "note": "x"}).status_code == 409
    with world.database.reading() as session:
        assert [session.scalar(select(func.count()).select_from(each)) for each in (Profile, TaughtRun)] == [0, 0]


def test_each_profile_is_what_its_lessons_make_of_it(lab: Lab) -> None:
    profiles = lab.every()
    assert [each["participant"] for each in profiles] == sorted(code for code in lab.codes for _application in range(2))
    for profile in profiles:
        told = lab.told(profile)
        assert (told["doubts"], profile["agrees"]) == ([], True)
        lessons = [lesson for run in told["taught_runs"] for lesson in run["lessons"]]
        assert [lesson["number"] for lesson in lessons] == [*range(1, profile["performance"] + profile["power"] + 1)]
        assert not lessons or lessons[-1]["khz"] == profile["khz"]
        assert told["taught_runs"][0]["condition"] == "T-HAPPE"
        assert {run["condition"] for run in told["taught_runs"]} == {"T-HAPPE", "O-HAPPE", "B-HAPPE"}
    page = text_of(lab.reviewer, f"{PAGES}/{key(profiles[0])}")
    assert sorted(re.findall("[A-Z]-HAPPE is HAPPE [a-z]+", page)) == [
        "B-HAPPE is HAPPE operating", "O-HAPPE is HAPPE operating", "T-HAPPE is HAPPE in",
    ]  # fmt: skip


FILTERS: dict[str, tuple[dict[str, str | int], Callable[[Json, Lab], bool]]] = {
    "code": ({"q": "{code}"}, lambda p, lab: p["participant"] == lab.codes[0]),
    "begin of a code": ({"q": "{begin}"}, lambda p, lab: p["participant"].startswith(lab.codes[0][:2])),
    "part of a name": ({"q": "ORC"}, lambda p, _lab: p["application"] == "torcs"),
    "nobody": ({"q": "%"}, lambda _p, _lab: False),
    "application": ({"application": "glest"}, lambda p, _lab: p["application"] == "glest"),
    "condition": ({"condition": "B-HAPPE"}, lambda p, lab: bool(taught_in(lab.told(p), "B-HAPPE"))),
    "none": ({"keys": "none"}, lambda p, _lab: p["performance"] + p["power"] == 0),
    "both": ({"keys": "both"}, lambda p, _lab: p["performance"] > 0 < p["power"]),
    "performance": ({"keys": "performance"}, lambda p, _lab: p["performance"] > 0 == p["power"]),
    "top": ({"end": "top"}, lambda p, lab: asked_for(lab.told(p), "performance", p["ladder"][-1])),
    "bottom": ({"end": "bottom"}, lambda p, lab: asked_for(lab.told(p), "power", p["ladder"][0])),
    "changed": ({"change": "changed"}, lambda p, _lab: p["performance"] + p["power"] > 0),
    "unchanged": ({"change": "unchanged"}, lambda p, _lab: p["performance"] + p["power"] == 0),
    "level": ({"level": 5, "above_mhz": 1200}, lambda p, _lab: p["khz"][5] > 1_200_000),
    "any level": ({"above_mhz": 2200}, lambda p, _lab: p["khz"][9] > 2_200_000),
    "agrees": ({"check": "agrees", "marked": "unflagged"}, lambda _p, _lab: True),
    "flagged": ({"marked": "flagged"}, lambda _p, _lab: False),
}


def taught_in(told: Json, condition: str) -> list[Json]:
    """The lessons that runs under a condition taught."""
    return [lesson for run in told["taught_runs"] if run["condition"] == condition for lesson in run["lessons"]]


def asked_for(told: Json, name: str, khz: int) -> bool:
    """Whether a press of a key taught a frequency."""
    every = (lesson for run in told["taught_runs"] for lesson in run["lessons"])
    return any((lesson["key"], lesson["to_khz"]) == (name, khz) for lesson in every)


@pytest.mark.parametrize("name", FILTERS)
def test_what_is_looked_for_is_found_and_nothing_else(lab: Lab, name: str) -> None:
    query, is_wanted = FILTERS[name]
    names = {"code": lab.codes[0].lower(), "begin": lab.codes[0][:2]}
    asked = {field: value.format(**names) if isinstance(value, str) else value for field, value in query.items()}
    expected = [key(profile) for profile in lab.every() if is_wanted(profile, lab)]
    assert [key(profile) for profile in lab.every(**asked)] == expected
    shown = text_of(lab.reviewer, PAGES, **{field: str(value) for field, value in asked.items()})
    assert ROW.findall(shown) == expected


def test_every_order_shows_each_profile_once(lab: Lab) -> None:
    orders: dict[str, Callable[[Json], Any]] = {
        "presses": lambda p: p["performance"] + p["power"],
        "latest": lambda p: p["last_us"] or 0,
        "highest": lambda p: p["khz"][9],
    }
    every = lab.every()
    assert [key(p) for p in every] == sorted(map(key, every))
    for sort, order in orders.items():
        by = [(order(p), p["participant"], p["application"]) for p in lab.every(sort=sort)]
        assert by == sorted(((order(p), p["participant"], p["application"]) for p in every), reverse=True), sort


def test_a_mistake_in_what_is_looked_for_is_said_at_its_field(lab: Lab) -> None:
    answer = lab.reviewer.get(PAGES, query_string={"above_mhz": '"fast"', "level": "12", "keys": "both"})
    assert answer.status_code == 422
    assert 'value="&#34;fast&#34;"' in answer.text
    assert '<option value="both" selected>' in answer.text
    assert 'id="above_mhz-error">Must be a whole number of MHz' in answer.text
    assert "Must be a level from 0 to 9." in answer.text
    assert [lab.reviewer.get(API, query_string=wrong).status_code for wrong in ({"keys": "x"}, {"sort": ""})] == [
        422,
        422,
    ]


def test_of_many_profiles_the_first_are_listed_and_all_are_counted(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("happe_study.web.staff.profiles.found", functools.partial(found, limit=2))
    shown = text_of(lab.reviewer, PAGES)
    assert "These are the first 2" in shown
    assert len(ROW.findall(shown)) == 2
    answer = lab.reviewer.get(API, query_string={"limit": 2}).get_json()
    assert (len(answer["profiles"]), answer["count"]) == (2, 6)


def test_a_profile_is_shown_after_any_of_its_lessons(lab: Lab) -> None:
    profile = max(lab.every(), key=lambda p: p["power"])
    lessons = [lesson for run in lab.told(profile)["taught_runs"] for lesson in run["lessons"]]
    page = f"{PAGES}/{key(profile)}"
    for after, said in (
        ("0", "After lesson 0"),
        ("2", "After lesson 2"),
        ("999999", "At the end"),
        ("x", "At the end"),
    ):
        assert f'<h2 id="state-title">{said}' in text_of(lab.reviewer, page, after=after)
    second = text_of(lab.reviewer, page, after="2")
    drawn = " ".join(f"{khz / 1e6:g}" if khz % 1_000_000 else f"{khz // 1_000_000}.0" for khz in lessons[1]["khz"])
    assert f"after lesson 2: {drawn} GHz" in second
    assert len(re.findall(r'<th scope="row" class="number"><a href=', second)) == len(lessons)
    assert text_of(lab.reviewer, f"{PAGES}/{lab.codes[2]}/torcs").count("Nobody taught it anything") == 1
    analyst = lab.world.client(lab.world.account(Role.ANALYST))
    assert ["<textarea" in text_of(client, page) for client in (lab.reviewer, analyst)] == [True, False]


def test_a_lesson_leads_to_its_seconds_in_the_run_and_a_press_back_to_its_lesson(lab: Lab) -> None:
    analyst = lab.world.client(lab.world.account(Role.ANALYST))
    profile = max(lab.every(), key=lambda p: p["power"])
    page = f"{PAGES}/{key(profile)}"
    shown = text_of(analyst, page)
    lessons = [(run["run"], lesson) for run in lab.told(profile)["taught_runs"] for lesson in run["lessons"]]
    addresses = re.findall(r'<td class="number"><a href="(/studies/small/runs/[^"]*)"', shown)
    assert len(addresses) == len(lessons)
    runs = [code for code, _lesson in lessons]
    other = next(number for number, code in enumerate(runs) if code != runs[0])  # the first lesson of the second run
    code, lesson = lessons[other]
    begin, end = (float(each) for each in re.findall(r"=([0-9.]+)", addresses[other]))
    assert begin <= lesson["since_us"] / 1e6 <= end
    assert end - begin <= 20
    seconds = text_of(analyst, addresses[other])
    back = f"{page}?run={code}&after=1"
    assert f'<a href="{back}#state">' in seconds
    assert f'<h2 id="state-title">After lesson {other + 1} of' in text_of(analyst, back)
    assert f'<dt>Profile</dt><dd><a href="{page}">' in seconds
    assert f'href="/studies/small/participants/{profile["participant"]}"' in shown
    own = text_of(lab.reviewer, page)
    assert addresses == re.findall(r'<td class="number"><a href="(/studies/small/runs/[^"]*)"', own)


def test_another_profile_is_drawn_beside_one(lab: Lab) -> None:
    one, other = lab.every(application="torcs")[:2]
    page = text_of(lab.reviewer, f"{PAGES}/{key(one)}", other=key(other).lower())
    table = page.partition('aria-label="Frequency by level"')[2].partition("</table>")[0]
    assert f"{key(other)}, GHz" in table
    assert [row[1] for row in _cells(table)] == [drawing.ghz(khz) for khz in other["khz"]]
    for text in ("x", "00000000/torcs", f"{lab.codes[0]}/chess", f"{lab.codes[0]}/\0"):
        answer = lab.reviewer.get(f"{PAGES}/{key(one)}", query_string={"other": text})
        assert (answer.status_code, 'id="other-error"' in answer.text) == (422, True), text


OF_PROFILE = (
    "participant", "application", "runs", "performance", "power", "hit_top", "hit_bottom", "changed", "agrees",
    "flagged", "notes",
)  # fmt: skip
OF_LESSON = ("since_us", "key", "policy", "level", "util_ppm", "cur_khz", "from_khz", "to_khz")


def texts(*names: str, of: Json) -> dict[str, str]:
    """The cells of these fields in a CSV file."""
    return {name: str(of[name]).lower() if isinstance(of[name], bool) else str(of[name]) for name in names}


def levels(profile: Json) -> dict[str, str]:
    """The cells of a profile's levels."""
    return {f"khz_{level}": str(khz) for level, khz in enumerate(profile["khz"])}


def test_a_download_is_the_document_or_a_table_of_what_is_looked_for(lab: Lab) -> None:
    wanted = lab.every(application="torcs")
    document = lab.reviewer.post(f"{API}/file?format=json&application=torcs").data
    jsonschema_rs.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(json.loads(document))
    assert json.loads(document) == {
        "format": "happe-profile/1",
        "f_max_khz": 2_300_000,
        "profiles": [{"user": f"subject:{p['participant']}", "app": "torcs", "khz": p["khz"]} for p in wanted],
    }
    assert json.loads(lab.reviewer.post(f"{API}/file?format=json&q=nobody").data)["profiles"] == []
    answer = lab.reviewer.post(f"{PAGES}/download", data={"format": "csv", "application": "torcs"})
    assert answer.headers["Content-Disposition"] == 'attachment; filename="small-uafps.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    others = [{"f_max_khz": "2300000", "last_us": str(p["last_us"] or 0)} for p in wanted]
    assert rows == [texts(*OF_PROFILE, of=p) | levels(p) | more for p, more in zip(wanted, others, strict=True)]
    assert lab.reviewer.post(f"{PAGES}/download", data={"format": "xls"}).status_code == 422
    one = max(lab.every(), key=lambda p: p["power"])
    code, application = key(one).split("/")
    answer = lab.reviewer.post(
        f"{PAGES}/download", data={"format": "json", "participant": code, "application": application}
    )
    assert f'filename="small-{code}-{application}-uafps.json"' in answer.headers["Content-Disposition"]
    lessons = csv.DictReader(io.StringIO(lab.reviewer.post(f"{PAGES}/{key(one)}/lessons").text))
    assert list(lessons) == [
        {
            "lesson": str(lesson["number"]),
            **texts("run", "condition", of=run),
            **texts(*OF_LESSON, of=lesson),
            **levels(lesson),
        }
        for run in lab.told(one)["taught_runs"]
        for lesson in run["lessons"]
    ]


def test_a_document_is_not_made_of_two_machines(world: World) -> None:
    given_profiles.taught(world, players=2, runs=1)
    with world.database.writing() as session:
        last = session.scalar(select(func.max(Profile.id)))
        session.execute(update(Profile).where(Profile.id == last).values(f_max_khz=2_000_000))
    reviewer = world.client(world.account(Role.REVIEWER))
    assert reviewer.post(f"{API}/file?format=json").status_code == 409
    assert len(reviewer.post(f"{API}/file?format=csv").text.splitlines()) == 3


def test_a_changed_lesson_or_profile_is_named(world: World) -> None:
    row, _silent = given_profiles.taught(world, players=2, runs=1)
    reviewer = world.client(world.account(Role.REVIEWER))
    run = people.runs_of(world, row)[0]
    page = f"{PAGES}/{row.code}/{run.application}"
    assert "The records and lessons disagree" not in text_of(reviewer, page)
    with world.database.writing() as session:
        taught = session.get_one(TaughtRun, run.id)
        taught.lessons = [*taught.lessons[:-1], taught.lessons[-1] | {"from_khz": 2_299_999}]
    said = text_of(reviewer, page)
    assert "The records and lessons disagree" in said
    assert f">{run.code}</a>: lesson {len(taught.lessons)} changed another profile than the run had" in said


def test_two_reviewers_judge_each_alone_and_their_agreement_is_told(world: World) -> None:
    given_profiles.taught(world, players=2)
    one, other = (browser(world, Role.REVIEWER, email=f"{name}@example.org") for name in ("one", "other"))
    every = [key(each) for each in world.client(world.account(Role.REVIEWER)).get(API).get_json()["profiles"]]
    assert len(every) == 4
    for number, path in enumerate(every):
        said = {"do": "flag", "reason": "too few"} if number < 2 else {"do": "pass"}
        assert post(one, f"{PAGES}/{path}", **said).status_code == 303
    assert post(one, f"{PAGES}/{every[3]}", do="pass").status_code == 409
    assert ROW.findall(text_of(one, PAGES, marked="unreviewed")) == []
    listed = f"{PAGES}/{every[0]}?marked=unreviewed"
    answer = post(other, listed, do="flag", reason="I think so too")
    assert answer.headers["Location"] == f"{PAGES}/{every[1]}?marked=unreviewed", "the next one that is not reviewed"
    assert len(ROW.findall(text_of(other, PAGES, marked="unreviewed"))) == 3
    for path in every[1:]:
        assert post(other, f"{PAGES}/{path}", do="pass").status_code == 303
    told = re.sub(r"<[^>]*>", " ", text_of(one, f"{PAGES}/reviews"))
    assert "4 of 4 profiles have a verdict" in told
    # Both flag one of four profiles and pass two: 3/4 observed; 1/2 * 1/4 + 1/2 * 3/4 = 1/2 by chance; kappa 1/2.
    assert re.search(r"one@example\.org, other@example\.org\s+4\s+75\s+0\.50", told)
    with world.database.reading() as session:
        assert list(session.scalars(select(Profile.flagged))).count(True) == 2
        assert "passed" in " ".join(session.scalars(select(AuditEntry.action)))


def test_what_a_list_shows_is_assigned_to_a_reviewer_and_is_their_queue(world: World) -> None:
    given_profiles.taught(world, players=3)
    names = ["one@example.org", "other@example.org"]
    reviewers = [browser(world, Role.REVIEWER, email=name) for name in names]
    leader = browser(world, Role.INVESTIGATOR, email="leader@example.org")
    address = f"{PAGES}/assignments"

    def queue(client: FlaskClient) -> list[str]:
        return ROW.findall(text_of(client, PAGES, marked="assigned", sort="unusual"))

    assert [queue(each) for each in reviewers] == [[], []]
    for wrong in ({"do": "assign"}, {"do": "assign", "reviewer": "nobody@example.org"}, {"reviewer": names[0]}):
        answer = post(leader, address, **wrong)
        assert (answer.status_code, 'href="#reviewer"' in answer.text) == (422, True), wrong
    for name in (names[0], names[0]):
        assert post(leader, f"{address}?application=torcs", do="assign", reviewer=name).status_code == 303
    assert post(leader, address, do="assign", reviewer=names[1]).status_code == 303
    assert [len(queue(each)) for each in reviewers] == [3, 6]
    assert {each.partition("/")[2] for each in queue(reviewers[0])} == {"torcs"}
    narrowed = text_of(leader, PAGES, application="torcs", level="5", above_mhz="0")  # JSON within the database
    assert (len(ROW.findall(narrowed)), "Percentage of profiles" in narrowed) == (3, True)
    mine = queue(reviewers[1])
    assert post(reviewers[1], f"{PAGES}/{mine[0]}", do="pass").status_code == 303
    assert queue(reviewers[1]) == mine[1:]
    told = re.sub(r"<[^>]*>", " ", text_of(leader, f"{PAGES}/reviews"))
    assert re.search(r"other@example\.org\s+1\s+0\s+6\s+5\s", told)
    assert post(leader, address, do="clear").status_code == 303
    assert [queue(each) for each in reviewers] == [[], []]


def test_the_most_unusual_profile_is_first_and_is_told_its_place(lab: Lab) -> None:
    those = [each for each in lab.every(sort="unusual") if each["application"] == "torcs"]
    levels = [each["khz"] for each in those]
    middle = [sorted(column)[(len(levels) - 1) // 2] for column in zip(*levels, strict=True)]
    far = [sum(abs(one - mid) for one, mid in zip(each, middle, strict=True)) for each in levels]
    assert far == sorted(far, reverse=True)
    assert far[0] > far[-1]
    page = text_of(lab.reviewer, f"{PAGES}/{key(those[0])}")
    assert f"number 1 of {len(those)} from the most unusual" in page
    assert f"median of {len(those)} profiles" in page


def test_a_profile_tells_how_its_runs_went_beside_everybodys_to_those_who_may_know(world: World) -> None:
    # Given ratings of 2 to 4, 40 to 42 W under ondemand and 30 to 32 W else. The third has no power under ondemand
    rows = given_profiles.taught(world, players=3)
    analyst = world.client(world.account(Role.ANALYST))
    everybody = {run.code: (number, run) for number, row in enumerate(rows) for run in people.runs_of(world, row)}
    those = {code: (number, run) for code, (number, run) in everybody.items() if run.application == "torcs"}
    watts = {code: (40 if run.condition == "ondemand" else 30) + number for code, (number, run) in those.items()}
    watts = {code: found for code, found in watts.items() if found != 42}
    with world.database.writing() as session:
        for number, run in everybody.values():
            session.execute(update(Run).where(Run.id == run.id).values(rating=2 + number))
        study = session.scalars(select(Study)).one()
        document = json.loads(given_reports.measures(world))
        known = [each | {"mean_w": watts[each["run"]]} for each in document["measures"] if each["run"] in watts]
        taken = json.dumps(document | {"measures": known}).encode()
        documents.keep(session, study, DocumentKind.MEASURES, taken, Caller(id=session.scalar(select(Account.id)) or 0))
    # Then the second one's page has their places among all
    told = text_of(analyst, f"{PAGES}/{rows[1].code}/torcs")
    ratings, power = (
        {row[0]: row[1:] for row in _cells(told.partition(f'aria-label="{name}"')[2].partition("</table>")[0])}
        for name in ("Ratings", "Power")
    )
    mine = {run.condition or "": code for code, (number, run) in those.items() if number == 1}
    assert ratings == {condition: [code, "3", "3", "2 of 3"] for condition, code in mine.items()}
    shown = {condition: ["31.00", "31.00", "2 of 3", "24.4", "24.7", "2 of 2"] for condition in mine}
    assert power == shown | {"ondemand": ["41.00", "40.50", "1 of 2", *["\N{EN DASH}"] * 3]}
    back = f'<a href="{PAGES}/{rows[1].code}/torcs#outcomes">3<'
    for code in mine.values():
        assert back in text_of(analyst, f"/studies/small/runs/{code}"), "also of a run that taught nothing"
    reviewer = text_of(world.client(world.account(Role.REVIEWER)), f"{PAGES}/{rows[1].code}/torcs")
    assert ("does not show ratings" in reviewer, "Median watts" in reviewer) == (True, False)


def _cells(table: str) -> list[list[str]]:
    """The texts of a table's rows, without its header."""
    rows = re.findall(r"<tr>(.*?)</tr>", table.partition("<tbody>")[2], re.DOTALL)
    return [
        [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)]
        for row in rows
    ]


def test_a_profile_is_noted_flagged_and_the_log_says_who_not_what(world: World) -> None:
    row, _silent = given_profiles.taught(world, players=2, runs=1)
    client = browser(world, Role.REVIEWER)
    application = people.runs_of(world, row)[0].application
    page = f"{PAGES}/{row.code}/{application}"
    assert post(client, page, do="note", note="Two <b>lines</b>,\r\nand ends.").headers["Location"] == page
    assert "Two &lt;b&gt;lines&lt;/b&gt;,\nand ends." in client.get(page).text
    assert post(client, page, do="flag", reason="ends too early").headers["Location"] == page
    twice = post(client, page, do="flag", reason="ends too early")
    assert (twice.status_code, "You flagged this profile already." in twice.text) == (409, True)
    for form in (
        {"do": "note", "note": " "},
        {"do": "note", "note": "\x07"},
        {"do": "flag", "reason": ""},
        {"do": "x"},
    ):
        assert post(client, page, **form).status_code == 422
    assert f"{row.code}/{application}" in client.get(f"{PAGES}?marked=flagged").text
    assert client.get(f"{PAGES}?marked=flagged").text.count("1 note") == 1
    assert post(client, page, do="unflag", reason="it does not").status_code == 303
    with world.database.reading() as session:
        details = [row for row in session.scalars(select(AuditDetail.detail)) if "application" in row]
    mine = [each for each in details if each["by"] == "staff:ada@example.org"]
    assert mine == [{"by": "staff:ada@example.org", "participant": row.code, "application": application}] * 3


@pytest.mark.parametrize(("choice", "left"), [("erase", 0), ("deidentify", 1)])
def test_what_was_written_goes_with_a_participant_who_withdraws(world: World, choice: str, left: int) -> None:
    row, other = given_profiles.taught(world, players=2, runs=1)
    token = world.account(Role.REVIEWER)
    for code, application in ((each.code, people.runs_of(world, each)[0].application) for each in (row, other)):
        for review in ({"kind": "note", "text": "Ada was here."}, {"kind": "flag", "text": "Ada again."}):
            answer = world.client(token).post(f"{API}/{code}/{application}/reviews", json=review)
            assert answer.status_code == 201, answer.text
    with world.database.writing() as session:
        person = session.get_one(Participant, row.id)
        person.on_withdrawal = choice
        session.flush()
        withdrawal.withdraw(session, person, fixed_secrets(), None)
    with world.database.reading() as session:
        assert len(session.scalars(select(ProfileReview)).all()) == 2
        mine = session.scalars(select(Profile).where(Profile.participant_id == row.id)).all()
        assert [(each.notes, each.flagged) for each in mine] == [(0, True)] * left
        taught = select(func.count()).select_from(TaughtRun).join(Run, Run.id == TaughtRun.run_id)
        assert session.scalar(taught.where(Run.participant_id == row.id)) == left
    with world.database.reading() as session:
        assert verify_log(session).faults == []


def test_records_that_are_not_in_are_named_and_taken_in_once(world: World) -> None:
    row, _silent = given_profiles.taught(world, players=2, runs=1)
    client = browser(world, Role.REVIEWER)
    code = people.runs_of(world, row)[0].code
    before = text_of(client, PAGES)
    assert "missing here" not in before
    with world.database.writing() as session:
        rows = [session.scalar(select(func.count()).select_from(each)) for each in (TaughtRun, Profile)]
        session.execute(update(RunRecord).values(taken_out=False))
        session.execute(delete(TaughtRun))
        session.execute(update(Profile).values(flagged=True))
    assert f'<span class="code">{code}</span>' in text_of(client, PAGES)
    assert post(client, f"{PAGES}/take-in", page=PAGES).headers["Location"] == PAGES
    after = text_of(client, PAGES)
    assert "The server has read 2 records." in after
    assert after.count("flagged</span>") == 2
    with world.database.reading() as session:
        assert rows == [session.scalar(select(func.count()).select_from(each)) for each in (TaughtRun, Profile)]
        assert set(session.scalars(select(RunRecord.taken_out))) == {True}
        [opened] = session.scalars(
            select(AuditDetail.detail)
            .join(AuditEntry, AuditEntry.number == AuditDetail.number)
            .where(AuditEntry.action == "records.opened")
        )
        assert opened["records"] == 2
