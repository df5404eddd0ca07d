# SPDX-License-Identifier: GPL-2.0-or-later
"""What a load of uploads begins with: databases, a locked study, laptops, runs that have started, and their records."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING
from uuid import uuid4

from sqlalchemy import func, select, update

import records
from bare import Document
from enrolled import enrol
from given_devices import device
from given_studies import small, study
from happe_study import migrations
from happe_study.audit.verify import verify_log
from happe_study.base.clock import now_us
from happe_study.base.config import SECRET_NAMES, Config
from happe_study.base.database import Database, table
from happe_study.runs.course.models import Run, RunRecord
from load import Request
from serving import free_address
from world import World, fixed_secrets

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 120  # of each record, one sample a second
RUNS_EACH = 10  # of a participant in given_studies.small
DESIGN = 4  # its number of participants is a multiple of this
TEMPLATES = 64  # records made; what is sent are these under their runs' codes and ids of their own
WORKERS, THREADS = 2, 8


@dataclass(frozen=True)
class Stage:
    """A study server's configuration and the uploads that it can take, in the order of sending."""

    config: Config
    uploads: list[Request]


def study_server(folder: Path, url: str, uploads: int, clients: int) -> Stage:
    """A migrated database with so many started runs or a few more, of as many laptops as there are clients."""
    config = _config(folder, url)
    _write_secrets(config)
    database = Database(url)
    migrations.upgrade(database, secrets=fixed_secrets())
    database.dispose()
    participants = -(-uploads // (RUNS_EACH * clients)) * clients
    world = World(folder, url)
    try:
        ordered = _started(world, participants + -participants % DESIGN, clients)
    finally:
        world.close()
    return Stage(config, ordered[:uploads])


def reference(folder: Path, url: str) -> Config:
    """A database with the reference's table alone."""
    config = _config(folder, url)
    database = Database(url)
    table(Document).create(database.engine)
    database.dispose()
    return config


def documents(uploads: list[Request]) -> list[Request]:
    """Requests to the reference with the records of uploads, each a row of its own."""
    headers = {"Content-Type": "application/json"}
    return [Request("PUT", f"/documents/{uuid4().hex}", upload.body, headers) for upload in uploads]


def kept(url: str) -> tuple[int, bool]:
    """How many records a study server's database has, and whether its audit log is whole."""
    database = Database(url)
    try:
        with database.reading() as session:
            whole = verify_log(session).is_whole
            return session.scalar(select(func.count()).select_from(RunRecord)) or 0, whole
    finally:
        database.dispose()


def _config(folder: Path, url: str) -> Config:
    folder.mkdir(exist_ok=True)
    fields = {"data": folder, "database_url": url, "listen": free_address(), "metrics_listen": free_address()}
    return Config.model_validate({**fields, "workers": WORKERS, "threads": THREADS})


def _write_secrets(config: Config) -> None:
    config.secrets_folder.mkdir(mode=0o700)
    secrets = fixed_secrets()
    for name in SECRET_NAMES:
        path = config.secrets_folder / f"{name}.key"
        path.touch(0o600)
        path.write_text(getattr(secrets, name).hex())


def _started(world: World, participants: int, clients: int) -> list[Request]:
    """Uploads of every run of so many participants, whose laptops take turns: laptop N is the Nth client's."""
    made = study(world, protocol=small(participants=participants))
    laptops = [device(world, made) for _ in range(clients)]
    laptop_of = {enrol(world, made.id): number % clients for number in range(participants)}
    runs: defaultdict[int, list[str]] = defaultdict(list)
    with world.database.writing() as session:
        for participant, number in laptop_of.items():
            start = {"state": "started", "started_us": now_us(), "device_id": laptops[number].device.id}
            session.execute(update(Run).where(Run.participant_id == participant).values(start))
        for run in session.scalars(select(Run).order_by(Run.participant_id, Run.position)):
            runs[laptop_of[run.participant_id]].append(run.code)
    templates = [records.make(seconds=SECONDS, seed=seed) for seed in range(TEMPLATES)]
    rounds = zip(*(runs[number] for number in range(clients)), strict=True)
    return [
        _upload(code, laptops[number % clients].token, templates[number % TEMPLATES])
        for number, code in enumerate(chain.from_iterable(rounds))
    ]


def _upload(code: str, token: str, template: records.Json) -> Request:
    record = template | {"run": code, "id": str(uuid4())}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    return Request("PUT", f"/api/v1/runs/{code}/record/{record['id']}", records.encode(record), headers)
