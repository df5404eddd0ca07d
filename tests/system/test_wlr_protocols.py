# SPDX-License-Identifier: GPL-2.0-or-later
"""CMake finds wlroots' Wayland protocols where distributions have them. A small project looks in a root of its own."""

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

    def __init__(self, folder: Path) -> None:
        """Nothing is found yet."""
        self.root = folder / "root"
        self._folder = folder
        (folder / "pkgconfig").mkdir()
        module = ROOT / "cmake/WlrProtocols.cmake"
        lines = f'cmake_minimum_required(VERSION 3.25)\nproject(looks LANGUAGES NONE)\ninclude("{module}")\n'
        (folder / "CMakeLists.txt").write_text(f'{lines}message(STATUS "found ${{HAPPE_WLR_PROTOCOLS}}")\n')

    def has(self, place: str) -> Path:
        """Put the protocols into a folder below the root."""
        folder = self.root / place
        (folder / "unstable").mkdir(parents=True)
        (folder / "unstable/wlr-layer-shell-unstable-v1.xml").touch()
        return folder

    def has_package(self) -> Path:
        """The package wlr-protocols."""
        folder = self.has(OF_ITS_OWN)
        described = f"Name: wlr-protocols\nDescription: x\nVersion: 1\npkgdatadir={folder}\n"
        (self._folder / "pkgconfig/wlr-protocols.pc").write_text(described)
        return folder

    def is_on(self, release: str) -> None:
        """Be this distribution."""
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
        return found.removeprefix("-- found ")


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
    assert missed.returncode != 0
    assert f"install {package}, " in " ".join(missed.stderr.split())
    place = project.has(DEBIAN_12 if package == "librust-wayland-protocols-dev" else DEBIAN_13)
    assert project.finds() == str(place)


def test_it_looks_again_where_nothing_is_any_more(tmp_path: Path) -> None:
    """After an upgrade, and where the cache of an older tree has an empty value."""
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
