# SPDX-License-Identifier: GPL-2.0-or-later
"""The health check: the database answers, and the disk has space. The answer says no more than that."""

import shutil
from http import HTTPStatus

import structlog
from flask import Blueprint, Response
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from happe_study.base.parts import Parts, parts
from happe_study.model.audit.models import AuditHead
from happe_study.model.rules import anybody

log = structlog.get_logger(__name__)

pages = Blueprint("health", __name__)


@pages.get("/healthz")
@anybody
def healthz() -> Response:
    """200 if the server can work, otherwise 503."""
    wrong = trouble(parts())
    if wrong is None:
        return Response("ok\n", mimetype="text/plain")
    log.error("not healthy", reason=wrong)
    return Response("unavailable\n", HTTPStatus.SERVICE_UNAVAILABLE, mimetype="text/plain")


def trouble(server: Parts) -> str | None:
    """The reason why the server cannot work, or None."""
    try:
        with server.database.reading() as session:
            if session.scalar(select(AuditHead.id)) is None:
                return "database is empty"
        free = shutil.disk_usage(server.config.data).free
    except SQLAlchemyError:
        return "database"
    except OSError:
        return "data folder"
    return None if free >= server.config.limits.free_bytes else "disk is full"
