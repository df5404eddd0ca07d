# SPDX-License-Identifier: GPL-2.0-or-later
"""Every table, for whoever needs them all: migrations and tests."""

from happe_study.accounts.models import Account, Grant, Token
from happe_study.allocation.models import Slot
from happe_study.audit.models import AuditDetail, AuditEntry, AuditHead
from happe_study.database import Base
from happe_study.devices.models import ClockEstimate, Device, Sitting
from happe_study.participants.models import Participant
from happe_study.profiles.models import LearningEvent, Profile, ProfileReview, TaughtRun, Uafp
from happe_study.reports.models import AnalysisDocument, Report, ReportFile
from happe_study.runs.models import Run, RunRecord
from happe_study.studies.models import Study
from happe_study.traces.models import Trace, TracePart

__all__ = [
    "Account",
    "AnalysisDocument",
    "AuditDetail",
    "AuditEntry",
    "AuditHead",
    "Base",
    "ClockEstimate",
    "Device",
    "Grant",
    "LearningEvent",
    "Participant",
    "Profile",
    "ProfileReview",
    "Report",
    "ReportFile",
    "Run",
    "RunRecord",
    "Sitting",
    "Slot",
    "Study",
    "TaughtRun",
    "Token",
    "Trace",
    "TracePart",
    "Uafp",
]
