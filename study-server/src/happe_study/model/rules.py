# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules for callers. The server refuses to start if an endpoint has no rule.

Each view carries exactly one rule, set by a decorator of this module just below its route:

    @blueprint.get("/api/v1/studies/<study>")
    @staff(Right.STUDY_READ)
    def read_study(study: str): ...

A rule for staff on a route with `<study>` requires the right in that study. A person without any right in a study gets
the answer that the study does not exist.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from typing import Any, TypeVar

from flask import Flask, g, request

from happe_study.base.clock import now_us
from happe_study.base.problems import Problem, forbidden, not_found
from happe_study.model.rights import RIGHTS, Right, Role

View = TypeVar("View", bound=Callable[..., Any])

FRESH_MINUTES = 5
FRESH_US = FRESH_MINUTES * 60_000_000
STALE = f"Give your password again, or use a new token: this needs a password from the last {FRESH_MINUTES} minutes."


class Who(StrEnum):
    """Kinds of callers."""

    ANYBODY = "anybody"
    PARTICIPANT = "participant"
    DEVICE = "device"
    STAFF = "staff"


class DeviceKind(StrEnum):
    """What devices may do in a study."""

    LAPTOP = "laptop"  # runs participants' applications; conditions are sealed to its public key
    METER = "meter"  # measures power


@dataclass(frozen=True)
class Caller:
    """The caller of this request, from the table of accounts, devices or participants."""

    who: Who = Who.ANYBODY
    id: int = 0
    name: str = ""  # an e-mail address or a code; for the audit log
    study_id: int | None = None  # the study of a device or participant
    device_kind: DeviceKind | None = None
    roles: frozenset[tuple[Role, int | None]] = field(default_factory=frozenset)  # (role, study or None for every)
    proven_us: int = 0  # when staff last gave their password, themselves or for their token

    def rights_in(self, study_id: int | None) -> frozenset[Right]:
        """The rights of staff in a study; None: the rights that they have in every study."""
        held = [role for role, where in self.roles if where is None or where == study_id]
        return frozenset().union(*(RIGHTS[role] for role in held))

    def may(self, right: Right, study_id: int | None) -> bool:
        """True if staff have this right in a study (None: in every study)."""
        return right in self.rights_in(study_id)

    def may_anywhere(self, right: Right) -> bool:
        """Whether staff may do something in some study."""
        return any(right in RIGHTS[role] for role, _where in self.roles)


@dataclass(frozen=True)
class Rule:
    """The rule of an endpoint. Outside of a study, it requires the right in some study, or in every study.

    `fresh`: staff must have given their password, for the session or the token, in the last minutes. So an open session
    or a token in a script is not enough for actions that can't be undone.
    """

    who: Who
    right: Right | None = None
    device_kind: DeviceKind | None = None
    everywhere: bool = False
    fresh: bool = False


def _mark(rule: Rule) -> Callable[[View], View]:
    def mark(view: View) -> View:
        view.happe_rule = rule  # type: ignore[attr-defined] # an attribute of our own
        return view

    return mark


anybody = _mark(Rule(Who.ANYBODY))
participant = _mark(Rule(Who.PARTICIPANT))
signed_in = _mark(Rule(Who.STAFF))
signed_in_again = _mark(Rule(Who.STAFF, fresh=True))


def device(kind: DeviceKind | None = None) -> Callable[[View], View]:
    """Rule: an enrolled device, of one kind if given."""
    return _mark(Rule(Who.DEVICE, device_kind=kind))


def staff(right: Right, *, everywhere: bool = False, fresh: bool = False) -> Callable[[View], View]:
    """Rule: staff with a right in the route's `<study>`; in every study (`everywhere`); otherwise in some study."""
    return _mark(Rule(Who.STAFF, right=right, everywhere=everywhere, fresh=fresh))


def rule_of(app: Flask, endpoint: str) -> Rule | None:
    """An endpoint's rule, or None. Without a rule the endpoint never answers."""
    rules: dict[str, Rule] = app.extensions["happe_rules"]
    if endpoint in rules:
        return rules[endpoint]
    return getattr(app.view_functions.get(endpoint), "happe_rule", None)


def guard(app: Flask, others: dict[str, Rule]) -> None:
    """Check each endpoint's rule, and deny endpoints without one. `others`: the rules of libraries' endpoints."""
    app.extensions["happe_rules"] = others

    @app.before_request
    def _check() -> None:
        if request.endpoint is None:
            return  # the router answers 404 or 405
        rule = rule_of(app, request.endpoint)
        if rule is None:
            raise forbidden()
        check(rule, caller(), request.view_args or {})


def require_rules(app: Flask) -> None:
    """Raise RuntimeError for an application with an endpoint that has no rule."""
    without = sorted(e for e in app.view_functions if rule_of(app, e) is None)
    if without:
        raise RuntimeError(f"endpoints without a rule: {', '.join(without)}")


def caller() -> Caller:
    """The caller of this request."""
    who: Caller = g.get("happe_caller") or Caller()
    return who


def check(rule: Rule, who: Caller, view_args: dict[str, Any]) -> None:
    """Raise a Problem if the rule does not allow the caller."""
    if rule.who is Who.ANYBODY:
        return
    if who.who is Who.ANYBODY:
        raise unauthorized(rule.who)
    if who.who is not rule.who or (rule.device_kind and rule.device_kind is not who.device_kind):
        raise forbidden()
    if rule.right is not None:
        _check_right(rule, rule.right, who, view_args)
    if rule.fresh and who.proven_us + FRESH_US < now_us():
        raise Problem(HTTPStatus.FORBIDDEN, "sign-in-again", STALE)


def unauthorized(wanted: Who) -> Problem:
    """401: the caller is unknown."""
    detail = "Open the link that you were given." if wanted is Who.PARTICIPANT else "Sign in, or send a valid token."
    return Problem(HTTPStatus.UNAUTHORIZED, "unauthorized", detail)


def _check_right(rule: Rule, right: Right, who: Caller, view_args: dict[str, Any]) -> None:
    if "study" in view_args:
        study_id = g.happe_study_ids(view_args["study"])
        if study_id is None or not who.rights_in(study_id):
            raise not_found()
        allowed = who.may(right, study_id)
    else:
        allowed = who.may(right, None) if rule.everywhere else who.may_anywhere(right)
    if not allowed:
        raise forbidden()
