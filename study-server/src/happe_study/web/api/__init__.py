# SPDX-License-Identifier: GPL-2.0-or-later
"""The API, which programs call over HTTP."""

from happe_study.web.api import (
    accounts,
    audit,
    device_runs,
    devices,
    exclusions,
    exports,
    participants,
    profiles,
    runs,
    studies,
    traces,
)

BLUEPRINTS = (
    accounts.api, studies.api, audit.api, exports.api, participants.api, runs.api, device_runs.api, devices.api,
    traces.api, profiles.api, exclusions.api,
)  # fmt: skip
