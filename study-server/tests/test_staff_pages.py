# SPDX-License-Identifier: GPL-2.0-or-later
"""Staff's pages: each form does the same as the API, and shows each error beside its field."""

import io
import re
from http import HTTPStatus

from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.test import TestResponse

import given_devices
import given_participants as people
import given_studies
from given_accounts import browser, post
from happe_study.model.audit.models import AuditDetail, AuditEntry
from happe_study.model.participants import ParticipantState
from happe_study.model.rights import Role
from happe_study.model.studies import Study, StudyState
from happe_study.study.runs.machine import State
from happe_study.study.sealing import open_condition
from happe_study.web.staff_page import ago, counted, duration, grouped, lead, when
from world import World, fixed_secrets

REASON = "because a test needs it"
LINK = re.compile(r"http://127\.0\.0\.1:8080(/p/[A-Za-z0-9_-]{43})")


def state(world: World, name: str) -> str:
    """A study's state."""
    with world.database.reading() as session:
        return str(session.scalars(select(Study.state).where(Study.name == name)).one())


def post_hidden(client: FlaskClient, path: str, **form: str) -> TestResponse:
    """Fill in a page's only form, which has hidden fields."""
    return client.post(path, data=people.hidden(client.get(path).text) | form)


def test_a_study_is_made_of_a_pasted_protocol_changed_and_locked(world: World) -> None:
    client = browser(world, Role.INVESTIGATOR)
    assert "There is no study yet" in client.get("/studies").text
    made = post(client, "/new-study", protocol=given_studies.small().replace("\n", "\r\n"))
    assert made.headers["Location"] == "/studies/small"
    changed = given_studies.small().replace("A small study", "A <b>changed</b> study")
    assert post_hidden(client, "/studies/small/protocol/change", protocol=changed).status_code == HTTPStatus.SEE_OTHER
    assert "A &lt;b&gt;changed&lt;/b&gt; study" in client.get("/studies/small").text
    unsure = post_hidden(client, "/studies/small/lock")
    assert (unsure.status_code, state(world, "small")) == (HTTPStatus.UNPROCESSABLE_ENTITY, StudyState.DRAFT)
    assert 'id="sure-error"' in unsure.text
    early = post_hidden(client, "/studies/small/lock", sure="yes")
    assert (early.status_code, "user grant EMAIL custodian --study small" in early.text) == (HTTPStatus.CONFLICT, True)
    given_studies.hold_roles(world, "small")
    assert post_hidden(client, "/studies/small/lock", sure="yes").headers["Location"] == "/studies/small"
    assert state(world, "small") == StudyState.LOCKED
    assert re.search(r"Commitment</button>.*</dt><dd><code>[0-9a-f]{64}</code>", client.get("/studies/small").text)
    late = post_hidden(client, "/studies/small/protocol/change", protocol=changed)
    assert (late.status_code, "its protocol and allocation can" in late.text) == (HTTPStatus.CONFLICT, True)


def test_a_form_about_a_protocol_does_nothing_with_one_that_came_later(world: World) -> None:
    # given two pages about a draft that gets another protocol
    client = browser(world, Role.INVESTIGATOR)
    given_studies.study(world, protocol=given_studies.small(), locked=False)
    given_studies.hold_roles(world, "small")
    lock, change = "/studies/small/lock", "/studies/small/protocol/change"
    read = {path: people.hidden(client.get(path).text) for path in (lock, change)}
    first, second = (given_studies.small().replace("A small study", title) for title in ("First", "Second"))
    given_studies.study(world, protocol=first, locked=False)
    # when
    locked = client.post(lock, data=read[lock] | {"sure": "yes"})
    changed = client.post(change, data=read[change] | {"protocol": second})
    wrong = client.post(change, data=read[change] | {"protocol": "name = 1"})
    # then
    assert (locked.status_code, state(world, "small")) == (HTTPStatus.CONFLICT, StudyState.DRAFT)
    assert (changed.status_code, "Second" in changed.text) == (HTTPStatus.CONFLICT, True)
    assert people.hidden(wrong.text)["protocol_sha256"] == read[change]["protocol_sha256"]
    assert "First" in client.get("/studies/small").text
    # when they answer pages that know it
    assert client.post(change, data=people.hidden(changed.text) | {"protocol": second}).status_code == 303
    assert post_hidden(client, lock, sure="yes").status_code == 303


def test_a_study_is_made_of_a_file(world: World) -> None:
    client = browser(world, Role.INVESTIGATOR)
    token = re.search(r'name="csrf_token" value="([^"]+)"', client.get("/new-study").text)
    assert token
    for content, status in ((given_studies.small("by-file").encode(), 303), (b"\xff\xfe", 400), (b"name = 1", 422)):
        form = {"csrf_token": token[1], "protocol": "not this", "file": (io.BytesIO(content), "study.toml")}
        assert client.post("/new-study", data=form).status_code == status
    assert state(world, "by-file") == StudyState.DRAFT


def test_mistakes_in_a_protocol_are_beside_their_lines(world: World) -> None:
    client = browser(world, Role.INVESTIGATOR)
    wrong = given_studies.small().replace("seconds = 120", 'seconds = "<long>"')
    answer = post(client, "/new-study", protocol=wrong)
    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    number = wrong[: wrong.index("seconds")].count("\n") + 1
    line = re.search(rf'<tr class="wrong" id="line-{number}">.*?</tr>', answer.text, re.DOTALL)
    assert line
    assert "seconds = &#34;&lt;long&gt;&#34;" in line[0]
    assert "must be a whole number" in line[0]
    assert f'<a href="#line-{number}">' in answer.text
    assert len(post(client, "/new-study", protocol="\n" * 200_000).data) < 1 << 20


def test_a_new_study_takes_no_name_that_is_taken(world: World) -> None:
    client = browser(world, Role.INVESTIGATOR)
    given_studies.study(world, protocol=given_studies.small("draft"), locked=False)
    given_studies.study(world, protocol=given_studies.small("locked"))
    for name in ("draft", "locked"):
        changed = given_studies.small(name).replace("A small study", "Another")
        assert post(client, "/new-study", protocol=changed).status_code == HTTPStatus.CONFLICT
        assert "Another" not in client.get(f"/studies/{name}").text
    other = post_hidden(client, "/studies/draft/protocol/change", protocol=given_studies.small("locked-not"))
    assert other.status_code == HTTPStatus.CONFLICT


def test_examples_of_protocols_can_be_used_as_they_are(world: World) -> None:
    client = browser(world, Role.INVESTIGATOR)
    names = re.findall(r"/new-study\?example=([a-z0-9-]+)", client.get("/new-study").text)
    assert len(names) >= 3
    for name in names:
        page = client.get(f"/new-study?example={name}").text
        assert f"name = &#34;{name}&#34;" in page
    assert "<textarea" in client.get("/new-study?example=../../app").text


def test_links_are_shown_once_and_work(world: World) -> None:
    client = browser(world, Role.EXPERIMENTER)
    given_studies.study(world, protocol=given_studies.small())
    invited = post(client, "/studies/small/invite", count="3")
    links = LINK.findall(invited.text)
    assert len(set(links)) == 3
    assert all(world.client().get(link).status_code == HTTPStatus.OK for link in links)
    assert not LINK.findall(client.get("/studies/small/participants").text)
    for count in ("0", "201", "-1", "x", "", "\N{ARABIC-INDIC DIGIT THREE}"):
        assert post(client, "/studies/small/invite", count=count).status_code == HTTPStatus.UNPROCESSABLE_ENTITY


def test_participants_are_filtered_by_state_and_paged(world: World) -> None:
    client = browser(world, Role.EXPERIMENTER)
    given_studies.study(world, protocol=given_studies.small())
    for count in ("200", "60"):
        post(client, "/studies/small/invite", count=count)
    codes = re.compile(r"/studies/small/participants/([0-9A-Z]{8})\"")
    first = client.get("/studies/small/participants?state=invited").text
    following = re.search(r'href="(/studies/small/participants\?cursor=[^"]+)"', first)
    assert following
    second = client.get(following[1].replace("&amp;", "&")).text
    assert len(set(codes.findall(first + second))) == 260
    assert "No participant is in this state" in client.get("/studies/small/participants?state=done").text
    assert len(codes.findall(client.get("/studies/small/participants?state=none-such").text)) == 200
    assert client.get("/studies/small/participants?cursor=x").status_code == HTTPStatus.UNPROCESSABLE_ENTITY


def test_a_run_is_aborted_with_a_reason_and_planned_anew(world: World) -> None:
    client = browser(world, Role.EXPERIMENTER)
    study = given_studies.study(world, protocol=given_studies.small())
    row, _link = people.participant(world, study)
    run = people.runs_of(world, row)[0]
    people.started(world, run.code, people.laptop_with(world, study, row))
    page = f"/studies/small/runs/{run.code}"
    assert post(client, f"{page}/abort", reason=" ").status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert post(client, f"{page}/repeat").status_code == HTTPStatus.CONFLICT
    there = f"/studies/small/participants/{row.code}"
    assert post(client, f"{page}/abort", reason="<i>fell</i>").headers["Location"] == there
    assert "&lt;i&gt;fell&lt;/i&gt;" in client.get(there).text
    assert post(client, f"{page}/repeat").headers["Location"] == there
    assert [(each.attempt, each.state) for each in people.runs_of(world, row)[:2]] == [
        (1, State.REPLACED),
        (2, State.PLANNED),
    ]


def test_a_participant_is_replaced_and_another_one_withdrawn(world: World) -> None:
    client = browser(world, Role.EXPERIMENTER)
    study = given_studies.study(world, protocol=given_studies.small())
    row, link = people.participant(world, study)
    there = f"/studies/small/participants/{row.code}"
    assert post(client, f"{there}/replace", reason="").status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert post(client, f"{there}/replace", reason="ill").status_code == HTTPStatus.SEE_OTHER
    assert people.now(world, row).state == ParticipantState.REPLACED
    assert client.get(f"{there}/withdraw").status_code == HTTPStatus.CONFLICT
    assert world.client(link).get("/p/run").status_code == HTTPStatus.UNAUTHORIZED
    other, _link = people.participant(world, study)
    there = f"/studies/small/participants/{other.code}"
    assert post(client, f"{there}/withdraw", confirm=row.code).status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert people.now(world, other).state == ParticipantState.ENROLLED
    assert post(client, f"{there}/withdraw", confirm=other.code).status_code == HTTPStatus.SEE_OTHER
    assert people.now(world, other).state == ParticipantState.WITHDRAWN


def test_a_device_s_code_is_shown_once_and_enrols_it(world: World) -> None:
    client = browser(world, Role.ADMINISTRATOR)
    study = given_studies.study(world, protocol=given_studies.small())
    shown = post(client, "/studies/small/new-device", name="the meter", kind="meter")
    (code,) = re.findall(r'id="code" value="([^"]+)"', shown.text)
    assert code not in client.get("/studies/small/devices").text
    enrolled = world.client().post("/api/v1/devices/enrol", json={"code": code}).get_json()
    page = f"/studies/small/devices/{enrolled['device']}"
    assert post(client, "/studies/small/new-device", name="the meter", kind="meter").status_code == HTTPStatus.CONFLICT
    assert (
        post(client, "/studies/small/new-device", name="x", kind="oven").status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    )
    device = world.client(enrolled["token"])
    assert device.get("/api/v1/clock").status_code == HTTPStatus.OK
    (again,) = re.findall(r'id="code" value="([^"]+)"', post(client, f"{page}/renew").text)
    assert again != code
    assert device.get("/api/v1/clock").status_code == HTTPStatus.UNAUTHORIZED
    other = given_devices.device(world, study)
    revoked = post(client, f"/studies/small/devices/{other.device.code}/revoke")
    assert revoked.headers["Location"] == "/studies/small/devices"
    assert world.client(other.token).get("/api/v1/clock").status_code == HTTPStatus.UNAUTHORIZED


def test_a_custodian_unblinds_a_study_and_everybody_sees_it(world: World) -> None:
    study = given_studies.study(world, protocol=given_studies.small())
    row, _link = people.participant(world, study)
    analyst = browser(world, Role.ANALYST, email="analyst@example.org")
    labels = {open_condition(fixed_secrets().allocation, run.code, run.condition_sealed).label
              for run in people.runs_of(world, row)}  # fmt: skip
    there = f"/studies/small/participants/{row.code}"
    assert not any(label in analyst.get(there).text for label in labels)
    custodian = browser(world, Role.CUSTODIAN)
    address, lacks = "/studies/small/unblinding/study", "3 of 4 places are free."
    wrong = post(custodian, address, reason="short", override="x", confirmation="small ")
    assert re.findall(r'id="([a-z]+)-error"', wrong.text) == ["reason", "override", "confirmation"]
    refused = post(custodian, address, reason=REASON, confirmation="small")
    assert (refused.status_code, refused.text.count(lacks)) == (HTTPStatus.CONFLICT, 2)
    assert state(world, "small") == StudyState.LOCKED
    assert lacks in analyst.get("/studies/small/unblinding").text
    answer = post(custodian, address, reason=REASON, override="Nobody else came.", confirmation="small")
    assert "Everything matches the seal" in answer.text
    after = analyst.get("/studies/small/unblinding").text
    assert lacks in after
    assert "Nobody else came." in after
    assert all(f"<td>{label}</td>" in analyst.get(there).text for label in labels)
    assert post(custodian, "/sign-out", page="/me").status_code == HTTPStatus.FOUND
    with world.database.reading() as session:
        entry, detail = session.execute(
            select(AuditEntry.action, AuditDetail.detail).join(AuditDetail, AuditDetail.number == AuditEntry.number)
            .order_by(AuditEntry.number.desc()).limit(1)
        ).one()  # fmt: skip
    assert (entry, detail["by"], detail["reason"]) == ("study.unblinded", "staff:ada@example.org", REASON)


def test_one_run_s_condition_is_told_the_custodian_alone_and_once(world: World) -> None:
    study = given_studies.study(world, protocol=given_studies.small())
    row, _link = people.participant(world, study)
    run = people.runs_of(world, row)[1]
    label = open_condition(fixed_secrets().allocation, run.code, run.condition_sealed).label
    client = browser(world, Role.CUSTODIAN)
    page = "/studies/small/unblinding/run"
    for wrong in ({"run": "NONESUCH", "confirmation": "NONESUCH"}, {"run": run.code, "confirmation": "x"}):
        assert post(client, page, reason=REASON, **wrong).status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    beforehand = client.get(f"{page}?run={run.code.lower()}").text
    runs = people.runs_of(world, row)
    others = sorted(each.code for each in runs if each.application == run.application and each.phase == "main")
    others.remove(run.code)
    assert len(others) == 3
    assert f"you also learn those of {', '.join(others)}, because" in beforehand
    training = next(each.code for each in runs if each.phase == "training")
    assert "reveals no other run" in client.get(f"{page}?run={training}").text
    assert "The study has no run with this code." in client.get(f"{page}?run=NONESUCH").text
    told = post(client, page, page=f"{page}?run={run.code}", reason=REASON, run=run.code.lower(), confirmation=run.code)
    assert f"<dd>{label}</dd>" in told.text
    assert people.runs_of(world, row)[1].condition is None
    with world.database.reading() as session:
        details = session.scalars(select(AuditDetail.detail)).all()
        assert label not in str(details)
        assert [each["reveals"] for each in details if "reveals" in each] == [others]
    assert label not in client.get("/studies/small/unblinding").text


def test_an_auditor_reads_the_log_of_the_studies_that_they_audit(world: World) -> None:
    mine = given_studies.study(world, protocol=given_studies.small("mine"))
    given_studies.study(world, protocol=given_studies.small("theirs"))
    client = browser(world, Role.AUDITOR, study_id=mine.id)
    page = client.get("/audit").text
    assert page.count("study.locked") == 2
    assert "of a study that you don\N{RIGHT SINGLE QUOTATION MARK}t audit" in page
    assert "theirs" not in page
    assert "<dd>mine</dd>" in page


def test_the_log_is_searched_by_who_what_when_and_object_among_what_an_auditor_may_see(world: World) -> None:
    mine = given_studies.study(world, protocol=given_studies.small("mine"))
    given_studies.study(world, protocol=given_studies.small("theirs"))
    row, _link = people.participant(world, mine, enrolled=False)
    client = browser(world, Role.AUDITOR, study_id=mine.id)

    def found(**asked: str) -> list[str]:
        return re.findall(r"<td>([a-z]+\.[a-z_-]+)</td>", client.get("/audit", query_string=asked).text)

    assert set(found(what="participant.")) == {"participant.invited"}
    assert found(about=row.code) == ["participant.invited"]
    assert found(about="theirs") == [], "a study that this auditor does not audit"
    assert len(found(what="study.locked")) == 2
    assert len(found(what="study.locked", who="server")) == 1, "who did it is a detail"
    assert found(about="100%") == found(about="m_ne") == found(who="nobody") == []
    for wrong in ({"since": "yesterday"}, {"until": "9999-12-31"}, {"who": "x" * 101}, {"what": "a\0b"}):
        answer = client.get("/audit", query_string=wrong)
        assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY, wrong
        assert f'id="{next(iter(wrong))}-error"' in answer.text


def test_the_log_is_paged_and_verified_against_a_head(world: World) -> None:
    study = given_studies.study(world, protocol=given_studies.small(participants=40))
    for _ in range(60):
        people.participant(world, study, enrolled=False)
    client = browser(world, Role.AUDITOR)
    number = re.compile(r'<th scope="row" class="number">(\d+)</th>')
    first = client.get("/audit").text
    older = re.search(r'href="(/audit\?before=\d+)"', first)
    assert older
    seen = [int(each) for each in number.findall(first) + number.findall(client.get(older[1]).text)]
    assert seen == list(range(63, 0, -1))
    assert client.get("/audit?before=x").status_code == HTTPStatus.OK
    verified = client.get("/audit/verify").text
    assert "The log is complete" in verified
    (head,) = re.findall(r"\d+:[0-9a-f]{64}", verified)
    assert "the head that you noted is one of them" in client.get("/audit/verify", query_string={"head": head}).text
    other = client.get("/audit/verify", query_string={"head": f"3:{'0' * 64}"}).text
    assert "The log is damaged" in other
    assert "it differs from the head that you noted" in other
    assert client.get("/audit/verify?head=x").status_code == HTTPStatus.UNPROCESSABLE_ENTITY


def test_times_and_numbers_are_written_one_way() -> None:
    assert when(None) == "\N{EN DASH}"
    assert when(1_795_258_611_529_370) == '<time datetime="2026-11-21T10:56:51Z">2026-11-21 10:56</time>'
    assert ago(None) == "never"
    assert 'datetime="2026-11-21T10:56:51Z" title="2026-11-21 10:56:51 UTC"' in ago(1_795_258_611_529_370)
    assert "less than a second ago" in ago(1 << 55)
    assert [duration(seconds * 1_000_000) for seconds in (0, 1, 59, 60, 3599, 7200, 86_400 * 1234)] == [
        "less than a second", "1 second", "59 seconds", "1 minute", "59 minutes", "2 hours", "1\u202f234 days",
    ]  # fmt: skip
    assert [lead(us) for us in (1_700_000, -400, 3 * 3_600_000_000)] == [
        "1.7 s ahead",
        "0.4 ms behind",
        "3 hours ahead",
    ]
    assert (grouped(1234567), counted(1, "run"), counted(0, "entry", "entries")) == (
        "1\u202f234\u202f567", "1 run", "0 entries",
    )  # fmt: skip
