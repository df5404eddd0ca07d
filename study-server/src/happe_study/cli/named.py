# SPDX-License-Identifier: GPL-2.0-or-later
"""Find the objects that a command names. The error for an unknown name says how to list the names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sqlalchemy import select

from happe_cli.errors import Failure
from happe_study.model.devices import Device
from happe_study.model.studies import Study
from happe_study.study.people import accounts

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from happe_study.model.accounts import Account


def account(session: Session, email: str) -> Account:
    """The account of an address. Raises Failure."""
    found = accounts.find(session, email)
    if found is None:
        raise Failure(os.EX_NOINPUT, f"{email}: no such account; `happe-server user list` shows all")
    return found


def study(session: Session, name: str) -> Study:
    """The study of a name. Raises Failure."""
    found = session.scalar(select(Study).where(Study.name == name))
    if found is None:
        raise Failure(os.EX_NOINPUT, f"{name}: no such study; `happe-server study list` shows all")
    return found


def device(session: Session, study_name: str, code: str) -> Device:
    """A study's device. Raises Failure."""
    found = session.scalar(select(Device).where(Device.code == code, Device.study_id == study(session, study_name).id))
    if found is None:
        advice = f"`happe-server device list {study_name}` shows all"
        raise Failure(os.EX_NOINPUT, f"{code}: {study_name} has no such device; {advice}")
    return found
