# SPDX-License-Identifier: GPL-2.0-or-later
"""Staff's pages about studies: create a study from a protocol, change the protocol, lock the study, see its roles."""

import re
from typing import Any

from flask import Blueprint, Response, request, url_for
from sqlalchemy import or_, select
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response as AnyResponse

from happe_study.base.parts import parts
from happe_study.base.problems import Problem, bad_request, conflict
from happe_study.base.uploads import takes
from happe_study.model.accounts import Account, Grant
from happe_study.model.rights import RIGHTS, Right, Role
from happe_study.model.rules import caller, staff
from happe_study.model.studies import Study
from happe_study.study.protocol import registration
from happe_study.study.protocol.reading import EXAMPLES, MOST_BYTES
from happe_study.study.studies import custodians, services
from happe_study.study.studies.custodians import Custodian
from happe_study.web.staff_page import done, or_again, page, require_tick

pages = Blueprint("study_pages", __name__)

MOST_LINES = 5000  # of a protocol that are shown with its mistakes: a row of a table each
MOST_FORM = 4 * MOST_BYTES  # a form has the text, whose lines it may lengthen by a byte each, or a file, or both
LINE = re.compile(r"line (\d{1,6})")
WORDS = {
    Right.STUDY_CREATE: "create it and change its protocol until it is locked",
    Right.STUDY_READ: "see its protocol, its state and its progress",
    Right.STUDY_LOCK: "lock it",
    Right.PARTICIPANT_MANAGE: "invite, replace and withdraw participants; exclude them or runs",
    Right.RUN_READ: "see participants and runs",
    Right.RUN_MANAGE: "abort and repeat runs",
    Right.DEVICE_READ: "see devices",
    Right.DEVICE_MANAGE: "enrol and revoke devices",
    Right.EXPORT: "see ratings and export data",
    Right.UNBLIND: "unblind it, or one run in an emergency",
    Right.AUDIT_READ: "read its audit log",
    Right.ACCOUNT_MANAGE: "make accounts and give roles",
    Right.PROFILE_READ: "see the learned profiles, after unblinding",
    Right.PROFILE_REVIEW: "write notes on profiles, and flag them",
    Right.PROFILE_ASSIGN: "assign profiles to reviewers",
    Right.RUN_VIEW: "open the page of a run; reviewers only after unblinding",
}


@pages.get("/new-study")
@staff(Right.STUDY_CREATE, everywhere=True)
def new_study_form(problem: Problem | None = None) -> Response:
    """The form for a new study's protocol, as text or as a file."""
    if problem is None and (name := request.args.get("example")):
        text = EXAMPLES[name].read_text(encoding="utf-8") if name in EXAMPLES else ""
    else:
        text = _sent()
    above = ((url_for("overview_pages.studies"), "Studies"),)
    return _protocol_form("A new study", None, text, problem, above)


@pages.post("/new-study")
@staff(Right.STUDY_CREATE, everywhere=True)
@takes(MOST_FORM)
@or_again(new_study_form)
def new_study() -> AnyResponse:
    """Create a study. A taken name is an error, so that nobody changes another draft by mistake."""
    with parts().database.writing() as session:
        made, new = services.put(session, _sent(), caller(), _file_name())
        if not new:
            raise conflict("name-taken", "A draft has this name already. Change its protocol, or choose another name.")
        return done("The study is a draft. Check it, then lock it.", "overview_pages.study", study=made.name)


@pages.get("/studies/<study>/protocol")
@staff(Right.STUDY_READ)
def protocol(study: str) -> Response:
    """The protocol's text as the investigator sent it."""
    with parts().database.reading() as session:
        found = services.find(session, study)
        digest = registration.digest(services.protocol_of(found))
        return page("protocol", "Protocol", study=found, registration_sha256=digest)


@pages.get("/studies/<study>/protocol/preregistration")
@staff(Right.STUDY_READ)
def preregistration(study: str) -> Response:
    """The preregistration for the protocol, as a Markdown file."""
    with parts().database.reading() as session:
        text = registration.registration(services.protocol_of(services.find(session, study)))
    answer = Response(text, mimetype="text/markdown")
    answer.headers.set("Content-Disposition", "attachment", filename=f"{study}-preregistration.md")
    return answer


@pages.get("/studies/<study>/protocol/change")
@staff(Right.STUDY_CREATE)
def change_form(study: str, problem: Problem | None = None) -> Response:
    """The form for changing a draft's protocol."""
    with parts().database.reading() as session:
        found = services.find(session, study)
        above = ((url_for("study_pages.protocol", study=study), "Protocol"),)
        text = found.protocol if problem is None else _sent()
        return _protocol_form("Change the protocol", found, text, problem, above)


@pages.post("/studies/<study>/protocol/change")
@staff(Right.STUDY_CREATE)
@takes(MOST_FORM)
@or_again(change_form)
def change(study: str) -> AnyResponse:
    """Replace the draft's protocol that the form's page was about by another with the same name."""
    read = request.form.get("protocol_sha256", "")
    with parts().database.writing() as session:
        changed, _new = services.put(session, _sent(), caller(), _file_name(), read=read)
        if changed.name != study:
            raise conflict("other-name", f"This is the study {study}: keep `name` in the protocol as it was.")
    return done("The protocol is changed.", "study_pages.protocol", study=study)


@pages.get("/studies/<study>/lock")
@staff(Right.STUDY_LOCK)
def lock_form(study: str, problem: Problem | None = None) -> Response:
    """The form that explains locking and asks for confirmation."""
    with parts().database.reading() as session:
        found = services.find(session, study)
        kept = services.protocol_of(found)
        those = _custodians(session, found)
        facts: dict[str, Any] = {"protocol": kept, "custodians": those, "custodians_sha256": custodians.digest(those)}
        facts["registration_sha256"] = registration.digest(kept)
        return page("lock", "Lock the study", study=found, problem=problem, **facts)


@pages.post("/studies/<study>/lock")
@staff(Right.STUDY_LOCK)
@or_again(lock_form)
def lock(study: str) -> AnyResponse:
    """Draw and seal the allocation for the protocol, and with the custodians, that the form's page showed."""
    require_tick("sure", "Tick the box: locking can't be undone.")
    read = request.form.get("protocol_sha256", "")
    with parts().database.writing() as session:
        found = services.find(session, study)
        services.lock(session, found, parts().secrets, caller(), read=read)
        if request.form.get("custodians", "") != custodians.digest(_custodians(session, found)):
            raise conflict("custodians", "Who may unblind the study has changed. Look at the list again, then lock it.")
    return done("The study is locked. Note the commitment somewhere else now.", "overview_pages.study", study=study)


@pages.get("/studies/<study>/roles")
@staff(Right.STUDY_READ)
def roles(study: str) -> Response:
    """The roles of a study: what each may do, and who has it."""
    with parts().database.reading() as session:
        found = services.find(session, study)
        holders = _holders(session, found)
        shown = [(role, [WORDS[right] for right in Right if right in RIGHTS[role]], holders[role]) for role in Role]
        return page("roles", "Roles", study=found, roles=shown)


def _sent() -> str:
    """The protocol that the browser sent: the file, if there is one, else the text."""
    file = request.files.get("file")
    if file is None or not file.filename:
        return request.form.get("protocol", "").replace("\r\n", "\n")
    content = file.stream.read(MOST_BYTES + 1)
    file.stream.seek(0)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise bad_request("The file is not text in UTF-8.") from None


def _file_name() -> str | None:
    file = request.files.get("file")
    return file.filename if file else None


def _protocol_form(
    title: str, study: Study | None, text: str, problem: Problem | None, above: tuple[tuple[str, str], ...]
) -> Response:
    wrong: dict[int, list[str]] = {}
    for error in problem.errors if problem else ():
        if place := LINE.fullmatch(error.pointer):
            wrong.setdefault(int(place[1]), []).append(error.detail)
    more = {"text": text, "lines": text.splitlines()[:MOST_LINES] or [""], "wrong": wrong, "examples": EXAMPLES}
    return page("protocol_form", title, study=study, problem=problem, trail=above, **more)


def _custodians(session: Session, study: Study) -> list[Custodian]:
    return custodians.of_study(session, study, parts().config.custodian_wait_hours)


def _holders(session: Session, study: Study) -> dict[Role, list[tuple[str, bool]]]:
    """Each role's holders in a study: their addresses, and whether they have the role in every study."""
    here = select(Account.email, Grant.role, Grant.study_id).join(Grant, Grant.account_id == Account.id)
    rows = session.execute(
        here.where(Account.active, or_(Grant.study_id == study.id, Grant.study_id.is_(None))).order_by(Account.email)
    )
    found: dict[Role, list[tuple[str, bool]]] = {role: [] for role in Role}
    for email, role, where in rows:
        found[Role(role)].append((email, where is None))
    return found
