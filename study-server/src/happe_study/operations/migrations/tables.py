# SPDX-License-Identifier: GPL-2.0-or-later
"""All tables, for migrations and tests."""

from happe_study.base.database import Base
from happe_study.base.fingerprints import SecretFingerprint
from happe_study.base.identity import Identity
from happe_study.base.limits import RateHits
from happe_study.model.accounts import Account, Grant, Token
from happe_study.model.audit.models import AuditDetail, AuditEntry, AuditHead
from happe_study.model.devices import ClockEstimate, Device, Sitting
from happe_study.model.documents import AnalysisDocument
from happe_study.model.jobs.models import Job
from happe_study.model.participants import Participant
from happe_study.model.profiles import LearningEvent, Profile, ProfileReview, TaughtRun, Uafp
from happe_study.model.results import ExportPiece, Report, ReportFile
from happe_study.model.runs import Run, RunRecord
from happe_study.model.studies import Slot, Study
from happe_study.model.traces import SweptPart, Trace, TracePart

__all__ = [
    "Account",
    "AnalysisDocument",
    "AuditDetail",
    "AuditEntry",
    "AuditHead",
    "Base",
    "ClockEstimate",
    "Device",
    "ExportPiece",
    "Grant",
    "Identity",
    "Job",
    "LearningEvent",
    "Participant",
    "Profile",
    "ProfileReview",
    "RateHits",
    "Report",
    "ReportFile",
    "Run",
    "RunRecord",
    "SecretFingerprint",
    "Sitting",
    "Slot",
    "Study",
    "SweptPart",
    "TaughtRun",
    "Token",
    "Trace",
    "TracePart",
    "Uafp",
]
