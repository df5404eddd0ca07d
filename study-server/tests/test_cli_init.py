# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server init` does everything or nothing, and never replaces existing files.

The program refuses unusable configurations with file, line and field, without a traceback and without a secret.
"""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import given_accounts
from happe_study.base import database
from happe_study.base.config import SECTIONS, Config, ConfigError, load_config, load_secrets
from happe_study.base.s3 import S3
from happe_study.operations.setting_up import ABOUT
from happe_study.web.assembly import create_app
from in_process import Ran
from operated import PASSWORD, SOURCES, Operated, happe_server
from postgres import Postgres

ADMINISTRATOR = "ada@example.org"


def init(folder: Path, *options: str | Path, typed: str = f"{PASSWORD}\n") -> Ran:
    """Run init with the password from standard input."""
    where = ("--config", folder / "etc/server.toml", "init", "--data", folder / "data")
    return happe_server(*where, "--administrator", ADMINISTRATOR, "--password-file", "-", *options, typed=typed)


def mode(path: Path) -> int:
    """A file's permissions."""
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_server_is_checked_clean(tmp_path: Path) -> None:
    made = init(tmp_path, "--listen", "127.0.0.1:8081")
    assert made.status == 0, made.err
    checked = happe_server("--config", tmp_path / "etc/server.toml", "check", "--json")
    assert {finding["what"]: finding["verdict"] for finding in checked.json()}["audit log"] == "ok"
    assert checked.status == 0
    listed = happe_server("--config", tmp_path / "etc/server.toml", "user", "list", "--json").json()
    assert listed == [{"email": ADMINISTRATOR, "active": True, "grants": [{"role": "administrator", "study": None}]}]


def test_only_the_owner_can_read_what_was_made(tmp_path: Path) -> None:
    init(tmp_path)
    config = load_config(tmp_path / "etc/server.toml")
    assert mode(config.data) == mode(config.secrets_folder) == mode(config.traces_folder) == 0o700
    assert {mode(each) for each in config.secrets_folder.iterdir()} == {0o600}
    assert mode(config.data / "server.db") == 0o600
    assert mode(tmp_path / "etc/server.toml") == 0o644
    secrets = load_secrets(config.secrets_folder)
    assert len({secrets.session, secrets.password, secrets.allocation}) == 3


def test_the_next_steps_and_the_need_for_tls_are_said(tmp_path: Path) -> None:
    said = init(tmp_path).out
    assert f"happe-server --config {tmp_path}/etc/server.toml run" in said
    assert "TLS" in said
    (tmp_path / "other").mkdir()
    assert "TLS" not in init(tmp_path / "other", "--public-url", "https://study.example.org").out


TOO_SHORT = "the password has 5 characters; it needs 12 to 255 characters"


def test_wrong_answers_are_asked_for_again(tmp_path: Path) -> None:
    where = ("--config", tmp_path / "server.toml", "init", "--data", tmp_path / "data")
    nowhere = "postgresql+psycopg://happe@127.0.0.1:1/happe"
    passwords = ("short", PASSWORD, "another long one", PASSWORD, PASSWORD)
    answers = ("mysql://x", nowhere, "", "", "ada", "carl@example.org", ADMINISTRATOR, *passwords)
    ran = happe_server(*where, "--role", "analyst=Carl@example.org", typed="\n".join([*answers, ""]))
    assert ran.status == 0, ran.err
    assert "begins with none of sqlite://, postgresql+psycopg://" in ran.err
    assert "the database does not answer" in ran.err
    assert "ada: An email address must have an @-sign" in ran.err
    assert "carl@example.org is analyst, which excludes administrator" in ran.err
    assert TOO_SHORT in ran.err
    assert "the two passwords differ" in ran.err
    assert PASSWORD not in ran.out + ran.err
    roles = grants(tmp_path / "server.toml")
    assert roles == {ADMINISTRATOR: ["administrator"], "carl@example.org": ["analyst"]}


def test_a_password_from_a_file_that_will_not_do_leaves_nothing(tmp_path: Path) -> None:
    ran = init(tmp_path, typed="short\n")
    assert (ran.status, TOO_SHORT in ran.err) == (os.EX_DATAERR, True)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    init(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    again = init(tmp_path)
    assert again.status == os.EX_CANTCREAT
    assert "it exists already; nothing was changed" in again.err
    (tmp_path / "etc/server.toml").unlink()
    other = init(tmp_path)
    assert other.status == os.EX_CANTCREAT
    assert "is not empty; nothing was changed" in other.err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == {
        path: content for path, content in before.items() if path.name != "server.toml"
    }


def test_a_step_that_fails_undoes_the_ones_before(tmp_path: Path) -> None:
    config = tmp_path / "etc/server.toml"
    config.parent.mkdir()
    config.symlink_to("nowhere")
    where = ("--config", config, "init", "--data", tmp_path / "deep/data")
    ran = happe_server(*where, "--administrator", ADMINISTRATOR, "--password-file", "-", typed=f"{PASSWORD}\n")
    assert ran.status == os.EX_CANTCREAT, ran.err
    assert sorted(tmp_path.rglob("*")) == [config.parent, config]


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--administrator", "nobody", "nobody: An email address must have an @-sign"),
        ("--owner", "no-such-user", "there is no user no-such-user"),
        ("--listen", "localhost", "--listen: must be HOST:PORT"),
        ("--public-url", "study.example.org", "--public-url: must be https://HOST"),
        ("--trusted-proxies", "9", "--trusted-proxies: input should be less than or equal to 8"),
    ],
)
def test_a_bad_option_is_named_before_anything_is_made(tmp_path: Path, option: str, value: str, said: str) -> None:
    ran = init(tmp_path, option, value)
    assert ran.status == (os.EX_USAGE if option in {"--administrator", "--owner"} else os.EX_CONFIG)
    assert said in ran.err
    assert list(tmp_path.iterdir()) == []


def test_the_questions_set_up_a_lab_on_postgresql(tmp_path: Path, postgres: Postgres) -> None:
    postgres.execute("CREATE DATABASE asked_for")
    url = postgres.url("asked_for")
    where = ("--config", tmp_path / "server.toml", "init", "--data", tmp_path / "data")
    lab = "ana@example.org\nAna@example.org\n\nana@example.org\ncarl@example.org\n\n\n"  # Ana can't be the custodian
    ran = happe_server(*where, typed=f"mysql://x\n{url}\nada\n{ADMINISTRATOR}\n{PASSWORD}\n{PASSWORD}\nana\n{lab}")
    assert ran.status == 0, ran.err
    assert ran.err.count("Error: ada: An email address must have an @-sign.") == 1
    assert ran.err.count("Error: ana: An email address must have an @-sign.") == 1
    assert "begins with none of sqlite://, postgresql+psycopg://" in ran.err
    assert "ana@example.org is experimenter and investigator, which excludes custodian" in ran.err
    assert mode(tmp_path / "data/database-url") == 0o600
    assert (tmp_path / "data/database-url").read_text() == f"{url}\n"
    assert not list((tmp_path / "data").glob("server.db*"))
    assert grants(tmp_path / "server.toml") == {
        ADMINISTRATOR: ["administrator"],
        "ana@example.org": ["experimenter", "investigator"],
        "carl@example.org": ["custodian"],
    }


def grants(config: Path) -> dict[str, list[str]]:
    """The roles of each account."""
    listed = happe_server("--config", config, "user", "list", "--json").json()
    return {each["email"]: [grant["role"] for grant in each["grants"]] for each in listed}


def test_options_set_up_a_lab_whose_first_passwords_work_once(tmp_path: Path) -> None:
    made = init(tmp_path, "--role", "investigator=ana@example.org", "--role", "custodian=carl@example.org")
    assert made.status == 0, made.err
    [password] = re.findall(r"ana@example.org  (\S{20})  \(investigator\)", made.out)
    config = tmp_path / "etc/server.toml"
    assert grants(config)["carl@example.org"] == ["custodian"]
    app = create_app(load_config(config), load_secrets(tmp_path / "data/secrets"))
    client = app.test_client()
    given_accounts.sign_in(client, "ana@example.org", password)
    assert client.get("/studies").headers["Location"].startswith("/password")
    app.extensions["happe"].database.dispose()


@pytest.mark.parametrize(
    ("roles", "status", "said"),
    [
        (["chief=ana@example.org"], os.EX_USAGE, "write ROLE=EMAIL, with a role of investigator"),
        (["investigator"], os.EX_USAGE, "write ROLE=EMAIL"),
        (
            ["analyst=ana@example.org", "custodian=ANA@example.org"],
            os.EX_DATAERR,
            "is analyst, which excludes custodian",
        ),
        ([f"analyst={ADMINISTRATOR}"], os.EX_DATAERR, "is administrator, which excludes analyst"),
        (["investigator=ana", "custodian=carl@example.org"], os.EX_USAGE, "ana: An email address must"),
    ],
)
def test_roles_that_will_not_do_leave_nothing(tmp_path: Path, roles: list[str], status: int, said: str) -> None:
    made = init(tmp_path, *(each for role in roles for each in ("--role", role)))
    assert (made.status, said in made.err) == (status, True), made.err
    assert list(tmp_path.iterdir()) == []


def test_a_server_on_postgresql_is_made_in_an_empty_database_alone(tmp_path: Path, postgres: Postgres) -> None:
    postgres.execute("CREATE DATABASE init_here")
    url = tmp_path / "url"
    url.write_text(postgres.url("init_here") + "\n")
    made = init(tmp_path, "--database-url-file", url)
    assert made.status == 0, made.err
    assert not list((tmp_path / "data").glob("server.db*"))
    (tmp_path / "second").mkdir()
    again = init(tmp_path / "second", "--database-url-file", url)
    assert again.status == os.EX_CONFIG
    assert "this database has tables already" in again.err
    assert list((tmp_path / "second").iterdir()) == []


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_is_not_utf8_is_refused_with_the_command_that_makes_one(
    tmp_path: Path, postgres: Postgres, encoding: str
) -> None:
    name = f"init_{encoding.lower()}"
    postgres.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    (tmp_path / "url").write_text(postgres.url(name) + "\n")
    made = init(tmp_path, "--database-url-file", tmp_path / "url")
    assert made.status == os.EX_CONFIG, made.err
    assert f"{name} has the encoding {encoding}, and HAPPE needs UTF8" in made.err
    assert "createdb --owner happe --encoding UTF8 --template template0" in made.err
    assert [each.name for each in tmp_path.iterdir()] == ["url"]


def test_a_user_who_may_not_make_tables_is_refused_with_the_command_that_allows_it(
    tmp_path: Path, postgres: Postgres
) -> None:
    postgres.execute("CREATE DATABASE init_rights")
    postgres.execute("CREATE ROLE guest LOGIN")
    (tmp_path / "url").write_text(postgres.url("init_rights").replace("happe@", "guest@") + "\n")
    made = init(tmp_path, "--database-url-file", tmp_path / "url")
    assert made.status == os.EX_CONFIG, made.err
    assert "guest may not make tables in the database init_rights" in made.err
    assert """ALTER DATABASE "init_rights" OWNER TO "guest\"""" in made.err
    postgres.execute("ALTER DATABASE init_rights OWNER TO guest")
    assert init(tmp_path, "--database-url-file", tmp_path / "url").status == 0


def test_a_postgresql_that_is_too_old_is_refused(
    tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "OLDEST_POSTGRESQL", 99)
    (tmp_path / "url").write_text(postgres.url() + "\n")
    made = init(tmp_path, "--database-url-file", tmp_path / "url")
    assert (made.status, "is too old; HAPPE needs 99: upgrade its cluster" in made.err) == (os.EX_CONFIG, True), (
        made.err
    )


def copied(folder: Path, to: Path) -> None:
    """Copy a first server's files for a second one, as the guide says."""
    to.mkdir()
    shutil.copy(folder / "etc/server.toml", to)
    shutil.copy(folder / "url", to)
    shutil.copytree(folder / "data/secrets", to / "secrets")


def test_a_second_server_joins_the_first_ones_database(tmp_path: Path, postgres: Postgres) -> None:
    # given
    postgres.execute("CREATE DATABASE shared_here")
    (tmp_path / "url").write_text(postgres.url("shared_here") + "\n")
    init(tmp_path, "--database-url-file", tmp_path / "url", "--public-url", "https://study.example.org")
    copied(tmp_path, tmp_path / "first")
    (tmp_path / "url").unlink()
    second = ("--config", tmp_path / "second/etc/server.toml")
    join = (*second, "init", "--join", tmp_path / "first", "--data", tmp_path / "second/data")
    # when a secret is another server's, then when others can read it, then when all are right
    key = tmp_path / "first/secrets/allocation.key"
    right = key.read_text()
    key.write_text(64 * "a")
    refused = happe_server(*join)
    key.write_text(right)
    key.chmod(0o644)
    open_to_all = happe_server(*join)
    assert not (tmp_path / "second").exists()
    key.chmod(0o600)
    made = happe_server(*join, "--listen", "127.0.0.1:8082")
    # then
    assert (refused.status, "allocation.key: the server of this database has another one" in refused.err) == (78, True)
    assert (open_to_all.status, "others can read it" in open_to_all.err) == (78, True)
    assert made.status == 0, made.err
    config = load_config(tmp_path / "second/etc/server.toml")
    assert (config.public_url, config.listen) == ("https://study.example.org", "127.0.0.1:8082")
    assert load_secrets(config.secrets_folder) == load_secrets(tmp_path / "data/secrets")
    assert grants(tmp_path / "second/etc/server.toml") == {ADMINISTRATOR: ["administrator"]}
    assert happe_server(*second, "check").status == 0
    assert happe_server(*join).status == os.EX_CANTCREAT


def test_a_server_on_sqlite_has_no_second_one(tmp_path: Path) -> None:
    init(tmp_path)
    (tmp_path / "url").touch()
    copied(tmp_path, tmp_path / "first")
    join = ("--config", tmp_path / "second.toml", "init", "--join", tmp_path / "first", "--data", tmp_path / "second")
    refused = happe_server(*join)
    assert (refused.status, "servers can share only PostgreSQL" in refused.err) == (os.EX_CONFIG, True)
    assert happe_server(*join, "--administrator", ADMINISTRATOR).status == os.EX_USAGE
    assert not (tmp_path / "second").exists()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users reach. Each new session of pytest closes its own folder to them."""
    with tempfile.TemporaryDirectory(prefix="happe-init-") as made:
        Path(made).chmod(0o755)
        yield Path(made)


def test_another_owner_takes_root(open_folder: Path) -> None:
    made = init(open_folder, "--owner", "nobody")
    if os.geteuid() != 0:
        assert made.status == os.EX_NOPERM
        return
    assert made.status == 0, made.err
    owners = {path.owner() for path in (open_folder / "data").rglob("*")}
    assert owners == {"nobody"}
    assert (open_folder / "etc/server.toml").owner() == "root"


def test_root_works_as_the_owner_of_the_data(open_folder: Path) -> None:
    owner = "nobody" if os.geteuid() == 0 else open_folder.owner()
    made = init(open_folder, *(["--owner", owner] if os.geteuid() == 0 else []))
    assert made.status == 0, made.err
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), "SUDO_USER": "ada"}
    command = [sys.executable, "-c", "from happe_study.cli import main; main()"]
    where = ["--config", str(open_folder / "etc/server.toml"), "user", "add", "ana@example.org", "--password-file", "-"]
    subprocess.run([*command, *where], env=environment, input=f"{PASSWORD}\n", text=True, check=True)
    assert {path.owner() for path in (open_folder / "data").rglob("*")} == {owner}


def test_the_file_that_is_written_says_every_default(tmp_path: Path) -> None:
    init(tmp_path)
    written = (tmp_path / "etc/server.toml").read_text().replace('#bucket = ""', '#bucket = "happe"')
    config = load_config(tmp_path / "etc/server.toml")
    uncommented = "\n".join(
        line.removeprefix("#") if line.startswith("#") and not line.startswith("# ") else line
        for line in written.splitlines()
        if not line.endswith('= ""')
    )
    whole = tmp_path / "etc/whole.toml"
    whole.write_text(uncommented)
    bucket = {"s3": S3(bucket="happe").model_dump()}
    assert json.loads(load_config(whole).model_dump_json()) == json.loads(config.model_dump_json()) | bucket


CASES: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "bad_server_configs.toml").read_text())["case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["says"][0]))
def test_a_bad_configuration_is_refused_by_its_field(tmp_path: Path, case: dict[str, Any]) -> None:
    file = tmp_path / "server.toml"
    file.write_text(case["text"])
    ran = happe_server("--config", file, "check")
    assert (ran.status, ran.out) == (os.EX_CONFIG, "")
    assert ran.err.splitlines() == [f"happe-server: {file}{said}" for said in case["says"]]
    assert "geheim" not in ran.err


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


def test_the_configuration_may_be_named_by_the_environment(operated: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAPPE_SERVER_CONFIG", str(operated.file))
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
def test_a_bad_secret_is_named_and_not_shown(operated: Operated, change: Callable[[Path], object], said: str) -> None:
    key = operated.data / "secrets/allocation.key"
    change(key)
    ran = operated.run("backup", operated.data.parent / "backup")
    assert ran.status == os.EX_CONFIG
    assert ran.err.startswith(f"happe-server: {key}: ")
    assert said in ran.err
    assert "geheim" not in ran.err


def test_every_option_is_explained_in_the_file_that_init_writes() -> None:
    nested = {f"{section}.{name}" for section, of in SECTIONS.items() for name in of.model_fields}
    assert ABOUT.keys() == Config.model_fields.keys() | nested
