# SPDX-License-Identifier: GPL-2.0-or-later
"""The maintainer scripts of the server's Debian package at an upgrade and a purge. The package's test installs it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from happe_study import migrations
from happe_study.base.database import Database
from operated import SOURCES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from operated import Operated

pytestmark = pytest.mark.slow

ROOT = SOURCES.parents[1]
DEBIAN = ROOT / "packaging/debian"
OLDER = "0006_reports"
# The package's `python3 -I upgrade.py ...`, with the configuration of the test's server.
PYTHON = """#!/bin/sh
shift
PYTHONPATH={path} exec {python} -c '
import pathlib, runpy, sys
from happe_study.cli import defaults
defaults.CONFIG = pathlib.Path("{config}")
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")' "$@"
"""


# A stand-in for upgrade.py, for tests of postinst. Files have its exit statuses for `needed` and `migrate`.
SAYING = """#!/bin/sh
exit $(cat {folder}/$3)
"""


def ran(script: str, folder: Path, *arguments: str, python: str = PYTHON) -> subprocess.CompletedProcess[str]:
    """Run a maintainer script of the package on the files of a folder, with stand-ins for Debian's programs."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    path = ":".join(map(shlex.quote, (str(SOURCES), str(ROOT / "profiles/python/src"))))
    said = python.format(path=path, python=sys.executable, config=folder / "server.toml", folder=folder)
    for name, text in (("python3", said), ("py3compile", "#!/bin/sh\n")):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    text = (DEBIAN / f"happe-study-server.{script}").read_text()
    places = {
        "/usr/lib/happe-study-server/bin": programs,
        "/usr/lib/happe-study-server/upgrade.py": DEBIAN / "upgrade.py",
        "/etc/happe": folder,
        "/etc/systemd": folder / "systemd",
        "/run/systemd": folder / "systemd",
        "/run/happe-server.ran": folder / "ran",
        "/var/lib/happe-server": folder / "data",
    }
    for installed, here in places.items():
        text = text.replace(installed, str(here))
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        ["sh", "-c", text, script, *arguments], check=False, capture_output=True, text=True, env=environment
    )


def test_an_upgrade_migrates_an_older_database_once_and_keeps_a_copy(small_operated: Operated, tmp_path: Path) -> None:
    database = Database(small_operated.database_url)
    migrations.downgrade(database, OLDER)
    for _ in range(2):
        upgraded = ran("postinst", tmp_path, "configure", "0.1")
        assert upgraded.returncode == 0, upgraded.stderr
        assert migrations.current(database) == migrations.head()
    database.dispose()
    kept = Database(f"sqlite:///{tmp_path / f'before-{OLDER}.db'}")
    assert migrations.current(kept) == OLDER
    kept.dispose()
    assert upgraded.stdout == ""


def is_away(folder: Path) -> None:
    """Move the data away, as on a disk that is not mounted."""
    (folder / "data").rename(folder / "elsewhere")


def is_no_database(folder: Path) -> None:
    """Put another file in the database's place."""
    (folder / "server.db").write_bytes(b"This is no database." * 100)


def is_no_configuration(folder: Path) -> None:
    """Spoil the configuration."""
    (folder / "server.toml").write_text("data = 7\n")


@pytest.mark.parametrize(
    ("happens", "why"),
    [(is_away, "no such folder"), (is_no_database, "not a database"), (is_no_configuration, "server.toml:1: data")],
)
def test_an_upgrade_that_cannot_look_fails_and_says_why(
    small_operated: Operated, tmp_path: Path, happens: Callable[[Path], None], why: str
) -> None:
    small_operated.close()
    happens(tmp_path)
    upgraded = ran("postinst", tmp_path, "configure", "0.1")
    assert upgraded.returncode == 1
    assert why in upgraded.stderr
    assert "Traceback" not in upgraded.stderr


SYSTEMD = {  # the unit's state is in a file
    "systemctl": "#!/bin/sh\ncase $1 in show) cat {state} ;; start) echo active >{state} ;; esac\n",
    "deb-systemd-invoke": '#!/bin/sh\n[ "$1" = stop ] && echo inactive >{state}\n',
}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The file with the unit's state, on a machine that runs systemd."""
    file = tmp_path / "state"
    (tmp_path / "systemd/system").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    for name, text in SYSTEMD.items():
        (tmp_path / "bin" / name).write_text(text.format(state=file))
        (tmp_path / "bin" / name).chmod(0o755)
    return file


def test_an_upgrade_that_cannot_migrate_at_first_goes_on_when_it_is_tried_again(
    state: Path, small_operated: Operated, tmp_path: Path
) -> None:
    database = Database(small_operated.database_url)
    migrations.downgrade(database, OLDER)
    state.write_text("active\n")
    in_the_way = tmp_path / f"before-{OLDER}.db"
    in_the_way.mkdir()  # the place for the copy
    assert ran("postinst", tmp_path, "configure", "0.1").returncode == 2
    assert (state.read_text(), migrations.current(database)) == ("inactive\n", OLDER)
    in_the_way.rmdir()
    upgraded = ran("postinst", tmp_path, "configure", "0.1")
    assert upgraded.returncode == 0, upgraded.stderr
    assert (state.read_text(), migrations.current(database)) == ("active\n", migrations.head())
    database.dispose()


def configured(folder: Path, needed: int, migrated: int) -> int:
    """Run postinst, and return its status. Its program ends with the given statuses."""
    (folder / "server.toml").touch()
    for name, status in (("needed", needed), ("migrate", migrated)):
        (folder / name).write_text(f"{status}\n")
    return ran("postinst", folder, "configure", "0.1", python=SAYING).returncode


@pytest.mark.parametrize(("before", "after"), [("active", "active"), ("failed", "active"), ("inactive", "inactive")])
@pytest.mark.parametrize("needed", [0, 3], ids=["tried again", "migrated by hand"])
def test_an_upgrade_leaves_the_server_running_or_stopped_as_it_was(
    state: Path, tmp_path: Path, before: str, after: str, needed: int
) -> None:
    """It does so even if it can't migrate at first. A unit that failed did so because of the database's revision."""
    state.write_text(f"{before}\n")
    assert configured(tmp_path, needed=0, migrated=2) == 2
    assert state.read_text() == "inactive\n"
    assert configured(tmp_path, needed, migrated=0) == 0
    assert state.read_text() == f"{after}\n"
    assert not (tmp_path / "ran").exists()


def test_a_postgresql_that_is_away_is_its_administrators(small_operated: Operated, tmp_path: Path) -> None:
    small_operated.close()
    config = tmp_path / "server.toml"
    url = f"postgresql+psycopg://nobody@/happe?host={tmp_path}"
    (tmp_path / "url").write_text(url)
    lines = [line for line in config.read_text().splitlines() if not line.startswith("database")]
    config.write_text("\n".join([f'database_url_file = "{tmp_path}/url"', *lines]) + "\n")
    upgraded = ran("postinst", tmp_path, "configure", "0.1")
    assert upgraded.returncode == 0, upgraded.stderr
    assert "the database does not answer" in upgraded.stderr


def test_without_a_configuration_there_is_nothing_to_upgrade(tmp_path: Path) -> None:
    assert ran("postinst", tmp_path, "configure", "0.1").returncode == 0


def test_purge_takes_the_servers_files_and_no_other(tmp_path: Path) -> None:
    for name in ("server.toml", "database-url", "s3-credentials", "happe.toml"):
        (tmp_path / name).touch()
    (tmp_path / "data").mkdir()
    for action, left in (("remove", 5), ("purge", 1)):
        assert ran("postrm", tmp_path, action).returncode == 0
        assert len([each for each in tmp_path.iterdir() if each.name != "bin"]) == left
    assert (tmp_path / "happe.toml").exists()
