# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-power's help and configuration."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from happe_cli.commands import summary
from happe_power import config
from happe_power.cli.program import COMMANDS, STATUS, Commands, meaning
from happe_power.config import Config
from happe_power.toml_files import TomlFile, TomlFileError
from power_program import happe_power


def test_help_imports_nothing_slow() -> None:
    code = (
        "import sys\n"
        "from happe_power.cli.program import program\n"
        "program.main(['--help'], standalone_mode=False)\n"
        "assert not {'numpy', 'pyarrow', 'urllib3', 'jsonschema_rs'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_helps_with_its_summary_and_examples(name: str) -> None:
    assert COMMANDS[name][1] == summary(Commands("").loaded(name))
    ran = happe_power(name, "--help")
    assert (ran.status, ran.err) == (0, "")
    assert COMMANDS[name][1] in ran.out
    assert "Examples:\n  " in ran.out


@pytest.mark.parametrize("name", STATUS)
def test_every_error_with_a_status_is_there(name: str) -> None:
    module, _, kind = name.rpartition(".")
    failure = meaning(getattr(importlib.import_module(module), kind)("one\ntwo"))
    assert failure
    assert (failure.status, failure.lines) == (STATUS[name], ("one", "two"))


def test_a_command_that_is_none_and_an_error_of_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = happe_power("measrue")
    assert ran.status == os.EX_USAGE
    assert ran.err == "happe-power: unknown command 'measrue'; did you mean 'measure'?\n"
    assert meaning(KeyError("x")) is None
    monkeypatch.setenv(config.VARIABLE, "/no/such.toml")
    ran = happe_power("status")
    assert (ran.status, ran.err) == (
        os.EX_CONFIG,
        "happe-power: /no/such.toml: no such configuration; --config or HAPPE_POWER_CONFIG names another\n",
    )


GOOD = """
server = "https://study.example.org"
ca_file = "lab.pem"
state = "here"
keep = "always"

[record]
measured = "1APT0PAA"

[record.source]
kind = "comedi"
"""


def test_a_configuration_is_read_with_paths_from_its_own_folder() -> None:
    read = config.parse(GOOD.encode(), Path("/etc/happe/p.toml"))
    assert read.server == "https://study.example.org"
    assert (read.ca_file, read.state) == (Path("/etc/happe/lab.pem"), Path("/etc/happe/here"))
    assert read.spool == Path("/etc/happe/here/spool")
    assert (read.keep, read.plain_http) == ("always", False)
    assert read.record == {"source": {"kind": "comedi"}, "measured": "1APT0PAA"}
    assert config.load(Path("/no/such"), named=False) == Config(TomlFile(b"", "/no/such"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"\nkepe = 1", "p.toml:2: kepe: unknown; did you mean keep?"),
        (b'keep = "never"', 'p.toml:1: keep: must be one of "until-measured", "until-sealed", "always"'),
        (b"a = \xff", "p.toml:1: is not UTF-8"),
        (b"a = \nb = 1", "p.toml:1: Invalid value, at column 5"),
        (b"server = 3\nkeep = 1", "p.toml:1: server: must be a string\np.toml:2: keep: must be one of "),
        (b"plain_http = 1", "p.toml:1: plain_http: must be a boolean"),
        (b"record = 3", "p.toml:1: record: must be an object"),
        (b"a" * 300_000, "p.toml: has 300000 bytes, at most 262144 are read; is it TOML?"),
    ],
)
def test_what_is_wrong_with_a_configuration_is_said_with_its_line(tmp_path: Path, text: bytes, said: str) -> None:
    file = tmp_path / "p.toml"
    file.write_bytes(text)
    with pytest.raises(TomlFileError) as error:
        config.load(file, named=True)
    assert str(error.value).replace(f"{tmp_path}/", "").startswith(said)


def test_defaults_of_record_are_options_that_it_has(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text('state = "s"\n[record]\nsource = {kind = "sim"}\nsorce = "x"\n')
    ran = happe_power("--config", file, "record", "--no-upload", "--study", "x")
    assert ran.status == os.EX_CONFIG
    assert ran.err == f"happe-power: {file}:4: record.sorce: `happe-power record` has no such option\n"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("source = 3", "2: record.source: must be an object"),
        ("[record.source]\nrate = 5", "2: record.source.kind: is missing; there are comedi"),
        ('[record.source]\nkind = "sim"\nrat = 5', "4: record.source.rat: sim has no such option; did you mean rate"),
        ('[record.source]\nkind = "sim"\n\nrate = inf', "5: record.source.rate: must be a number"),
    ],
)
def test_a_source_in_the_configuration_is_checked_by_its_kinds_schema(tmp_path: Path, source: str, said: str) -> None:
    file = tmp_path / "p.toml"
    file.write_text(f"[record]\n{source}\n")
    ran = happe_power("--config", file, "record", "--no-upload", "--study", "x")
    assert ran.status == os.EX_CONFIG
    assert ran.err.startswith(f"happe-power: {file}:{said}")


def test_a_source_in_a_file_is_checked_with_the_lines_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "rig.toml"
    file.write_text('kind = "sim"\n\nrate = 0\n')
    ran = happe_power("record", "--source", file, "--no-upload", "--study", "x")
    assert ran.status == os.EX_CONFIG
    assert ran.err.startswith(f"happe-power: {file}:3: rate: must be at least 0.01")
