# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's record as models of pydantic: what profiles/schema/run-record.schema.json says, in the framework's own words.

The reference validates its input with them. Rules that a schema can't express, which only the study server checks, are
missing here.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

Time = Annotated[StrictInt, Field(ge=0, le=9223372036854775807)]
Khz = Annotated[StrictInt, Field(ge=1, le=20_000_000)]
PolicyId = Annotated[StrictInt, Field(ge=0, le=1023)]
Ppm = Annotated[StrictInt, Field(ge=0, le=1_000_000)]
Key = Literal["performance", "power"]
Text = Annotated[str, Field(min_length=1, max_length=200)]
Name = Annotated[str, Field(min_length=1, max_length=255)]
Levels = Annotated[list[Khz], Field(min_length=10, max_length=10)]
Ladders = Annotated[
    dict[
        Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,2}|10[01][0-9]|102[0-3])$")],
        Annotated[list[Khz], Field(min_length=1, max_length=64)],
    ],
    Field(max_length=1024),
]


class Strict(BaseModel):
    """Nothing that is not listed."""

    model_config = ConfigDict(extra="forbid")


class Uafp(Strict):
    """What was known of a user and application."""

    user: Name
    app: Name
    khz: Levels


class Settings(Strict):
    """What goes beyond the paper."""

    hysteresis_ppm: Literal[0] | None = None
    fixed_point: Literal[False] | None = None
    warm_start: StrictBool | None = None


class Header(Strict):
    """The trace's first line."""

    format: Literal["happe-trace/1"]
    mode: Literal["paper", "extended"]
    feedback: Literal["next-sample", "immediate"]
    period_us: Annotated[StrictInt, Field(ge=1, le=3_600_000_000)]
    keys: Literal["act", "sham"] | None = None
    ladders_khz: Ladders
    uafp: Annotated[list[Uafp], Field(max_length=256)] = []
    calibrated_khz: Ladders | None = None
    settings: Settings | None = None


class Policy(Strict):
    """What was measured of a policy."""

    id: PolicyId
    cur_khz: Khz | None = None
    util_ppm: Annotated[list[Ppm], Field(min_length=1, max_length=1024)]


class Press(Strict):
    """A key press."""

    t_us: Time
    key: Key


class Observation(Strict):
    """One of the trace's other lines."""

    t_us: Time
    user: Name | None
    app: Name | None
    policies: Annotated[list[Policy], Field(max_length=1024)]
    keys: Annotated[list[Press], Field(max_length=256)] = []


class Lesson(Strict):
    """What one press taught."""

    t_us: Time
    key: Key
    policy: PolicyId
    level: Annotated[StrictInt, Field(ge=0, le=9)]
    from_khz: Khz
    to_khz: Khz
    cur_khz: Khz
    util_ppm: Ppm


class Machine(Strict):
    """The laptop as it was."""

    cpu: Text
    driver: Text
    backend: Literal["setspeed", "cap", "observe", "simulated"]
    governor: Text
    tunables: Annotated[dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")], Text], Field(max_length=32)]
    kernel: Text | None = None


class Interruption(Strict):
    """What came between the participant and the application."""

    t_us: Time
    until_us: Time | None = None
    reason: Literal[
        "suspended", "locked", "focus-lost", "application-ended", "keyboard-lost", "contested", "power", "other"
    ]
    detail: Text | None = None


class Record(Strict):
    """What a laptop recorded of a run."""

    format: Literal["happe-run/1"]
    run: Annotated[str, Field(pattern=r"^[0-9A-HJKMNP-TV-Z]{8}$")]
    id: Annotated[str, Field(pattern=rf"^{UUID}$")]
    clock: Annotated[str, Field(pattern=rf"^monotonic:{UUID}$")]
    started_us: Time
    ended_us: Time
    header: Header
    observations: Annotated[list[Observation], Field(max_length=14_400)]
    profile_before: Levels | None
    profile_after: Levels | None
    learned: Annotated[list[Lesson], Field(max_length=14_400)]
    indicator: StrictBool
    rating: Annotated[StrictInt, Field(ge=1, le=100)] | None = None
    machine: Machine
    software: Annotated[
        dict[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._+-]{0,63}$")], Text], Field(min_length=1, max_length=32)
    ]
    interruptions: Annotated[list[Interruption], Field(max_length=1000)] = []
    notes: Annotated[list[Annotated[str, Field(min_length=1, max_length=1000)]], Field(max_length=50)] = []
