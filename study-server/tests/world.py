# SPDX-License-Identifier: GPL-2.0-or-later
"""A server in a test: an application on a database, its people and its machines.

Services, not requests, prepare the state with which a test begins.
"""

import hashlib
import shutil
from pathlib import Path
from typing import Any

from flask.testing import FlaskClient
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from sqlalchemy import func, select, text

from happe_study.base.clock import now_us
from happe_study.base.codes import new_secret
from happe_study.base.config import Config, Secrets
from happe_study.base.database import Base
from happe_study.model.accounts import Account, Grant, TokenKind
from happe_study.model.audit.models import AuditDetail, AuditEntry
from happe_study.model.rights import Role
from happe_study.study.people import tokens
from happe_study.web.assembly import create_app

AT_ONCE = {"custodian_wait_hours": 0, "least_share_of_run": 0.0}  # no test waits
PROTOCOLS = Path(__file__).parents[1] / "src/happe_study/study/protocol/examples"


class Compiled(BytecodeCache):
    """A cache of templates that the first server of this process has compiled."""

    def __init__(self) -> None:
        self._known: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Use the compiled template of the same source, if there is one."""
        if known := self._known.get(bucket.key):
            bucket.bytecode_from_string(known)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a compiled template."""
        self._known[bucket.key] = bucket.bytecode_to_string()


def fixed_secrets(name: str = "test") -> Secrets:
    """Secrets that do not change between runs of a test."""
    keys = [hashlib.sha256(f"{name} {purpose}".encode()).digest() for purpose in ("session", "password", "allocation")]
    return Secrets(*keys)


TEMPLATES = Compiled()


def sqlite_copy(template: Path, folder: Path) -> str:
    """Copy an SQLite file to the place in a folder where a server looks for its database, and return its URL."""
    shutil.copy(template, folder / "server.db")
    return f"sqlite:///{folder / 'server.db'}"


class World:
    """A server. `client()` is a new browser or program."""

    def __init__(self, folder: Path, database_url: str, **config: object) -> None:
        fields = {"data": folder, "database_url": database_url, **AT_ONCE, **config}
        self.config = Config.model_validate(fields)
        self.app = create_app(self.config, fixed_secrets())
        self.app.testing = True
        self.app.jinja_env.bytecode_cache = TEMPLATES
        self.database = self.app.extensions["happe"].database

    def close(self) -> None:
        """Close the database's connections."""
        self.database.dispose()

    def waits(self, many: int = 1) -> bool:
        """Whether so many transactions on PostgreSQL wait for others."""
        waiting = text(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        with self.database.reading() as session:
            return bool(session.execute(waiting).scalar_one() >= many)

    def digest(self) -> str:
        """SHA-256 of all rows of all tables, but for the counts of requests; and of all files of power traces."""
        found = hashlib.sha256()
        with self.database.reading() as session:
            for table in (table for table in Base.metadata.sorted_tables if table.name != "rate_hits"):
                for row in sorted(map(repr, session.execute(select(table)))):
                    found.update(row.encode())
        for path in sorted(self.config.traces_folder.rglob("*")):
            found.update(str(path).encode() + (path.read_bytes() if path.is_file() else b""))
        return found.hexdigest()

    def count(self, table: type[Base]) -> int:
        """The number of a table's rows."""
        with self.database.reading() as session:
            return session.scalar(select(func.count()).select_from(table)) or 0

    def actions(self) -> list[str]:
        """The actions in the audit log."""
        with self.database.reading() as session:
            return list(session.scalars(select(AuditEntry.action).order_by(AuditEntry.number)))

    def details(self, action: str) -> list[dict[str, Any]]:
        """The details of an action's entries in the audit log."""
        details = select(AuditDetail.detail).join(AuditEntry, AuditEntry.number == AuditDetail.number)
        with self.database.reading() as session:
            return list(session.scalars(details.where(AuditEntry.action == action).order_by(AuditEntry.number)))

    def client(self, token: str | None = None) -> FlaskClient:
        """A program with this token, or a browser without a token."""
        client = self.app.test_client()
        if token is not None:
            client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {token}"
        return client

    def account(self, *roles: Role, study_id: int | None = None, email: str | None = None) -> str:
        """Make an account with these roles, and return its access token."""
        with self.database.writing() as session:
            account = Account(
                email=email or f"{new_secret()[:8]}@example.org", fs_uniquifier=new_secret(), created_us=now_us()
            )
            account.grants = [Grant(role=role, study_id=study_id) for role in roles]
            session.add(account)
            session.flush()
            return tokens.issue(session, TokenKind.ACCOUNT, account.id)

    def staff(self, *roles: Role, study_id: int | None = None) -> FlaskClient:
        """A program with the access token of a new account with these roles."""
        return self.client(self.account(*roles, study_id=study_id))
