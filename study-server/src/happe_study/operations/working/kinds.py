# SPDX-License-Identifier: GPL-2.0-or-later
"""Every kind of job that a worker does: those of studies, and the server's own."""

from happe_study.app.job_kinds import KINDS as OF_STUDIES
from happe_study.operations import backup

KINDS = {**OF_STUDIES, backup.KIND.name: backup.KIND}
