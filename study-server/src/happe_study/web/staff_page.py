# SPDX-License-Identifier: GPL-2.0-or-later
"""The common parts of the pages for staff: links, times and counts in words, and forms with errors.

A form has a view that shows it (GET), and a view that carries it out (POST, decorated by `or_again`) and redirects to
another page. If that fails, the form appears again, with the typed values and the errors beside them. The answer to the
POST itself shows secrets that the server shows only once, such as a token.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import wraps
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar, cast

from flask import Flask, Response, current_app, flash, make_response, redirect, render_template, request, url_for
from markupsafe import Markup
from werkzeug.wrappers import Response as AnyResponse

from happe_study.base.clock import now_us
from happe_study.base.fields import LONGEST_REASON
from happe_study.base.problems import FieldError, Problem, unprocessable
from happe_study.model.rights import Right
from happe_study.model.rules import Who, caller, check, rule_of
from happe_study.model.studies import Study

View = TypeVar("View", bound=Callable[..., Any])

SECOND_US = 1_000_000
UNITS = (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))
ERRORS_OF_A_FORM = {HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.CONFLICT, HTTPStatus.REQUEST_ENTITY_TOO_LARGE}

# The pages in the navigation: their endpoints, and the texts of links to them. The first is the parent of the others.
SITE = (
    ("overview_pages.studies", "Studies"),
    ("audit_pages.log", "Audit log"),
    ("account_pages.accounts", "Accounts"),
    ("account_pages.me", "You"),
)
OF_A_STUDY = (
    ("overview_pages.study", "Overview"),
    ("participant_staff.participants", "Participants"),
    ("exclusion_pages.exclusions", "Exclusions"),
    ("profile_pages.profiles", "Profiles"),
    ("device_pages.devices", "Devices"),
    ("check_pages.checks", "Checks"),
    ("report_pages.report", "Report"),
    ("export_pages.exports", "Exports"),
    ("study_pages.protocol", "Protocol"),
    ("study_pages.roles", "Roles"),
    ("unblinding_pages.unblinding", "Unblinding"),
)


@dataclass(frozen=True)
class Link:
    """A link of the navigation. `current`: "page" for this page, "true" for this part of the site, or empty."""

    address: str
    text: str
    current: str = ""


def install(app: Flask) -> None:
    """Install the filters and functions for the templates of staff's pages."""
    app.add_template_filter(when)
    app.add_template_filter(ago)
    app.add_template_filter(roughly)
    app.add_template_filter(grouped)
    app.add_template_filter(counted)
    app.add_template_filter(lead)
    app.add_template_global(may_open)
    app.add_template_global(navigation)
    app.add_template_global(caller, "visitor")
    app.add_template_global(Who)
    app.add_template_global(Right)


def page(
    name: str,
    title: str,
    *,
    study: Study | None = None,
    problem: Problem | None = None,
    trail: tuple[tuple[str, str], ...] = (),
    **more: Any,  # noqa: ANN401 - what the template asks for
) -> Response:
    """Render templates/staff/NAME.html. `trail` has (address, text) of the pages between the study's page and this."""
    wrong = {error.pointer.removeprefix("/"): error.detail for error in problem.errors} if problem else {}
    above = [*(_of_study(study) if study else ()), *trail]
    facts = {"title": title, "study": study, "problem": problem, "errors": wrong, "trail": above, "form": request.form}
    text = render_template(f"staff/{name}.html", **facts, **more)
    return make_response(text, problem.status if problem else HTTPStatus.OK)


class Input(NamedTuple):
    """A field of a small form; with `options`, (value, text), a list to choose from."""

    name: str
    label: str
    hint: str = ""
    type: str = "text"
    value: str = ""
    options: Sequence[tuple[str, str]] = ()


def form_page(title: str, button: str, *fields: Input, about: str = "", **more: Any) -> Response:  # noqa: ANN401 - as above
    """Render a page with a small form. `back`: the address of "Not now"; `danger`: a red button."""
    return page("form", title, button=button, fields=fields, about=about, **more)


def once_page(title: str, key: str, label: str, secret: str, **more: Any) -> Response:  # noqa: ANN401 - as above
    """Render a page that shows a secret once, with the text `about` and the address `then` of the next page."""
    return page("once", title, key=key, label=label, secret=secret, **more)


def _of_study(study: Study) -> tuple[tuple[str, str], ...]:
    """The pages above a page of a study: the list of studies, and the study's first page unless this is it."""
    (home, text), (first, _text) = SITE[0], OF_A_STUDY[0]
    every, this = url_for(home), url_for(first, study=study.name)
    return ((every, text), (this, study.name)) if request.path != this else ((every, text),)


def or_again(form: Callable[..., Response]) -> Callable[[View], View]:
    """Show a view's errors (409, 413, 422) with the view `form`, which takes a `problem`."""

    def wrap(view: View) -> View:
        @wraps(view)
        def tried(**arguments: str) -> object:
            try:
                return view(**arguments)
            except Problem as problem:
                if problem.status not in ERRORS_OF_A_FORM:
                    raise
                return form(**arguments, problem=problem)

        return cast("View", tried)

    return wrap


def done(said: str, endpoint: str, **view_args: Any) -> AnyResponse:  # noqa: ANN401 - str, as in url_for
    """Redirect to a page that shows this message."""
    flash(said, "success")
    return redirect(url_for(endpoint, **view_args), HTTPStatus.SEE_OTHER)


def field(name: str, *, shortest: int = 1, longest: int = 200, what: str = "") -> str:
    """A line of text from the form. Raises Problem 422 if it is too short or long, or has control characters."""
    text = request.form.get(name, "").strip()
    if not shortest <= len(text) <= longest:
        few = "Fill this in." if shortest == 1 and not text else f"Must have {shortest} to {longest} characters."
        raise mistake(name, few)
    if not text.isprintable():
        raise mistake(name, f"{what or 'This'} must be one line of text.")
    return text


def reason() -> str:
    """The reason from the form, as the API takes it. Raises Problem 422."""
    return field("reason", longest=LONGEST_REASON, what="The reason")


def require_tick(name: str, asked: str) -> None:
    """Raise Problem 422 unless the person ticked a box."""
    if name not in request.form:
        raise mistake(name, asked)


def mistake(name: str, detail: str) -> Problem:
    """422: a field of the form is wrong."""
    return unprocessable("Nothing has changed yet. Correct the marked fields below.", FieldError(f"/{name}", detail))


def may_open(endpoint: str, **view_args: str) -> bool:
    """Whether the caller may open a page, if need be after giving the password again."""
    rule = rule_of(current_app, endpoint)
    if rule is None:
        return False
    try:
        check(replace(rule, fresh=False), caller(), view_args)
    except Problem:
        return False
    return True


def navigation(study: Study | None = None) -> list[Link]:
    """Links to the pages of the whole site, or of a study, that the caller may open."""
    pages = OF_A_STUDY if study else SITE
    arguments = {"study": study.name} if study else {}
    return [_link(endpoint, text, arguments) for endpoint, text in pages if may_open(endpoint, **arguments)]


def _link(endpoint: str, text: str, arguments: dict[str, Any]) -> Link:
    address = url_for(endpoint, **arguments)
    if request.path == address:
        return Link(address, text, "page")
    below = request.path.startswith(f"{address}/") and endpoint != OF_A_STUDY[0][0]
    return Link(address, text, "true" if below else "")


def when(at_us: int | None, otherwise: str = "\N{EN DASH}") -> Markup | str:
    """A moment as year-month-day hour:minute, UTC."""
    if at_us is None:
        return otherwise
    moment = datetime.fromtimestamp(at_us // SECOND_US, UTC)
    return Markup('<time datetime="{}">{}</time>').format(f"{moment:%Y-%m-%dT%H:%M:%SZ}", f"{moment:%Y-%m-%d %H:%M}")


def ago(at_us: int | None, otherwise: str = "never") -> Markup | str:
    """How long ago a moment was, in its largest unit; the moment itself is the element's title."""
    if at_us is None:
        return otherwise
    moment = datetime.fromtimestamp(at_us // SECOND_US, UTC)
    words = duration(max(now_us() - at_us, 0))
    template = Markup('<time datetime="{}" title="{} UTC">{} ago</time>')
    return template.format(f"{moment:%Y-%m-%dT%H:%M:%SZ}", f"{moment:%Y-%m-%d %H:%M:%S}", words)


def roughly(at_us: int | None, otherwise: str = "never") -> str:
    """How long ago a moment was, in minutes or more."""
    if at_us is None:
        return otherwise
    age_us = max(now_us() - at_us, 0)
    return "just now" if age_us < 60 * SECOND_US else f"{duration(age_us)} ago"


def duration(us: int) -> str:
    """A duration in its largest unit, rounded down: "3 minutes"."""
    seconds = us // SECOND_US
    for unit, length in UNITS:
        if seconds >= length:
            return counted(seconds // length, unit)
    return "less than a second"


def lead(us: float) -> str:
    """How far one clock is ahead of another, or behind it: "1.7 s ahead", "0.4 ms behind"."""
    size = abs(us)
    short = f"{size / SECOND_US:.1f} s" if size >= SECOND_US else f"{size / 1000:.1f} ms"
    words = duration(int(size)) if size >= 60 * SECOND_US else short
    return f"{words} {'ahead' if us > 0 else 'behind'}"


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things: "1 run", "2 runs", "3 entries"."""
    return f"{grouped(number)} {one if number == 1 else many or one + 's'}"


def grouped(number: int) -> str:
    """A number with thin spaces between groups of three digits."""
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
