# SPDX-License-Identifier: GPL-2.0-or-later
"""Staff's pages about devices: list, create, renew and revoke them. They show an enrolment code only once."""

from typing import Any

from flask import Blueprint, Response, g, request, url_for
from markupsafe import Markup
from sqlalchemy import select
from werkzeug.wrappers import Response as AnyResponse

from happe_study.base.clock import now_us
from happe_study.base.parts import parts
from happe_study.base.problems import Problem, not_found
from happe_study.model.devices import Device
from happe_study.model.rights import Right
from happe_study.model.rules import DeviceKind, caller, staff
from happe_study.model.studies import Study
from happe_study.study.people import devices as services
from happe_study.study.studies.services import find
from happe_study.web.staff_page import Input, done, field, form_page, mistake, once_page, or_again, page, when

pages = Blueprint("device_pages", __name__)

LONGEST_NAME = 64
HINT = "As on the device\N{RIGHT SINGLE QUOTATION MARK}s label, such as: laptop 3."
RENEW = Markup(
    "<p>Let <strong>{}</strong> enrol again, for example after its disk was replaced. Its token ends now. A "
    "participant who is using it must sign in to a sitting again afterwards.</p>"
)
REVOKE = Markup(
    "<p>Revoke <strong>{}</strong> if it is lost, or no longer belongs to the study. Its token ends now: it can no "
    "longer start runs or upload anything. Its earlier uploads stay.</p>"
)
KINDS = (
    (DeviceKind.LAPTOP, "Laptop: participants use it and start runs on it"),
    (DeviceKind.METER, "Meter: measures power"),
)


@pages.get("/studies/<study>/devices")
@staff(Right.DEVICE_READ)
def devices(study: str) -> Response:
    """A study's devices, by name."""
    with parts().database.reading() as session:
        found = find(session, study)
        rows = session.scalars(select(Device).where(Device.study_id == found.id).order_by(Device.name)).all()
        clocks = services.last_clocks(session, found.id)
        compared = {number: clock.server_us for number, clock in clocks.items()}
        contacts = {one.id: max(one.heartbeat_us or 0, compared.get(one.id, 0)) or None for one in rows}
        more: dict[str, Any] = {"rows": rows, "clocks": clocks, "contacts": contacts, "now": now_us()}
        return page("devices", "Devices", study=found, **more)


@pages.get("/studies/<study>/new-device")
@staff(Right.DEVICE_MANAGE)
def new_device_form(study: str, problem: Problem | None = None) -> Response:
    """The form for a new device's name and kind."""
    with parts().database.reading() as session:
        found = find(session, study)
        fields = (Input("name", "Name", HINT), Input("kind", "Kind", options=KINDS))
        return form_page(
            "New device", "Make its code", *fields, here="New", study=found, problem=problem, trail=_above(study)
        )


@pages.post("/studies/<study>/new-device")
@staff(Right.DEVICE_MANAGE)
@or_again(new_device_form)
def new_device(study: str) -> Response:
    """Name a new device, and show its enrolment code once."""
    name = field("name", longest=LONGEST_NAME, what="The name")
    kind = request.form.get("kind", "")
    if kind not in set(DeviceKind):
        raise mistake("kind", "Choose one.")
    with parts().database.writing() as session:
        found = find(session, study)
        device, code = services.create(session, found.id, name, DeviceKind(kind), caller())
        return _code(found, device, code)


@pages.get("/studies/<study>/devices/<code>/renew")
@staff(Right.DEVICE_MANAGE)
def renew_form(study: str, code: str, problem: Problem | None = None) -> Response:
    """The form that explains a new enrolment code and asks for confirmation."""
    device, more = _about_one(study, code, problem)
    about = RENEW.format(device.name)
    return form_page("New enrolment code", "Make a new code", about=about, here="New code", **more)


@pages.post("/studies/<study>/devices/<code>/renew")
@staff(Right.DEVICE_MANAGE)
@or_again(renew_form)
def renew(study: str, code: str) -> Response:
    """Let a device enrol again."""
    with parts().database.writing() as session:
        found = find(session, study)
        device = services.find(session, found.id, code)
        return _code(found, device, services.renew(session, device, caller()))


@pages.get("/studies/<study>/devices/<code>/revoke")
@staff(Right.DEVICE_MANAGE)
def revoke_form(study: str, code: str, problem: Problem | None = None) -> Response:
    """The form that explains revoking and asks for confirmation."""
    device, more = _about_one(study, code, problem)
    about, button = REVOKE.format(device.name), f"Revoke {device.name}"
    return form_page("Revoke a device", button, about=about, here="Revoke", danger=True, **more)


@pages.post("/studies/<study>/devices/<code>/revoke")
@staff(Right.DEVICE_MANAGE)
@or_again(revoke_form)
def revoke(study: str, code: str) -> AnyResponse:
    """End a device's tokens now."""
    with parts().database.writing() as session:
        device = services.find(session, g.happe_study_ids(study), code)
        services.revoke(session, device, caller())
        return done(f"{device.name} is revoked.", "device_pages.devices", study=study)


def _above(study: str) -> tuple[tuple[str, str], ...]:
    return ((url_for("device_pages.devices", study=study), "Devices"),)


def _code(study: Study, device: Device, code: str) -> Response:
    about = Markup("Type it at the device. It works once, until {}.").format(when(device.enrol_expires_us))
    title, then = f"Enrolment code of {device.name}", url_for("device_pages.devices", study=study.name)
    return once_page(
        title, "code", title, code, about=about, then=then, here="Code", study=study, trail=_above(study.name)
    )


def _about_one(study: str, code: str, problem: Problem | None) -> tuple[Device, dict[str, Any]]:
    """A device, and the arguments that its forms share."""
    with parts().database.reading() as session:
        found = find(session, study)
        device = session.scalar(select(Device).where(Device.code == code, Device.study_id == found.id))
        if device is None:
            raise not_found()
        above = _above(study)
        return device, {"study": found, "problem": problem, "trail": above, "back": above[0][0]}
