# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of one run: its state; after unblinding, its record and power for callers who may see them.

Staff abort a run here, and plan it again.
"""

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from flask import Blueprint, Response, g, request, url_for
from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response as AnyResponse

from happe_contract.strict_json import Json
from happe_study.base.charts import Chart, Table
from happe_study.base.parts import parts
from happe_study.base.problems import Problem
from happe_study.model.participants import Participant
from happe_study.model.rights import Right
from happe_study.model.rules import caller, staff
from happe_study.model.runs import Run, RunRecord
from happe_study.model.studies import Study, StudyState
from happe_study.study.outcomes import sees_outcomes
from happe_study.study.profiles.history import profile_of
from happe_study.study.records.stored import opened
from happe_study.study.runs import services
from happe_study.study.sealing import SealError
from happe_study.study.studies.services import find, protocol_of
from happe_study.study.traces.power_view import Stretch
from happe_study.study.traces.sealed import TraceFiles
from happe_study.study.traces.stores import storage_of
from happe_study.study.window import Window, window
from happe_study.web.api.runs import shown
from happe_study.web.staff.run_page import figure
from happe_study.web.staff.run_page.power import Measured, measured
from happe_study.web.staff.run_page.series import RunSeries, run_series
from happe_study.web.staff_page import Input, done, form_page, or_again, page, reason

pages = Blueprint("run_view", __name__)

COLUMNS = 1000  # columns of a chart of power

ABORT = Markup(
    '<p>Run <span class="code">{}</span> is number {} of participant <span class="code">{}</span>: {}. An aborted run '
    "does not count. Its recorded data stay. You can plan it again, under the same sealed condition.</p>"
)
REPEAT = Markup(
    '<p>Run <span class="code">{}</span> was aborted{}. A new attempt takes its place, number {} of participant '
    '<span class="code">{}</span> ({}), the same sealed condition, and a new code.</p>'
)

PROFILES = "profile_pages.profiles"  # above a run's page, for callers who may not read runs


@dataclass(frozen=True)
class Power:
    """A trace's power in a window: the chart, or None if `of.why` says why not; and the trace's calibration."""

    of: Measured
    chart: Chart | None
    found: Stretch | None
    calibration: str
    calibrated: bool


@dataclass(frozen=True)
class Figure:
    """Everything that the page draws of a run."""

    window: Window
    series: RunSeries
    charts: list[Chart]
    powers: list[Power]
    table: Table
    condition: Json


@pages.get("/studies/<study>/runs/<code>")
@staff(Right.RUN_VIEW)
def run(study: str, code: str) -> Response:
    """The page of one run. `from` and `to`, in seconds, choose the part to draw."""
    with parts().database.reading() as session:
        found = find(session, study)
        reads = caller().may(Right.RUN_READ, found.id)
        if not reads and found.state != StudyState.UNBLINDED:
            return page("profiles_sealed", "Run", study=found)
        protocol = protocol_of(found)
        row = services.find(session, found.id, code)
        outcomes = sees_outcomes(caller(), found, protocol)
        facts = shown(session, found.id, [row])[0] | ({} if outcomes or reads else {"guess": None})
        facts |= {"rating": row.rating} if outcomes else {}
        application = protocol.application(row.application).name
        has_profile = profile_of(session, found.id, facts["participant"], row.application) is not None
        closed = _closed(found, row)
        record = None if closed else _record(session, row)
        traces = measured(session, row, record, _files()) if record and outcomes else []
    whose = url_for(PROFILES, study=study, participant=facts["participant"])
    above: tuple[tuple[str, str], ...] = ((url_for(PROFILES, study=study), "Profiles"),)
    if reads:
        whose = url_for("participant_staff.participant", study=study, code=facts["participant"])
        above = (
            (url_for("participant_staff.participants", study=study), "Participants"),
            (whose, facts["participant"]),
        )
    drawn, problem = _drawn(record, traces) if record else (None, None)
    if not closed and record is None:
        closed = "The record does not open: it was changed, or the server's key changed after it arrived."
    more: dict[str, Any] = {"run": facts, "application": application, "closed": closed, "figure": drawn}
    more |= {"outcomes": outcomes, "whose": whose, "has_profile": has_profile}
    return page("run", f"Run {code}", study=found, problem=problem, trail=above, **more)


def _closed(study: Study, row: Run) -> str:
    """Why the page does not show the record; "" if it does."""
    if study.state != StudyState.UNBLINDED:
        return (
            "The record of this run is sealed, because utilisation, frequency, key presses and power reveal its "
            "condition. This page shows them after the unblinding."
        )
    if not caller().may(Right.PROFILE_READ, study.id):
        return "Only people who analyse the study or review its profiles see the record of this run."
    if row.record_us is None:
        return "Its record has not arrived."
    return ""


def _record(session: Session, row: Run) -> Json | None:
    """A run's record; None if it does not open."""
    document = session.scalar(select(RunRecord.document).where(RunRecord.run_id == row.id))
    if document is None:
        return None
    try:
        record: Json = json.loads(opened(parts().secrets.allocation, row.code, document))
    except SealError:
        return None
    return record


def _drawn(record: Json, traces: list[Measured]) -> tuple[Figure, Problem | None]:
    """The figure of the requested part; if the request is wrong, of the whole run, and a Problem."""
    series = run_series(record)
    problem = None
    try:
        part = window(request.args.get("from", ""), request.args.get("to", ""), series.seconds)
    except Problem as wrong:
        part, problem = Window(0, series.seconds, series.seconds), wrong
    powers = [_power(number, each, part) for number, each in enumerate(traces, start=1)]
    charts = [*figure.charts(series, part), *(each.chart for each in powers if each.chart)]
    measures = [
        (f"mean of {each.of.meter}" if len(powers) > 1 else "mean", each.of.placed, each.found)
        for each in powers
        if each.of.placed and each.found
    ]
    return Figure(part, series, charts, powers, figure.table(series, part, measures), record["machine"]), problem


def _power(number: int, of: Measured, part: Window) -> Power:
    says, good = _calibration(of.header)
    if of.placed is None:
        return Power(of, None, None, says, good)
    found = of.placed.stretch(part.begin, part.end, COLUMNS)
    title = f"Power at {of.meter}"
    return Power(of, figure.power(f"power-{number}", title, of.placed, found, part), found, says, good)


def _calibration(header: Json) -> tuple[str, bool]:
    """A trace's calibration in words, and whether it was valid when the trace began."""
    record = header["calibration"]
    if record is None:
        return "none: the accuracy of these watts is unknown", False
    day = datetime.fromtimestamp(header["started"]["realtime_us"] // 1_000_000, UTC).date()
    name = f"{record['name']}, of {record['date']}"
    if day >= date.fromisoformat(record["expires"]):
        return f"{name}, expired on {record['expires']}", False
    if day < date.fromisoformat(record["date"]):
        return f"{name}, made after the measurement", False
    return f"{name}, valid until {record['expires']}", True


def _files() -> TraceFiles:
    return TraceFiles(storage_of(parts().config, parts().database), parts().secrets.allocation)


@pages.get("/studies/<study>/runs/<code>/abort")
@staff(Right.RUN_MANAGE)
def abort_form(study: str, code: str, problem: Problem | None = None) -> Response:
    """The form that explains aborting and asks for a reason."""
    run, about, more = _form(study, code, problem)
    said = ABORT.format(code, run.position, *about)
    fields = (Input("reason", "Why", "For the audit log. Do not name anybody."),)
    return form_page(f"Abort run {code}", "Abort the run", *fields, about=said, here="Abort", danger=True, **more)


@pages.post("/studies/<study>/runs/<code>/abort")
@staff(Right.RUN_MANAGE)
@or_again(abort_form)
def abort(study: str, code: str) -> AnyResponse:
    """Abort a run, with the reason why it doesn't count."""
    why = reason()
    with parts().database.writing() as session:
        run = services.find(session, g.happe_study_ids(study), code)
        services.abort(session, run, why, caller())
        return _back(session, run, study, f"Run {code} is aborted. You can plan it again.")


@pages.get("/studies/<study>/runs/<code>/repeat")
@staff(Right.RUN_MANAGE)
def repeat_form(study: str, code: str, problem: Problem | None = None) -> Response:
    """The form that explains planning a run again and asks for confirmation."""
    run, about, more = _form(study, code, problem)
    why = (
        f": \N{LEFT DOUBLE QUOTATION MARK}{run.abort_reason}\N{RIGHT DOUBLE QUOTATION MARK}" if run.abort_reason else ""
    )
    said = REPEAT.format(code, why, run.position, *about)
    return form_page(f"Plan run {code} again", "Plan it again", about=said, here="Plan again", **more)


@pages.post("/studies/<study>/runs/<code>/repeat")
@staff(Right.RUN_MANAGE)
@or_again(repeat_form)
def repeat(study: str, code: str) -> AnyResponse:
    """Plan another attempt in place of an aborted run."""
    with parts().database.writing() as session:
        run = services.find(session, g.happe_study_ids(study), code)
        new = services.replace(session, run, parts().secrets, caller())
        return _back(session, run, study, f"Run {new.code} is planned in the place of {code}.")


def _form(study: str, code: str, problem: Problem | None) -> tuple[Run, tuple[str, str], dict[str, Any]]:
    """A run, its participant and application, and the arguments that its forms share."""
    with parts().database.reading() as session:
        found = find(session, study)
        run = services.find(session, found.id, code)
        participant = session.get_one(Participant, run.participant_id).code
        back = url_for("participant_staff.participant", study=study, code=participant)
        above = ((url_for("participant_staff.participants", study=study), "Participants"), (back, participant))
        application = protocol_of(found).application(run.application).name
        more = {"study": found, "problem": problem, "trail": above, "back": back}
        return run, (participant, application), more


def _back(session: Session, run: Run, study: str, said: str) -> AnyResponse:
    participant = session.get_one(Participant, run.participant_id).code
    return done(said, "participant_staff.participant", study=study, code=participant)
