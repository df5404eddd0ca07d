# SPDX-License-Identifier: GPL-2.0-or-later
"""CMake finds wlroots' Wayland protocols, which the desktop's programs need, and else leaves these programs out.

A small project looks for them in a root of its own.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from program import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CRATES = "usr/share/cargo/registry"
DEBIAN_12 = f"{CRATES}/wayland-protocols-0.29.4/wlr-protocols"
DEBIAN_13 = f"{CRATES}/wayland-protocols-wlr-0.3.6/wlr-protocols"
OF_ITS_OWN = "usr/share/wlr-protocols"


class Project:
    """A project that looks for them, with one build folder."""

    def __init__(self, folder: Path, module: str = "WlrProtocols") -> None:
        """Configure nothing yet."""
        self.root = folder / "root"
        self._folder = folder
        (folder / "pkgconfig").mkdir()
        included = ROOT / f"cmake/{module}.cmake"
        lines = f'cmake_minimum_required(VERSION 3.25)\nproject(looks LANGUAGES NONE)\ninclude("{included}")\n'
        said = "found ${HAPPE_WLR_PROTOCOLS}, of ${HAPPE_WLR_PACKAGE}; desktop ${HAPPE_DESKTOP}"
        (folder / "CMakeLists.txt").write_text(f'{lines}message(STATUS "{said}")\n')

    def has(self, place: str) -> Path:
        """Put the protocols into a folder below the root."""
        folder = self.root / place
        (folder / "unstable").mkdir(parents=True)
        (folder / "unstable/wlr-layer-shell-unstable-v1.xml").touch()
        return folder

    def has_package(self) -> Path:
        """Put the package wlr-protocols below the root."""
        folder = self.has(OF_ITS_OWN)
        described = f"Name: wlr-protocols\nDescription: x\nVersion: 1\npkgdatadir={folder}\n"
        (self._folder / "pkgconfig/wlr-protocols.pc").write_text(described)
        return folder

    def is_on(self, release: str) -> None:
        """Make the root say that it is this distribution."""
        (self.root / "etc").mkdir(parents=True, exist_ok=True)
        (self.root / "etc/os-release").write_text(release)

    def configured(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Run CMake."""
        folders = ["-S", str(self._folder), "-B", str(self._folder / "build"), f"-DCMAKE_SYSROOT={self.root}"]
        environment = os.environ | {"PKG_CONFIG_LIBDIR": str(self._folder / "pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": ""}
        return subprocess.run(
            ["cmake", *folders, *options], env=environment, capture_output=True, text=True, check=False
        )

    def finds(self, *options: str) -> str:
        """The folder that CMake finds."""
        ran = self.configured(*options)
        assert ran.returncode == 0, ran.stderr
        [found] = [line for line in ran.stdout.splitlines() if line.startswith("-- found ")]
        return found.removeprefix("-- found ").rpartition(",")[0]


@pytest.mark.parametrize(
    ("release", "package"),
    [
        ("ID=debian\nVERSION_ID=12\n", "librust-wayland-protocols-dev"),
        ("ID=debian\nVERSION_ID=13\n", "librust-wayland-protocols-wlr-dev"),
        ("ID=debian\n", "librust-wayland-protocols-wlr-dev"),
        ("ID=fedora\nVERSION_ID=42\n", "wlr-protocols"),
    ],
)
def test_a_miss_names_the_package_and_is_not_kept(tmp_path: Path, release: str, package: str) -> None:
    project = Project(tmp_path)
    project.is_on(release)
    missed = project.configured()
    assert f"found HAPPE_WLR_PROTOCOLS-NOTFOUND, of {package};" in missed.stdout
    place = project.has(DEBIAN_12 if package == "librust-wayland-protocols-dev" else DEBIAN_13)
    assert project.finds() == str(place)


def test_it_looks_again_where_nothing_is_any_more(tmp_path: Path) -> None:
    """CMake looks again after an upgrade, and where the cache of an older tree has an empty value."""
    project = Project(tmp_path)
    old = project.has(DEBIAN_12)
    assert project.finds() == str(old)
    old.rename(old.with_name("gone"))
    new = project.has(DEBIAN_13)
    assert project.finds() == str(new)
    assert project.finds("-DHAPPE_WLR_PROTOCOLS=") == str(new)


def test_a_package_of_its_own_comes_first_and_a_given_folder_before_it(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.has(DEBIAN_13)
    given = project.has("elsewhere")
    package = project.has_package()
    assert project.finds() == str(package)
    assert project.finds(f"-DHAPPE_WLR_PROTOCOLS={given}") == str(given)


def test_the_desktop_is_left_out_by_name_where_it_lacks_something(tmp_path: Path) -> None:
    project = Project(tmp_path, "Desktop")
    project.is_on("ID=debian\nVERSION_ID=13\n")
    auto, wanted, unwanted = (project.configured(f"-DHAPPE_UI={how}") for how in ("AUTO", "ON", "OFF"))
    lacking = "wayland-client (libwayland-dev)", "wlr-layer-shell (librust-wayland-protocols-wlr-dev, or "
    assert (auto.returncode, wanted.returncode, unwanted.returncode) == (0, 1, 0)
    assert auto.stderr.startswith("Left out: happe-indicator, happe-study")
    for each in lacking:
        assert each in auto.stderr
        assert each in " ".join(wanted.stderr.split())
    assert unwanted.stderr == ""
    assert all("desktop OFF" in ran.stdout for ran in (auto, unwanted))
