# SPDX-License-Identifier: GPL-2.0-or-later
"""The steps of every request: find the caller, refuse others' forms, and add the headers of every answer."""

import hmac
from functools import cache, partial
from http import HTTPStatus

from flask import Flask, Response, g, request
from flask import session as cookie
from flask_login import current_user
from flask_wtf.csrf import generate_csrf, validate_csrf
from sqlalchemy import select
from werkzeug.routing import IntegerConverter
from wtforms import ValidationError

from happe_study.base import limits
from happe_study.base.clock import now_us
from happe_study.base.config import Config, Secrets
from happe_study.base.database import Database
from happe_study.base.json_requests import StrictRequest
from happe_study.base.parts import parts
from happe_study.base.problems import Problem, conflict, not_found
from happe_study.base.uploads import MOST_VALUES, bound_body
from happe_study.model.rules import Caller, Who, caller
from happe_study.model.studies import Study
from happe_study.study.people import callers
from happe_study.study.people.callers import PARTICIPANT_COOKIE, staff_caller

HEALTH = "health.healthz"  # a proxy may ask for it often
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
SESSION_HOURS = 12
MOST_FORM_MEMORY = 1 << 20  # bytes of a form's fields; its files may be larger

BETWEEN = "~"  # the two parts of a form's token
ANOTHER = (
    "Somebody has signed in with this browser since this page was opened, perhaps with another account. Nothing has "
    "changed. To use your own account, sign out, sign in, and open the page again."
)

# Scripts, styles and frames come only from our own files. Forms go only to this server.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; "
    "style-src 'self'; "
    "img-src 'self'; "
    "font-src 'self'; "
    "script-src 'self'; "
    "connect-src 'self'; "
    "form-action 'self'; "
    "base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Numeral(IntegerConverter):
    """A whole number in a path, without leading zeros, so that each thing has only one address."""

    regex = "(?:0|[1-9][0-9]*)"


def install(app: Flask, config: Config, secrets: Secrets) -> None:
    """Set an application's cookies, headers and limits, and find the caller before each request."""
    app.request_class = StrictRequest
    app.config.update(
        SECRET_KEY=secrets.session,
        SERVERS=[
            {"url": config.public_url}
        ],  # for the OpenAPI document; otherwise it would name the host of the request
        PROVIDE_AUTOMATIC_OPTIONS=False,  # answer 405: no other origin may call the server
        SESSION_COOKIE_NAME=session_cookie(config),
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_SECURE=config.https,
        PERMANENT_SESSION_LIFETIME=SESSION_HOURS * 3600,
        MAX_FORM_MEMORY_SIZE=MOST_FORM_MEMORY,
        MAX_FORM_PARTS=MOST_VALUES,
        WTF_CSRF_ENABLED=False,  # Flask-Security's forms check no token: refuse_others_forms has checked every form
        WTF_CSRF_TIME_LIMIT=None,  # as long as the session
    )
    app.url_map.converters["int"] = Numeral
    app.url_map.merge_slashes = False  # the redirect would contain the host from the request

    @app.before_request
    def _refuse_chunks() -> None:
        if "Transfer-Encoding" in request.headers:  # the body's length is unknown
            raise Problem(HTTPStatus.LENGTH_REQUIRED, "length-required", "Send the body with its Content-Length.")

    @app.before_request
    def _know_caller() -> None:
        g.happe_received_us = now_us()  # a device's clock probe needs the time before any other work
        database: Database = app.extensions["happe"].database
        g.happe_study_ids = cache(partial(study_id, database))
        g.happe_caller = bearer(database) or by_cookie(database)

    limits.count_requests(app, config, _whose_request)

    @app.before_request
    def _bound_body() -> None:
        bound_body(app)

    @app.before_request
    def _refuse_nul() -> None:
        if "\0" in request.path:
            raise not_found()  # PostgreSQL refuses NUL in text

    @app.after_request
    def _add_headers(response: Response) -> Response:
        response.headers.update(HEADERS)
        if config.https:
            response.headers["Strict-Transport-Security"] = "max-age=31536000"
        if request.endpoint != "static" or response.status_code >= HTTPStatus.BAD_REQUEST:
            response.headers["Cache-Control"] = "no-store"
        return response


def _whose_request() -> str | None:
    """Whose limit a request uses up: a participant's own, or its address's. None: this caller has no limit."""
    who = caller()
    if who.who in {Who.STAFF, Who.DEVICE} or request.endpoint == HEALTH:
        return None
    return f"participant {who.id}" if who.who is Who.PARTICIPANT else limits.address()


def refuse_others_forms(app: Flask) -> None:
    """Require a token in the form (`csrf_token`) or the header X-CSRFToken of requests whose rights come from a cookie.

    The token shows that the form is this server's, and that its page was made for the caller: meanwhile somebody else
    may have opened their link, or signed in, in another tab of the browser. Install this after the rules, so that the
    server does not read the body of a request that a rule refuses.
    """
    app.add_template_global(form_token)

    @app.before_request
    def _refuse() -> None:
        if request.method in SAFE_METHODS or not by_browser(app):
            return
        sent = request.form.get("csrf_token") or request.headers.get("X-CSRFToken", "")  # reads the whole form
        token, _, whose = sent.rpartition(BETWEEN)
        if token and caller().who is not Who.ANYBODY and whose != _whose():
            raise conflict("another-person", ANOTHER)
        try:
            validate_csrf(token)
        except ValidationError:
            said = "This form is too old or came from elsewhere. Reload the page."
            raise Problem(HTTPStatus.BAD_REQUEST, "csrf", said) from None


def form_token() -> str:
    """The token of a form: Flask-WTF's against forgery, and the mark of whom this page is made for."""
    return f"{generate_csrf()}{BETWEEN}{_whose()}"


def _whose() -> str:
    """The mark of the caller: a keyed digest, because a page does not need their number."""
    who = caller()
    return hmac.digest(parts().secrets.session, f"form of {who.who} {who.id}".encode(), "sha256").hex()


def by_browser(app: Flask) -> bool:
    """Whether a request has, or may get, its rights from a cookie: every page, and the API with a session."""
    if "Authorization" in request.headers or request.endpoint is None:
        return False
    return not request.path.startswith("/api/") or app.config["SESSION_COOKIE_NAME"] in request.cookies


def session_cookie(config: Config) -> str:
    """The name of the session's cookie. Over https, its prefix makes browsers accept it only from this host."""
    return "__Host-happe_session" if config.https else "happe_session"


def study_id(database: Database, name: str) -> int | None:
    """The id of the study with this name, or None."""
    with database.looking_up() as session:
        return session.scalar(select(Study.id).where(Study.name == name))


def bearer(database: Database) -> Caller | None:
    """The owner of the token in the Authorization header; None without it. Raises Problem 401 for a bad token."""
    header = request.headers.get("Authorization")
    if header is None:
        return None
    scheme, _, secret = header.partition(" ")
    if scheme.lower() == "bearer" and secret and (found := callers.calling(database, secret.strip())):
        return found
    raise Problem(HTTPStatus.UNAUTHORIZED, "bad-token", "The token is not valid, or has ended.")


def by_cookie(database: Database) -> Caller:
    """The caller by cookie: on participants' pages the participant, elsewhere staff; an unknown caller without one.

    The page of a participant's link is theirs, whoever used the browser before; the page of a wrong link is nobody's.
    """
    if request.path.startswith("/p/"):
        secret = (request.view_args or {}).get("token") or request.cookies.get(PARTICIPANT_COOKIE)
        return (callers.calling(database, secret) if secret else None) or Caller()
    if current_user.is_authenticated:
        proven_us = int(cookie.get("fs_paa", 0) * 1_000_000)  # when Flask-Security last saw the password
        return staff_caller(current_user.id, current_user.email, current_user.grants, proven_us)
    return Caller()
