# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-indicator as a program: its output, files and cost, and the tray icon on desktops without an overlay."""

import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cost import resident_kib, wake_ups_in
from desktop import Desktop, Output, changed, program, wayland, without_layers, x11
from happed_stand_in import NAME, OBJECT
from laptop_stand_ins import MODEL, TRAY, WATCHER, WATCHER_PATH, WATCHER_XML, battery, becomes, portal
from overlay import BUSES, Overlay, happed, is_readable, press
from patience import PATIENCE_S, until
from private_bus import PrivateBus, stand_in
from program import ROOT

SCHEMA = json.loads((ROOT / "profiles/schema/power-model.schema.json").read_text())


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end, with no desktop and no settings."""
    with tempfile.TemporaryDirectory() as home:
        bare = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": home, "XDG_RUNTIME_DIR": home}
        return subprocess.run(
            [program("happe-indicator"), *arguments],
            env={**bare, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )


def buses(bus: PrivateBus) -> dict[str, str]:
    """Return the environment variables with the addresses of the buses."""
    return dict.fromkeys(BUSES, bus.address)


def test_says_in_words_what_it_would_show_and_why_it_cannot(bus: PrivateBus) -> None:
    with happed(bus):
        said = run("--battery", "simulated", "--status", **buses(bus))
    assert said.returncode == 0
    assert said.stdout.splitlines() == [
        "1 hour 39 minutes of battery left. Step 3 of 5. Battery at 100 %.",
        "no X server answers where DISPLAY says",
        "In front: torcs.",
        "No program reports which application is in front:",
        "no window system: neither WAYLAND_DISPLAY nor DISPLAY is set",
    ]


def test_says_it_as_json(bus: PrivateBus) -> None:
    with happed(bus):
        said = json.loads(run("--battery", "simulated", "--status", "--json", **buses(bus)).stdout)
    assert said == {
        "overlay": False,
        "trouble": "no X server answers where DISPLAY says",
        "focus_source": None,
        "focus_trouble": "no window system: neither WAYLAND_DISPLAY nor DISPLAY is set",
        "application": "torcs",
        "remaining_min": 99,
        "step": 3,
        "steps": 5,
        "khz": 1_600_000,
        "watts": None,
        "watts_from": None,
    }


def test_takes_the_real_battery_from_upower(bus: PrivateBus) -> None:
    with happed(bus), battery(bus):
        said = run("--status", **buses(bus)).stdout
    assert said.startswith("2 hours 30 minutes of battery left.")
    with happed(bus):
        assert run("--status", **buses(bus)).stdout.startswith("On mains.")
    assert run("--status", **buses(bus)).stdout.splitlines()[0] == "happed is not running."


def test_a_machines_own_model_drives_the_simulated_battery(bus: PrivateBus, tmp_path: Path) -> None:
    jsonschema.validate(MODEL, SCHEMA, registry=registry())
    file = tmp_path / "model.json"
    file.write_text(json.dumps(MODEL))
    with happed(bus):
        said = json.loads(run("--battery=simulated", "--model", file, "--status", "--json", **buses(bus)).stdout)
    assert said["remaining_min"] == 78  # 20 Wh at 10 + 10 * 8/15 W


def test_says_details_on_request_and_where_the_watts_are_from(bus: PrivateBus, tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    file.write_text(json.dumps(MODEL))
    model = ("--battery", "simulated", "--model", str(file))
    with happed(bus) as daemon, battery(bus):
        assert "Step 3 of 5, 1.6 GHz. Battery at 56 %. Measured power: 20 W; " in asked(bus, "--details")
        told = json.loads(asked(bus, "--details", "--json"))
        assert (told["watts"], told["watts_from"]) == (20.0, "battery")
        assert "Modelled power: 15 W; " in asked(bus, "--details", *model)
        assert json.loads(asked(bus, "--details", "--json", *model))["watts_from"] == "model"
        told = asked(bus, "--details", "--battery", "simulated")
        assert "1.6 GHz." in told
        assert "power:" not in told  # the program knows nothing of this machine
        daemon.tell("set", OBJECT, NAME, "Run", "K7QX")
        assert "GHz" not in asked(bus, "--details")
        assert "power:" not in asked(bus, "--details")


def asked(bus: PrivateBus, *arguments: str) -> str:
    """Return the output of --status."""
    return run("--status", *arguments, **buses(bus)).stdout


def registry() -> Any:  # noqa: ANN401 - referencing.Registry
    """Return the schemas that others refer to."""
    from referencing import Registry, Resource  # noqa: PLC0415 - slow to import

    schemas = [json.loads(path.read_text()) for path in (ROOT / "profiles/schema").glob("*.schema.json")]
    return Registry().with_resources([(schema["$id"], Resource.from_contents(schema)) for schema in schemas])


def test_names_what_is_wrong_with_a_model(tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    file.write_text(json.dumps({**MODEL, "watts": [[10, 10]]}))
    refused = run("--model", file, "--status")
    assert (refused.returncode, refused.stderr) == (
        65,
        f"happe-indicator: {file}: watts: a row for each frequency is wanted\n",
    )


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--corner", "middle"], 64, "--corner: middle not in {bottom-left"),
        (["--colour"], 64, "--colour"),
        (["--json"], 64, "--json requires --status"),
        (["--config", "/nonexistent.toml"], 66, "/nonexistent.toml"),
    ],
)
def test_says_what_is_wrong_with_its_command_line(arguments: list[str], status: int, said: str) -> None:
    refused = run(*arguments)
    assert refused.returncode == status
    assert said in refused.stderr


def test_reads_its_settings_and_the_command_line_has_the_last_word(bus: PrivateBus, tmp_path: Path) -> None:
    settings = tmp_path / "happe/indicator.toml"
    settings.parent.mkdir()
    settings.write_text('battery = "simulated"\ncorner = "top-left"\n')
    home = {"XDG_CONFIG_HOME": str(tmp_path), **buses(bus)}
    with happed(bus):
        assert run("--status", **home).stdout.startswith("1 hour 39 minutes")
        assert run("--status", "--battery", "real", **home).stdout.startswith("On mains")
        settings.write_text("details = true\n")
        assert "1.6 GHz" in run("--status", **home).stdout
        assert "1.6 GHz" not in run("--status", "--details=false", **home).stdout
    for wrong in ("batery", "corner"):
        settings.write_text(f'{wrong} = "simulated"\n')
        refused = run("--status", **home)
        assert refused.returncode == 65
        assert f"{settings}: " in refused.stderr
        assert wrong in refused.stderr
    typed = run("--corner", "middle", **home)
    assert typed.returncode == 64
    assert "middle not in" in typed.stderr
    settings.write_text('corner = "top-left"\n')
    assert run("--colour", **home).returncode == 64


@pytest.mark.parametrize("battery", ["real", "simulated"])
def test_never_wakes_up_while_nothing_changes(bus: PrivateBus, battery: str) -> None:
    """The real battery changes nothing by itself. The simulated one does while happed serves somebody."""
    served = {"Targets": [[0, 1_600_000]] if battery == "real" else []}
    with happed(bus, **served), x11() as desktop:
        before = desktop.seen()
        overlay = Overlay(desktop, bus).start("--battery", battery)
        if battery == "real":
            overlay.appears(before)
            assert resident_kib(overlay.process.pid) * 1024 <= 40e6
        # # Other tests start X servers meanwhile, and the program looks at their sockets.
        until(lambda: wake_ups_in(overlay.process.pid, 3) == 0, "it sleeps for three seconds")
        assert overlay.process.poll() is None


@pytest.mark.slow
def test_takes_at_most_30_mb_on_wayland(bus: PrivateBus) -> None:
    with happed(bus), wayland() as desktop:
        before = desktop.seen()
        overlay = Overlay(desktop, bus).start()
        overlay.appears(before)
        assert resident_kib(overlay.process.pid) * 1024 <= 30e6


def test_is_as_light_or_dark_as_the_desktop_becomes(bus: PrivateBus) -> None:
    with happed(bus), portal(bus) as desk, x11() as desktop:
        before = desktop.seen()
        overlay = Overlay(desktop, bus).start()
        dark, box = overlay.appears(before)
        for wanted in ("light", "dark"):
            becomes(desk, wanted)
            until(lambda: (changed(dark, desktop.seen()) is None) == (wanted == "dark"), f"it is {wanted}")  # noqa: B023 - in this turn
            is_readable(desktop.seen(), box)


def test_is_as_light_as_a_portal_says_that_comes_later(bus: PrivateBus) -> None:
    with happed(bus), x11() as desktop:
        before = desktop.seen()
        _, box = Overlay(desktop, bus).start().appears(before)

        def background() -> int:
            return sorted(desktop.seen().crop(box).convert("L").tobytes())[(box[2] - box[0]) * (box[3] - box[1]) // 2]

        assert background() < 128
        with portal(bus, "light"):
            until(lambda: background() > 128, "it is light")


YOUNG = {WATCHER_PATH: {"xml": WATCHER_XML, "properties": {"IsStatusNotifierHostRegistered": False}}}


def items(bus: PrivateBus) -> list[str]:
    """Return the texts of the icons in the tray."""
    base = ["busctl", f"--address={bus.address}", "--timeout=20"]
    listed = subprocess.run([*base, "list", "--no-pager", "--unique"], capture_output=True, text=True, check=True)
    names = re.findall(r"^:\S+", listed.stdout, re.MULTILINE)  # in a chroot the tool does not name their owners
    said = [*base, "get-property"]
    where = ["/StatusNotifierItem", "org.kde.StatusNotifierItem", "ToolTip"]
    found = [subprocess.run([*said, name, *where], capture_output=True, text=True, check=False) for name in names]
    return [item.stdout for item in found if item.returncode == 0]


def test_a_tray_icon_takes_its_place_where_it_is_asked_for(bus: PrivateBus) -> None:
    with happed(bus) as daemon, stand_in(bus, WATCHER, TRAY), x11() as desktop:
        overlay = Overlay(desktop, bus).start("--where", "tray", QT_QPA_PLATFORM="xcb")
        until(lambda: any("1 hour 39 minutes" in said for said in items(bus)), "the icon says how long it lasts")
        daemon.tell("set", OBJECT, NAME, "Targets", [[0, 800_000]])
        until(lambda: any("Step 1 of 5" in said for said in items(bus)), "the icon says that it is slower")
        overlay.process.terminate()
        assert overlay.process.wait(PATIENCE_S) == 0
        until(lambda: not items(bus), "the icon is gone")


def start_without_tray(desktop: Desktop, bus: PrivateBus, *options: str, **environment: str) -> Output:
    """Start it where there is no tray, and wait until it has reported this."""
    command = ("sh", "-c", 'exec "$@" 2>&1', "sh", program("happe-indicator"), "--battery", "simulated", *options)
    told = Output(desktop.start(*command, **buses(bus), QT_QPA_PLATFORM="xcb", **environment))
    until(lambda: any("shows nothing" in line for line in told.so_far()), "it has said that there is no tray")
    return told


def test_the_icon_appears_with_a_tray_that_comes_later_or_again(bus: PrivateBus) -> None:
    with happed(bus), x11() as desktop:
        told = start_without_tray(desktop, bus, "--where", "tray")
        for _ in range(2):
            with stand_in(bus, WATCHER, TRAY) as watcher:
                watcher.until("call", "RegisterStatusNotifierItem")
                until(lambda: any("1 hour 39 minutes" in said for said in items(bus)), "the icon is in the tray")
        assert told.process.poll() is None


def test_the_icon_waits_for_the_program_that_shows_icons(bus: PrivateBus) -> None:
    """On Plasma the watcher starts before the panel."""
    with happed(bus), x11() as desktop, stand_in(bus, WATCHER, YOUNG) as watcher:
        told = start_without_tray(desktop, bus, "--where", "tray")
        for name, value in TRAY[WATCHER_PATH]["properties"].items():
            watcher.tell("set", WATCHER_PATH, WATCHER, name, value)
        watcher.tell("signal", WATCHER_PATH, WATCHER, "StatusNotifierHostRegistered", "()", [])
        watcher.until("call", "RegisterStatusNotifierItem")
        assert sum("shows nothing" in line for line in told.so_far()) == 1


@pytest.mark.slow
def test_a_tray_icon_takes_its_place_where_the_compositor_has_no_layers(bus: PrivateBus) -> None:
    """Weston has no wlr-layer-shell, like GNOME; and there is no XWayland."""
    with x11() as desktop, happed(bus), stand_in(bus, WATCHER, TRAY):
        process = Overlay(desktop, bus).start(WAYLAND_DISPLAY=without_layers(desktop), DISPLAY="").process
        until(lambda: any("1 hour 39 minutes" in said for said in items(bus)), "a tray icon takes its place")
        assert process.poll() is None


@pytest.mark.slow
def test_only_an_overlay_without_a_place_moves_to_a_tray_that_comes(bus: PrivateBus) -> None:
    """GNOME gets a tray when its user switches the extension for it on. XWayland is a better place."""
    with x11() as desktop, happed(bus) as daemon:
        weston = without_layers(desktop)
        before = desktop.seen()
        better = Overlay(desktop, bus).start(WAYLAND_DISPLAY=weston)
        _, narrow = better.appears(before)
        start_without_tray(desktop, bus, WAYLAND_DISPLAY=weston, DISPLAY="")
        with stand_in(bus, WATCHER, TRAY) as watcher:
            watcher.until("call", "RegisterStatusNotifierItem")
            press(daemon, "performance", 2_200_000)
            until(lambda: better.appears(before)[1][2] > narrow[2], "XWayland shows the press")
            assert len(items(bus)) == 1
