# SPDX-License-Identifier: GPL-2.0-or-later
"""What every request goes through: who calls, forgery protection, and the headers of every answer."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from flask import g, request
from flask_login import current_user
from flask_wtf.csrf import CSRFError, CSRFProtect
from sqlalchemy import select

from happe_study.accounts import tokens
from happe_study.problems import Problem, answer
from happe_study.rules import Caller, staff_caller
from happe_study.studies.models import Study

if TYPE_CHECKING:
    from flask import Flask, Response

    from happe_study.config import Config, Secrets
    from happe_study.database import Database

PARTICIPANT_COOKIE = "happe_participant"
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
SESSION_HOURS = 12

# No script, style or frame but our own files; forms go nowhere else.
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


def install(app: Flask, config: Config, secrets: Secrets) -> None:
    """Set an application's cookies, headers and limits, and find out who calls before each request."""
    app.config.update(
        SECRET_KEY=secrets.session,
        SESSION_COOKIE_NAME="happe_session",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_SECURE=config.https,
        PERMANENT_SESSION_LIFETIME=SESSION_HOURS * 3600,
        MAX_FORM_MEMORY_SIZE=1 << 20,
        MAX_FORM_PARTS=200,
        WTF_CSRF_CHECK_DEFAULT=False,
        WTF_CSRF_SSL_STRICT=False,  # Referrer-Policy sends no referrer to compare
        WTF_CSRF_TIME_LIMIT=None,  # as long as the session
    )
    csrf = CSRFProtect(app)

    @app.before_request
    def _know_caller() -> None:
        database: Database = app.extensions["happe"].database
        g.happe_study_ids = lambda name: study_id(database, name)
        g.happe_caller = bearer(database) or by_cookie(database)

    @app.before_request
    def _refuse_forgery() -> None:
        if request.method not in SAFE_METHODS and "Authorization" not in request.headers:
            csrf.protect()

    @app.errorhandler(CSRFError)
    def _forged(_error: CSRFError) -> Response:
        return answer(
            Problem(HTTPStatus.BAD_REQUEST, "csrf", "This form is too old or came from elsewhere. Reload the page.")
        )

    @app.after_request
    def _add_headers(response: Response) -> Response:
        response.headers.update(HEADERS)
        if config.https:
            response.headers["Strict-Transport-Security"] = "max-age=31536000"
        if request.endpoint != "static":
            response.headers["Cache-Control"] = "no-store"
        return response


def study_id(database: Database, name: str) -> int | None:
    """The study of this name; None if there is none."""
    with database.reading() as session:
        return session.scalar(select(Study.id).where(Study.name == name))


def bearer(database: Database) -> Caller | None:
    """Whose token the Authorization header carries; None without the header. Raises Problem 401 for a bad one."""
    header = request.headers.get("Authorization")
    if header is None:
        return None
    scheme, _, secret = header.partition(" ")
    if scheme.lower() == "bearer" and secret:
        with database.reading() as session:
            if found := tokens.caller_of(session, secret.strip()):
                return found
    raise Problem(HTTPStatus.UNAUTHORIZED, "unauthorized", "The token is not valid, or is not any more.")


def by_cookie(database: Database) -> Caller:
    """Who a browser belongs to: a participant on the participants' pages, else signed-in staff, else anybody."""
    secret = request.cookies.get(PARTICIPANT_COOKIE)
    if secret and request.path.startswith("/p/"):
        with database.reading() as session:
            return tokens.caller_of(session, secret) or Caller()
    if current_user.is_authenticated:
        return staff_caller(current_user.id, current_user.email, current_user.grants)
    return Caller()
