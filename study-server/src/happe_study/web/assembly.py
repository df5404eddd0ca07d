# SPDX-License-Identifier: GPL-2.0-or-later
"""The only place that puts the server together."""

from collections.abc import Iterator

from apiflask import APIFlask
from flask import Blueprint
from werkzeug.middleware.proxy_fix import ProxyFix

from happe_study.base import languages, problems
from happe_study.base.config import Config, Secrets, load_secrets
from happe_study.base.database import Database
from happe_study.base.parts import Parts
from happe_study.base.version import VERSION
from happe_study.model import rules
from happe_study.web import api, health, openapi, participant, sign_in, staff, staff_page, watch
from happe_study.web import every_request as web
from happe_study.web.metrics import Metrics


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
    staff_page.install(app)
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
    """Everybody's routes."""
    yield health.pages
    yield from (*api.BLUEPRINTS, *participant.BLUEPRINTS, *staff.BLUEPRINTS)
