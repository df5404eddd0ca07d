# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server init`: a new server."""

from __future__ import annotations

import os
from pathlib import Path

import click

from happe_cli.commands import Command
from happe_study.cli import passwords
from happe_study.cli.server import DEFAULT_CONFIG, Server, pass_server
from happe_study.operations import owner as owner_of
from happe_study.operations import setting_up

MORE = """Asks for the first administrator's e-mail address and password. Makes the data folder (0700), the secrets
in it (0600), the database, and the configuration file, which explains every option. The command overwrites
nothing. If a step fails, it removes what it made.

Without the file secrets/allocation.key no study can ever be unblinded: keep a copy elsewhere
(`happe-server backup --with-secrets`).

Examples:
  happe-server init --administrator you@example.org
  sudo happe-server init --public-url https://study.example.org --trusted-proxies 1
  happe-server --config ./server.toml init --data ./data --administrator you@example.org --password-file -
  happe-server init --database-url-file /etc/happe/database-url"""


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
    default=setting_up.DATA,
    show_default=True,
    help="The data folder: database, traces, secrets",
)
@click.option(
    "--database-url-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file with PostgreSQL's URL  [SQLite in the data folder]",
)
@click.option("--public-url", metavar="URL", help="How browsers reach the server  [http:// and --listen]")
@click.option("--listen", metavar="HOST:PORT", help="Where it listens  [127.0.0.1:8080]")
@click.option("--trusted-proxies", type=int, metavar="N", help="How many reverse proxies stand in front of it  [0]")
@click.option("--administrator", metavar="EMAIL", help="The first administrator  [asked for]")
@click.option(
    "--owner",
    metavar="USER",
    callback=_known,
    help="The user who will own and run it; only root can choose  [happe-server, if it exists]",
)
@passwords.password_file
@pass_server
def init(  # noqa: PLR0913, PLR0917 - an option each
    server: Server,
    data: Path,
    database_url_file: Path | None,
    public_url: str | None,
    listen: str | None,
    trusted_proxies: int | None,
    administrator: str | None,
    owner: str | None,
    password_file: Path | None,
) -> None:
    """Make a new server: folders, secrets, database, configuration, administrator."""
    given = {"listen": listen, "public_url": public_url, "trusted_proxies": trusted_proxies}
    wish = setting_up.Wish(
        server.path.absolute(),
        data.absolute(),
        database_url_file.absolute() if database_url_file else None,
        {name: value for name, value in given.items() if value is not None},
        owner or _owner_by_package(server.path),
    )
    config = setting_up.check(wish)
    email = administrator or click.prompt("E-mail address of the first administrator", err=True)
    setting_up.set_up(wish, config, email, passwords.new(password_file, email), server.operator)
    click.echo(_next_steps(wish, https=config.https))


def _owner_by_package(config: Path) -> str | None:
    """The user as whom systemd runs the server of the usual place, where a package made one."""
    if config != DEFAULT_CONFIG or os.geteuid() != 0:
        return None
    try:
        owner_of.user_of("happe-server")
    except KeyError:
        return None
    return "happe-server"


def _next_steps(wish: setting_up.Wish, *, https: bool) -> str:
    program = "happe-server" if wish.config == DEFAULT_CONFIG else f"happe-server --config {wish.config}"
    return f"""Made the server of {wish.config}, its data in {wish.data}.

Next:
  {program} check
  {program} run    (or: systemctl enable --now happe-server)
  {program} user add EMAIL, then user grant: an administrator can't rate or export
  {program} study create FILE
  {program} backup --with-secrets FILE.tar    to keep elsewhere: without the secrets nobody can unblind a study{
        "" if https else TLS
    }"""


TLS = """

Browsers on other machines need TLS: put nginx or Caddy before the server, and set public_url to its
https:// address and trusted_proxies to 1. docs/how-to/run-the-server.md has both; the package
puts docs/ into /usr/share/doc/happe-study-server/."""
