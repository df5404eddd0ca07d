# SPDX-License-Identifier: GPL-2.0-or-later
"""Stand-ins for UPower, for the portal with the desktop's style and for a tray, and a power model of a laptop."""

from contextlib import AbstractContextManager
from typing import Any

from private_bus import PrivateBus, StandIn, stand_in

UPOWER = "org.freedesktop.UPower"
BATTERY = "/org/freedesktop/UPower/devices/DisplayDevice"
BATTERY_XML = f"""<node><interface name="{UPOWER}.Device">
  <property name="IsPresent" type="b" access="read"/><property name="State" type="u" access="read"/>
  <property name="Energy" type="d" access="read"/><property name="EnergyRate" type="d" access="read"/>
  <property name="Percentage" type="d" access="read"/>
  <property name="TimeToEmpty" type="x" access="read"/></interface></node>"""
DISCHARGING = {
    "IsPresent": True, "State": 2, "Energy": 50.0, "EnergyRate": 20.0, "Percentage": 56.0, "TimeToEmpty": 9000,
}  # fmt: skip
# Its power depends on the frequency alone.
MODEL = {
    "format": "happe-power-model/1",
    "machine": "a laptop",
    "measured": "2026-11-21",
    "utilisations_percent": [0, 100],
    "frequencies_khz": [800_000, 2_300_000],
    "watts": [[10, 10], [20, 20]],
}
SETTINGS = "org.freedesktop.portal.Settings"
PORTAL = "/org/freedesktop/portal/desktop"
SETTINGS_XML = f"""<node><interface name="{SETTINGS}">
  <method name="Read"><arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="v" direction="out"/>
  </method>
  <signal name="SettingChanged"><arg type="s"/><arg type="s"/><arg type="v"/></signal></interface></node>"""
STYLES = {"dark": 1, "light": 2}
WATCHER = "org.kde.StatusNotifierWatcher"
WATCHER_XML = f"""<node><interface name="{WATCHER}">
  <method name="RegisterStatusNotifierItem"><arg type="s" direction="in"/></method>
  <property name="IsStatusNotifierHostRegistered" type="b" access="read"/></interface></node>"""
WATCHER_PATH = "/StatusNotifierWatcher"
TRAY: dict[str, Any] = {WATCHER_PATH: {"xml": WATCHER_XML, "properties": {"IsStatusNotifierHostRegistered": True}}}


def battery(bus: PrivateBus) -> AbstractContextManager[StandIn]:
    """Run a UPower with a battery that lasts two and a half hours."""
    return stand_in(bus, UPOWER, {BATTERY: {"xml": BATTERY_XML, "properties": DISCHARGING}})


def portal(bus: PrivateBus, style: str = "") -> AbstractContextManager[StandIn]:
    """Run a portal that names this style, or none."""
    answer = [["u", STYLES[style]]] if style else {"silent": True}
    settings = {"xml": SETTINGS_XML, "answers": {"Read": answer}}
    return stand_in(bus, "org.freedesktop.portal.Desktop", {PORTAL: settings})


def becomes(desk: StandIn, style: str) -> None:
    """Make the desktop dark or light."""
    change = ("org.freedesktop.appearance", "color-scheme", ["u", STYLES[style]])
    desk.tell("signal", PORTAL, SETTINGS, "SettingChanged", "(ssv)", change)
