# SPDX-License-Identifier: GPL-2.0-or-later
"""Staff's first pages: the list of studies, and the progress of one."""

import hashlib
from http import HTTPStatus
from typing import Any

from flask import Blueprint, Response, make_response, redirect, render_template, request, url_for
from markupsafe import Markup
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response as AnyResponse

from happe_study.base.parts import parts
from happe_study.model.rights import Right
from happe_study.model.rules import anybody, caller, signed_in, staff
from happe_study.model.studies import Study
from happe_study.results.overview import progress as progress_of
from happe_study.results.overview import status
from happe_study.results.withdrawal import retention
from happe_study.study.studies import services
from happe_study.web.staff_page import page

pages = Blueprint("overview_pages", __name__)


@pages.get("/")
@anybody
def start() -> AnyResponse:
    """Go to the list of studies."""
    return redirect(url_for("overview_pages.studies"), HTTPStatus.SEE_OTHER)


@pages.get("/studies")
@signed_in
def studies() -> Response:
    """The list of the studies that the caller may read."""
    with parts().database.reading() as session:
        rows = [(study, status(session, study)) for study in services.visible(session, caller())]
        return page("studies", "Studies", rows=[(study, _progress(counts)) for study, counts in rows])


@pages.get("/studies/<study>")
@staff(Right.STUDY_READ)
def study(study: str) -> Response:
    """The page with a study's progress."""
    with parts().database.reading() as session:
        found = services.find(session, study)
        facts: dict[str, Any] = {
            "news": _news(session, found),
            "protocol": services.protocol_of(found),
            "retention": retention.plan(session, found),
        }
        return page("study", found.title, study=found, **facts)


@pages.get("/studies/<study>/progress")
@staff(Right.STUDY_READ)
def progress(study: str) -> Response:
    """The part of that page that updates itself. The parameter `seen` is its digest; 204 if nothing has changed."""
    with parts().database.reading() as session:
        digest, news = _news(session, services.find(session, study))
    if request.args.get("seen") == digest:
        return make_response("", HTTPStatus.NO_CONTENT)
    return make_response(news)


def _news(session: Session, study: Study) -> tuple[str, Markup]:
    """A study's progress as HTML, and its digest."""
    facts = {"study": study, "progress": progress_of(session, study, caller().rights_in(study.id))}
    text = render_template("staff/_progress.html", **facts)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    seen = Markup('<input type="hidden" id="progress-seen" name="seen" value="{}">').format(digest)
    return digest, Markup(text) + seen  # noqa: S704 - a template's


def _progress(counts: dict[str, Any]) -> dict[str, int]:
    """The numbers of a study's line in the list, from its status."""
    runs = counts["runs"]
    return {
        "places": sum(each["slots"] for each in counts["slots"]),
        "taken": sum(each["taken"] for each in counts["slots"]),
        "done": counts["participants"]["done"],
        "complete": runs["complete"],
        "runs": sum(runs.values()) - runs["replaced"],
    }
