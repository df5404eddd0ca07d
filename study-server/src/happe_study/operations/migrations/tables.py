# SPDX-License-Identifier: GPL-2.0-or-later
"""The metadata of all tables: importing this module imports every module with a table."""

from happe_study.base import fingerprints, identity, limits  # noqa: F401 - as all of the next
from happe_study.base.database import Base
from happe_study.model import accounts, devices, documents, participants, profiles, results, runs, studies, traces  # noqa: F401
from happe_study.model.audit import models as audit  # noqa: F401
from happe_study.model.jobs import models as jobs  # noqa: F401

__all__ = ["Base"]
