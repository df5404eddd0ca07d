# SPDX-License-Identifier: GPL-2.0-or-later
"""A really full disk: a small tmpfs in a mount namespace. Only processes that enter the namespace see it."""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

CHUNK = 64 << 10
UNSHARE = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])


class SmallDisk:
    """A disk mounted over a folder. It begins with the folder's content. Users other than root need user namespaces."""

    def __init__(self, folder: Path, size: int) -> None:
        """Mount a disk of `size` bytes."""
        self._folder = folder
        script = 'mount -t tmpfs -o "size=$2,mode=0700" none "$1" && echo && exec sleep infinity'
        command = ["sh", "-c", script, "sh", str(folder), str(size)]
        self._holder = subprocess.Popen([*UNSHARE, *command], stdout=subprocess.PIPE)
        assert self._holder.stdout is not None
        assert self._holder.stdout.read(1), "no mount namespace: unshare says why"
        self.inside = Path(f"/proc/{self._holder.pid}/root{folder}")
        shutil.copytree(folder, self.inside, dirs_exist_ok=True)

    def fill(self) -> None:
        """Take all free room, also what a writer beside it gives back when the full disk refuses it."""
        with (self.inside / "filler").open("ab", buffering=0) as filler:
            while os.statvfs(self.inside).f_bavail:
                for size in (CHUNK, 1):
                    with suppress(OSError):
                        while filler.write(bytes(size)):
                            pass

    def make_room(self) -> None:
        """Free the room that `fill` took."""
        (self.inside / "filler").unlink()

    def close(self) -> None:
        """Copy the disk's content into the folder below, and unmount."""
        shutil.copytree(self.inside, self._folder, dirs_exist_ok=True)  # removing a mount point would unmount the disk
        self._holder.kill()
        self._holder.communicate()
