# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server init`: a new server."""

import os
from dataclasses import replace
from pathlib import Path

import click
from sqlalchemy.exc import SQLAlchemyError

from happe_cli.commands import Command
from happe_study.base.config import ConfigError
from happe_study.cli import lab, passwords
from happe_study.cli.errors import CONFIG, PROGRAM
from happe_study.cli.server import Server, pass_server
from happe_study.model.rights import Role
from happe_study.operations import owner as owner_of
from happe_study.operations import setting_up

MORE = """Makes the data folder (0700), the secrets in it (0600), the database, and the configuration file, which
explains every option. The command overwrites nothing. If a step fails, it removes what it made.

Without --administrator it asks for everything, and explains each question: the database, the first
administrator's e-mail address and password, and who does what in the lab. With --administrator it asks only
for the password. It makes a first password for everybody else, and prints it once.

--join adds a server to a PostgreSQL database. FOLDER has copies of the first server's server.toml, its folder
secrets, and the file with the database's URL. The command refuses secrets that are not those of the database.

Without the file secrets/allocation.key no study can ever be unblinded: keep a copy elsewhere
(`happe-server backup --with-secrets`).

Examples:
  sudo happe-server init
  sudo happe-server init --public-url https://study.example.org --trusted-proxies 1
  happe-server init --administrator you@example.org --role investigator=ana@example.org --password-file -
  happe-server init --database-url-file /etc/happe/database-url
  sudo happe-server init --join ./first"""


def _known(_context: click.Context, _parameter: click.Parameter, user: str | None) -> str | None:
    try:
        if user is not None:
            owner_of.user_of(user)
    except KeyError:
        raise click.BadParameter(f"there is no user {user}; `adduser --system` makes one") from None
    return user


@click.command(cls=Command, epilog=MORE)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help=f"The data folder: database, traces, secrets  [{setting_up.DATA}]",
)
@click.option(
    "--database-url-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file with PostgreSQL's URL  [asked for, or SQLite in the data folder]",
)
@click.option("--public-url", metavar="URL", help="How browsers reach the server  [http:// and --listen]")
@click.option("--listen", metavar="HOST:PORT", help="Where the server listens  [127.0.0.1:8080]")
@click.option(
    "--trusted-proxies", type=int, metavar="N", help="How many reverse proxies stand in front of the server  [0]"
)
@click.option("--administrator", metavar="EMAIL", callback=lab.email_given, help="The first administrator  [asked for]")
@lab.role_option
@click.option(
    "--join",
    "first",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Add a server to a database; FOLDER has the first server's configuration and secrets",
)
@click.option(
    "--owner",
    metavar="USER",
    callback=_known,
    help="The user who will own and run the server; only root can choose  [happe-server, if it exists]",
)
@passwords.password_file
@pass_server
def init(  # noqa: PLR0913, PLR0917 - an option each
    server: Server,
    data: Path | None,
    database_url_file: Path | None,
    public_url: str | None,
    listen: str | None,
    trusted_proxies: int | None,
    administrator: str | None,
    roles: list[tuple[Role, str]],
    first: Path | None,
    owner: str | None,
    password_file: Path | None,
) -> None:
    """Make a new server: folders, secrets, database, configuration, the lab's people."""
    given = {"listen": listen, "public_url": public_url, "trusted_proxies": trusted_proxies}
    wish = setting_up.Wish(
        server.path.absolute(),
        (data or setting_up.DATA).absolute(),
        database_url_file.absolute() if database_url_file else None,
        None,
        {name: value for name, value in given.items() if value is not None},
        owner or _owner_by_package(server.path),
    )
    if first is not None:
        if administrator or roles or password_file:
            raise click.UsageError("--join makes no account: leave out --administrator, --role and --password-file")
        _join(first, wish, data_given=data is not None)
        return
    asks = administrator is None
    if asks and database_url_file is None:
        wish = _with_database(wish)
    config = setting_up.check(wish)
    email = administrator or lab.administrator(roles)
    people = lab.people(email, roles)
    password = passwords.new(password_file, email)
    if asks and not roles:
        people = lab.people(email, lab.roles(email))
    first_passwords = setting_up.set_up(wish, config, password, server.operator, people)
    click.echo(_next_steps(wish, people, first_passwords, https=config.https))


def _with_database(wish: setting_up.Wish) -> setting_up.Wish:
    """The wish with the database that the user types, who is asked until a server can begin with it."""
    setting_up.check_files(wish)
    while True:
        asked = replace(wish, database_url=lab.database_url())
        try:
            setting_up.check(asked)
        except (ConfigError, SQLAlchemyError) as error:
            PROGRAM.show(PROGRAM.failure_of(error).lines)
        else:
            return asked


def _join(first: Path, wish: setting_up.Wish, *, data_given: bool) -> None:
    wish = setting_up.wish_of(first, wish, data_given=data_given)
    setting_up.join(first, wish)
    program = _program(wish)
    click.echo(f"""Made one more server of the database. Configuration: {wish.config}. Data: {wish.data}.

Next:
  {program} check
  {program} run       (or: systemctl enable --now happe-server)
  {program} worker    (or: systemctl enable --now happe-server-worker), which does only long work
  remove the copies in {first}: with the secrets and the database anybody can unblind every study""")


def _owner_by_package(config: Path) -> str | None:
    """The user as whom systemd runs the server in the usual place, if a package made that user."""
    if config != CONFIG or os.geteuid() != 0:
        return None
    try:
        owner_of.user_of("happe-server")
    except KeyError:
        return None
    return "happe-server"


def _program(wish: setting_up.Wish) -> str:
    return "happe-server" if wish.config == CONFIG else f"happe-server --config {wish.config}"


def _next_steps(
    wish: setting_up.Wish, people: list[setting_up.Person], first_passwords: dict[str, str], *, https: bool
) -> str:
    program = _program(wish)
    more = (
        ""
        if first_passwords
        else "\n  {program} user add EMAIL, then user grant: an administrator can't rate or export"
    )
    return f"""Made the server. Configuration: {wish.config}. Data: {wish.data}.
{_first_passwords(people, first_passwords)}
Next:
  {program} check
  {program} run    (or: systemctl enable --now happe-server){more.format(program=program)}
  {program} study create FILE
  {program} backup --with-secrets FILE.tar    to keep elsewhere: without the secrets nobody can unblind a study{
        "" if https else TLS
    }"""


def _first_passwords(people: list[setting_up.Person], first_passwords: dict[str, str]) -> str:
    if not first_passwords:
        return ""
    roles = {person.email: ", ".join(person.roles) for person in people}
    lines = [f"  {email}  {password}  ({roles[email]})" for email, password in first_passwords.items()]
    said = "First passwords, shown only now. Everybody must choose another one at the first sign-in:"
    return "\n".join(["", said, *lines, ""])


TLS = """

Browsers on other machines need TLS: put nginx or Caddy before the server, and set public_url to its
https:// address and trusted_proxies to 1. docs/how-to/run-the-server.md has both; the package
puts docs/ into /usr/share/doc/happe-study-server/."""
