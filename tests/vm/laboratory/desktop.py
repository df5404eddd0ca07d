# SPDX-License-Identifier: GPL-2.0-or-later
"""Collects the guest's files for the wizard's window: an X server, a window manager, xdotool, Qt and a font.

The files come from this machine, a Debian 12 like the guest. The image has none of them, so other boots stay fast.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from image import Image

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
PROGRAMS = [Path("/usr/bin") / name for name in ("Xvfb", "xkbcomp", "openbox", "xdotool")]
PLUGIN = LIBRARIES / "qt6/plugins/platforms/libqxcb.so"
FONT = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")
FOLDERS = [Path("/usr/share/X11/xkb"), Path("/etc/xdg/openbox"), Path("/usr/share/themes/Clearlooks/openbox-3")]
FONTS_CONF = "<fontconfig><dir>/usr/share/fonts</dir><cachedir>/var/cache/fontconfig</cachedir></fontconfig>\n"


def make(tree: Path, image: Image) -> None:
    """Add them to a tree of installed programs. Exits if this machine lacks something."""
    ours = [tree / "usr/bin/happe-study", tree / "usr/libexec/happe/happe-keep"]
    for path in (*PROGRAMS, PLUGIN, FONT, *FOLDERS, *ours):
        if not path.exists():
            sys.exit(f"laboratory: {path} is missing; run `make setup build`")
    there = names_in(image)
    for library in needed([*PROGRAMS, PLUGIN, *ours]):
        if library.name not in there:
            add(tree, library)
    for path in (*PROGRAMS, PLUGIN, FONT):
        add(tree, path)
    for folder in FOLDERS:
        shutil.copytree(folder, tree / folder.relative_to("/"), dirs_exist_ok=True)
    fonts = tree / "etc/fonts/fonts.conf"
    fonts.parent.mkdir(parents=True, exist_ok=True)
    fonts.write_text(FONTS_CONF)


def add(tree: Path, path: Path) -> None:
    """Copy a file to the same path in the tree. A link becomes a copy of its target."""
    target = tree / path.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, target)


def needed(programs: Iterable[Path]) -> set[Path]:
    """Return the libraries that the files need, and the libraries that those need."""
    return {library for program in programs for library in linked(program)}


def linked(program: Path) -> Iterator[Path]:
    """Return the libraries that ldd lists for a file. Exits if one is missing."""
    said = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    for line in said.splitlines():
        name, arrow, found = line.strip().partition(" => ")
        if "not found" in found:
            sys.exit(f"laboratory: {program} needs {name}, which is missing")
        if arrow:
            yield LIBRARIES / Path(found.split()[0]).name


def names_in(image: Image) -> set[str]:
    """Return the names of the files in the guest's own system. Its libraries must stay, because they are in use."""
    listed = subprocess.run(["bsdtar", "-tf", image.root], check=True, capture_output=True, text=True).stdout
    return {line.rpartition("/")[2] for line in listed.splitlines()}
