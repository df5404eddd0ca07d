# SPDX-License-Identifier: GPL-2.0-or-later
"""The program refuses unusable configurations with file, line and field, without a traceback and without a secret."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from happe_study.base.config import SECTIONS, Config, ConfigError, load_config
from happe_study.operations.setting_up import ABOUT
from operated import Operated, happe_server

if TYPE_CHECKING:
    from collections.abc import Callable

CASES: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "bad_server_configs.toml").read_text())["case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["says"][0]))
def test_a_bad_configuration_is_refused_by_its_field(tmp_path: Path, case: dict[str, Any]) -> None:
    file = tmp_path / "server.toml"
    file.write_text(case["text"])
    ran = happe_server("--config", file, "check")
    assert (ran.status, ran.out) == (os.EX_CONFIG, "")
    assert ran.err.splitlines() == [f"happe-server: {file}{said}" for said in case["says"]]
    assert "geheim" not in ran.err


def test_there_are_enough_bad_configurations() -> None:
    assert len(CASES) >= 25
    assert {said.split(": ")[1].rpartition(".")[2] for case in CASES for said in case["says"]} >= {
        name for name in Config.model_fields if name not in ("database_url_file", *SECTIONS)
    }


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'data = "d"\nlisten = "\xff"\n', ":2: is not UTF-8"),
        (b"#" * (1 << 16) + b"\n", ": is longer than 65536 bytes"),
    ],
    ids=["not-utf8", "too-long"],
)
def test_a_file_that_can_not_be_read_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "server.toml"
    file.write_bytes(content)
    ran = happe_server("--config", file, "check")
    assert (ran.status, ran.err) == (os.EX_CONFIG, f"happe-server: {file}{said}\n")


@pytest.mark.parametrize("name", ["missing.toml", "folder"])
def test_a_file_that_is_not_there_says_how_to_make_one(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    ran = happe_server("--config", tmp_path / name, "check")
    assert ran.status == os.EX_NOINPUT
    assert str(tmp_path / name) in ran.err or name in ran.err
    assert "Traceback" not in ran.err


def test_the_configuration_may_be_named_by_the_environment(
    small_operated: Operated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAPPE_SERVER_CONFIG", str(small_operated.file))
    assert happe_server("audit", "head").status == 0


def test_relative_paths_start_at_the_files_folder(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text('data = "d"\nsecrets = "/s"\ndatabase_url_file = "url"\n')
    config = load_config(file)
    assert (config.data, config.secrets_folder) == (tmp_path / "d", Path("/s"))
    assert config.database_url_file == tmp_path / "url"


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "No such file or directory"), ("mysql://ada:geheim@h/n", "begins with none of"), ("", "is not the URL")],
)
def test_a_bad_file_of_the_databases_url_is_named(tmp_path: Path, content: str | None, said: str) -> None:
    url = tmp_path / "url"
    if content is not None:
        url.write_text(content)
    config = Config(data=tmp_path, database_url_file=url)
    with pytest.raises(ConfigError, match=said) as error:
        _ = config.url
    assert str(url) in str(error.value)
    assert "geheim" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda key: key.unlink(), "No such file or directory\nhappe-server: copy the folder `secrets`"),
        (lambda key: key.chmod(0o640), "others can read it (mode 640)\nhappe-server: chmod 600 "),
        (lambda key: key.write_text("00" * 31), "31 bytes, not 32"),
        (lambda key: key.write_text("geheim"), "non-hexadecimal"),
    ],
    ids=["missing", "readable", "short", "no-hex"],
)
def test_a_bad_secret_is_named_and_not_shown(
    small_operated: Operated, change: Callable[[Path], object], said: str
) -> None:
    key = small_operated.data / "secrets/allocation.key"
    change(key)
    ran = small_operated.run("backup", small_operated.data.parent / "backup")
    assert ran.status == os.EX_CONFIG
    assert ran.err.startswith(f"happe-server: {key}: ")
    assert said in ran.err
    assert "geheim" not in ran.err


def test_every_option_is_explained_in_the_file_that_init_writes() -> None:
    nested = {f"{section}.{name}" for section, of in SECTIONS.items() for name in of.model_fields}
    assert ABOUT.keys() == Config.model_fields.keys() | nested
