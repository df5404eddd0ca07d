# SPDX-License-Identifier: GPL-2.0-or-later
"""The only place that puts the server together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiflask import APIFlask
from werkzeug.middleware.proxy_fix import ProxyFix

from happe_study.base import languages, problems
from happe_study.base.config import Config, Secrets, load_secrets
from happe_study.base.database import Database
from happe_study.base.parts import Parts
from happe_study.base.version import VERSION
from happe_study.model import rules
from happe_study.results.job_kinds import KINDS
from happe_study.web import every_request as web
from happe_study.web import health, openapi, sign_in, staff_page, watch
from happe_study.web.api import (
    accounts as account_routes,
)
from happe_study.web.api import (
    audit as audit_routes,
)
from happe_study.web.api import device_runs as run_device_routes
from happe_study.web.api import (
    devices as device_routes,
)
from happe_study.web.api import (
    exports as export_routes,
)
from happe_study.web.api import (
    overview as overview_routes,
)
from happe_study.web.api import (
    participants as participant_routes,
)
from happe_study.web.api import (
    profiles as profile_routes,
)
from happe_study.web.api import (
    records as record_routes,
)
from happe_study.web.api import (
    runs as run_routes,
)
from happe_study.web.api import (
    sittings as sitting_routes,
)
from happe_study.web.api import (
    studies as study_routes,
)
from happe_study.web.api import (
    traces as trace_routes,
)
from happe_study.web.api import (
    unblinding as unblinding_routes,
)
from happe_study.web.api import (
    withdrawal as withdrawal_routes,
)
from happe_study.web.metrics import Metrics
from happe_study.web.participant import pages as participant_pages
from happe_study.web.participant import runs as run_pages
from happe_study.web.participant import withdrawal as withdrawal_pages
from happe_study.web.staff import (
    accounts as account_pages,
)
from happe_study.web.staff import (
    audit as audit_pages,
)
from happe_study.web.staff import (
    checks as check_pages,
)
from happe_study.web.staff import (
    devices as device_pages,
)
from happe_study.web.staff import (
    exports as export_pages,
)
from happe_study.web.staff import (
    jobs as job_pages,
)
from happe_study.web.staff import (
    overview as overview_pages,
)
from happe_study.web.staff import participants as participant_staff
from happe_study.web.staff import (
    planning as planning_pages,
)
from happe_study.web.staff import (
    profiles as profile_pages,
)
from happe_study.web.staff import (
    reports as report_pages,
)
from happe_study.web.staff import runs as run_staff
from happe_study.web.staff import (
    studies as study_pages,
)
from happe_study.web.staff import (
    unblinding as unblinding_pages,
)
from happe_study.web.staff import withdrawal as withdrawal_staff
from happe_study.web.staff.run_page import pages as run_view

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask import Blueprint

NAVIGATION = staff_page.Navigation(
    site=(
        ("overview_pages.studies", "Studies"),
        ("audit_pages.log", "Audit log"),
        ("account_pages.accounts", "Accounts"),
        ("account_pages.me", "You"),
    ),
    study=(
        ("overview_pages.study", "Overview"),
        ("participant_staff.participants", "Participants"),
        ("profile_pages.profiles", "Profiles"),
        ("device_pages.devices", "Devices"),
        ("check_pages.checks", "Checks"),
        ("report_pages.report", "Report"),
        ("export_pages.exports", "Exports"),
        ("study_pages.protocol", "Protocol"),
        ("study_pages.roles", "Roles"),
        ("unblinding_pages.unblinding", "Unblinding"),
    ),
)


def create_app(config: Config, secrets: Secrets | None = None) -> APIFlask:
    """Make an application for a database that is already migrated. Raises ConfigError, RuntimeError."""
    secrets = secrets or load_secrets(config.secrets_folder)
    app = APIFlask(
        "happe_study",
        title="HAPPE study server",
        version=VERSION,
        spec_path="/api/v1/openapi.json",
        docs_path=None,
        json_errors=False,
    )
    app.url_map.strict_slashes = False
    metrics = Metrics()
    database = Database(config.url, pool_size=config.threads, busy=metrics.busy)
    app.extensions["happe"] = Parts(config, secrets, database)
    if config.trusted_proxies:
        app.wsgi_app = ProxyFix(app.wsgi_app, config.trusted_proxies, config.trusted_proxies)  # type: ignore[method-assign] # WSGI's way
    problems.handle_problems(app)
    languages.install(app)
    staff_page.install(app, NAVIGATION)
    job_pages.install(app, KINDS)
    openapi.install(app)
    web.install(app, config, secrets)
    sign_in.install(app)
    rules.guard(
        app, {"static": rules.Rule(rules.Who.ANYBODY), "openapi.spec": rules.Rule(rules.Who.ANYBODY)} | sign_in.RULES
    )
    web.refuse_others_forms(app)
    for blueprint in blueprints():
        app.register_blueprint(blueprint)
    rules.require_rules(app)
    watch.install(app, metrics, addresses=config.log_addresses)
    return app


def blueprints() -> Iterator[Blueprint]:
    """Every domain's routes. Only the programs that start a server import this module, so no import is circular."""
    yield health.pages
    yield from (account_routes.api, account_pages.pages)
    yield from (study_routes.api, overview_routes.api, unblinding_routes.api, audit_routes.api, export_routes.api)
    yield from (participant_routes.api, participant_pages.pages)
    yield from (withdrawal_routes.api, withdrawal_pages.pages, withdrawal_staff.pages)
    yield from (run_routes.api, run_device_routes.api, run_pages.pages)
    yield from (device_routes.api, sitting_routes.api, record_routes.api, trace_routes.api)
    yield from (
        overview_pages.pages,
        study_pages.pages,
        participant_staff.pages,
        run_staff.pages,
        run_view.pages,
        device_pages.pages,
    )
    yield from (unblinding_pages.pages, audit_pages.pages)
    yield from (check_pages.pages, planning_pages.pages, report_pages.pages, export_pages.pages, job_pages.pages)
    yield from (profile_routes.api, profile_pages.pages)
