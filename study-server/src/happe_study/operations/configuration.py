# SPDX-License-Identifier: GPL-2.0-or-later
"""The configuration file that `init` writes: every option with its purpose and its default."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from happe_study.base.config import SECTIONS, Config

if TYPE_CHECKING:
    from pydantic import BaseModel

HEAD = """\
# The study server's configuration. docs/study-server.md explains it, `happe-server check` checks it. Every option is
# here; take the # off and change it, then restart the server. Relative paths start at this file's folder.
"""

ABOUT = {
    "data": "Where the database and the power traces are. Only the server's user may enter it (0700).",
    "secrets": "Where the secrets are, if not in the folder `secrets` of the data. Files of the server's user (0600).",
    "database_url": 'A PostgreSQL without a password: "postgresql+psycopg://user@/name?host=/run/postgresql".',
    "database_url_file": (
        "A file with the database's URL, if the URL has a password. Without it: SQLite in the data folder."
    ),
    "listen": "HOST:PORT, for nginx or Caddy, which have TLS. Beyond loopback only with trusted_proxies.",
    "metrics_listen": 'Where Prometheus reads the metrics (GET /metrics), or "off".',
    "public_url": "How browsers reach the server. With https:// cookies travel over https only.",
    "trusted_proxies": "How many reverse proxies stand before the server. It trusts their X-Forwarded headers. 0 to 8.",
    "workers": "Processes. 1 to 64.",
    "threads": "How many requests each process answers at a time. 1 to 256.",
    "jobs": "How many jobs, such as reports, this server does at a time. 0 to 64; 0: `happe-server worker` does them.",
    "stop_seconds": "How many seconds requests in progress may take when the server stops. 1 to 3600.",
    "custodian_wait_hours": "How many hours a custodian who got the role after the lock must wait. 0 to 720.",
    "least_share_of_run": "The share of its planned time that a run must last before its laptop may end it. 0 to 1.",
    "log_level": '"debug", "info", "warning" or "error". "debug" also logs exceptions\' messages, which may repeat\n'
    "# what clients sent: not for a study.",
    "log_addresses": "Whether the log has the address of each request.",
    "backups": "The folder of this machine for the backups that `happe-server backup --job` asks for.",
    "limits": "Limits of uploads, guesses and requests. Sizes are in bytes.",
    "limits.record_bytes": "Of one run's record.",
    "limits.part_bytes": "Of one part of a power trace.",
    "limits.device_bytes": "Of all traces of one device.",
    "limits.study_bytes": "Of all traces of one study.",
    "limits.free_bytes": "Free space to keep on the data's disk; with less, /healthz answers 503.",
    "limits.login": "Wrong passwords and codes, for each account at each address.",
    "limits.enrol": "Wrong enrolment codes and wrong links, for each address.",
    "limits.participant": "Requests to a route by each participant; by unknown people, for each address.",
    "s3": "A bucket that several servers share for the power traces. Without it the traces are in the data folder.",
    "s3.bucket": "Its name. It must exist, and keep no versions.",
    "s3.endpoint": 'Where it is, such as "https://s3.example.org". Without it: Amazon S3.',
    "s3.region": "Its region.",
    "s3.credentials_file": (
        "A file in the format of ~/.aws/credentials (0600). Without it: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
    ),
}


def written(fields: dict[str, Any]) -> str:
    """The text of a configuration file with these fields. All other options are comments."""
    lines = [HEAD, *_section(Config, fields, "")]
    for name, model in SECTIONS.items():
        is_given = name in fields or name == "limits"
        lines += [f"# {ABOUT[name]}", f"{'' if is_given else '#'}[{name}]"]
        lines += _section(model, fields.get(name, {}), f"{name}.")
    return "\n".join(lines)


def _section(model: type[BaseModel], fields: dict[str, Any], prefix: str) -> list[str]:
    lines = []
    for name, option in model.model_fields.items():
        if name in SECTIONS:
            continue
        value = fields.get(name, option.default)
        example = (
            '""' if value is None or not isinstance(value, (str, int, float)) else json.dumps(value, ensure_ascii=False)
        )
        lines += [f"# {ABOUT[prefix + name]}", f"{'' if name in fields else '#'}{name} = {example}", ""]
    return lines
