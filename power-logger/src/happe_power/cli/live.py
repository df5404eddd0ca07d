# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power live`."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import click

from happe_cli.commands import Command
from happe_power.cli.host import Host, pass_host, spool_option
from happe_power.cli.signals import Ending

if TYPE_CHECKING:
    from pathlib import Path

PORT = 9464
MORE = """The page shows power, energy, rate, gaps and the clock's offset of the current recording in the spool.
Only this machine can open it, and it contacts no other machine. /metrics has the same figures as OpenMetrics.
The page shows watts: hide it from everybody who must stay blind.

Examples:
  happe-power live
  happe-power live --port 8080
  curl -s http://127.0.0.1:9464/metrics"""


@click.command(cls=Command, epilog=MORE)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="The port; 0 takes a free one"
)
@spool_option
@pass_host
def live(host: Host, port: int, spool_folder: Path | None) -> None:
    """Show the current recording, as a page on loopback and as OpenMetrics."""
    from happe_power.serving.server import Server
    from happe_power.serving.state import Watched

    told = Ending()
    with Server(port, Watched(spool_folder or host.config.spool).state) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        click.echo(f"http://127.0.0.1:{server.server_address[1]}/")
        told.wait()
        server.shutdown()
