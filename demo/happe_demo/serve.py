# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the real server on the study's time: serve.py TIME CONFIG. It ends when its standard input does.

Every page says that it is a demonstration.
"""

import re
import sys
import threading
from pathlib import Path

from flask import Flask, Response

from happe_demo.children import end_with_input
from happe_demo.times import StudyTime, hasten_server
from happe_study import cli
from happe_study.base.config import Config, Secrets
from happe_study.operations import serving
from happe_study.web.assembly import create_app

BANNER = """
<div class="note warn" role="note"><p>A demonstration: the participants are simulated, and the
clock skips the time in which they play and rest.</p></div>"""
MAIN = re.compile(rb"<main\b[^>]*>")


def with_banner(config: Config, secrets: Secrets) -> Flask:
    """The application, with a note on each page that this is a demonstration."""
    app: Flask = create_app(config, secrets)

    @app.after_request
    def _say(response: Response) -> Response:
        if response.mimetype == "text/html" and not response.is_streamed:
            response.set_data(MAIN.sub(lambda found: found[0] + BANNER.encode(), response.get_data(), count=1))
        return response

    return app


def main() -> None:
    """Serve."""
    hasten_server(StudyTime(Path(sys.argv[1])))
    vars(serving)["create_app"] = with_banner
    threading.Thread(target=end_with_input, daemon=True).start()
    cli.main(["--config", sys.argv[2], "run"])


if __name__ == "__main__":
    main()
