# SPDX-License-Identifier: GPL-2.0-or-later
"""The owner of the server's files. If root runs a command, it becomes that user, so that root owns no new files."""

import os
import pwd
from pathlib import Path


def operator() -> str:
    """The audit log's name for the user of the command line: the operating system's user, also behind sudo."""
    name = _name_of(os.getuid())
    behind = os.environ.get("SUDO_USER", "")
    return f"server:{behind if name == 'root' and behind.isprintable() and behind else name}"[:255]


def become_owner(folder: Path) -> None:
    """If root runs this program and another user owns the folder, become that user for good."""
    owner = folder.stat()
    if os.geteuid() == 0 and owner.st_uid != 0:
        become(owner.st_uid, owner.st_gid)


def become(user: int, group: int) -> None:
    """Become another user, with that user's groups, for the rest of this process."""
    os.environ["HOME"] = "/nonexistent"
    os.initgroups(_name_of(user), group) if _known(user) else os.setgroups([group])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)


def user_of(name: str) -> tuple[int, int]:
    """A user's id and main group's id. Raises KeyError if there is no such user."""
    entry = pwd.getpwnam(name)
    return entry.pw_uid, entry.pw_gid


def _known(user: int) -> bool:
    try:
        pwd.getpwuid(user)
    except KeyError:
        return False
    return True


def _name_of(user: int) -> str:
    return pwd.getpwuid(user).pw_name if _known(user) else str(user)
