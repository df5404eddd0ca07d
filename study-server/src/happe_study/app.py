# SPDX-License-Identifier: GPL-2.0-or-later
"""The one place where the server is put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiflask import APIFlask
from werkzeug.middleware.proxy_fix import ProxyFix

from happe_study import openapi, problems, rules, web
from happe_study.accounts import sign_in
from happe_study.config import Config, Secrets, load_secrets
from happe_study.database import Database
from happe_study.parts import Parts, parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask import Blueprint

__all__ = ["Parts", "create_app", "parts"]

VERSION = "0.1.0"


def create_app(config: Config, secrets: Secrets | None = None) -> APIFlask:
    """An application on a database that is migrated already. Raises ConfigError, RuntimeError."""
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
    app.extensions["happe"] = Parts(config, secrets, Database(config.url, pool_size=config.threads))
    app.wsgi_app = ProxyFix(app.wsgi_app, *[config.trusted_proxies] * 3) if config.trusted_proxies else app.wsgi_app  # type: ignore[method-assign]
    problems.handle_problems(app)
    openapi.install(app)
    web.install(app, config, secrets)
    sign_in.install(app)
    rules.guard(
        app, {"static": rules.Rule(rules.Who.ANYBODY), "openapi.spec": rules.Rule(rules.Who.ANYBODY)} | sign_in.RULES
    )
    for blueprint in blueprints():
        app.register_blueprint(blueprint)
    rules.require_rules(app)
    return app


def blueprints() -> Iterator[Blueprint]:
    """Every domain's routes."""
    yield from ()
