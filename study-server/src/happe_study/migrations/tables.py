# SPDX-License-Identifier: GPL-2.0-or-later
"""All tables, for migrations and tests."""

from happe_study.audit.models import AuditDetail, AuditEntry, AuditHead
from happe_study.base.database import Base
from happe_study.base.fingerprints import SecretFingerprint
from happe_study.base.identity import Identity
from happe_study.base.limits import RateHits
from happe_study.design.study import Study
from happe_study.evidence.documents.models import AnalysisDocument
from happe_study.evidence.profiles.models import LearningEvent, Profile, ProfileReview, TaughtRun, Uafp
from happe_study.evidence.traces.models import SweptPart, Trace, TracePart
from happe_study.jobs.models import Job
from happe_study.people.accounts.models import Account, Grant, Token
from happe_study.people.devices.models import ClockEstimate, Device, Sitting
from happe_study.people.participants.models import Participant
from happe_study.results.exports.models import ExportPiece
from happe_study.results.reports.models import Report, ReportFile
from happe_study.runs.course.models import Run, RunRecord
from happe_study.studies.models import Slot

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
