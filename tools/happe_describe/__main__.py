# SPDX-License-Identifier: GPL-2.0-or-later
"""usage: python -m happe_describe manual|bash|zsh|configuration. Reads JSON from standard input, writes a file's text.

manual, bash and zsh read what `PROGRAM --describe` prints; configuration reads what happe-toml-describe prints.
"""

from __future__ import annotations

import json
import os
import sys

from happe_describe import completion, troff
from happe_describe.command import program_of
from happe_describe.page import configuration_page, page_of

MAKERS = {
    "manual": lambda said: troff.written(page_of(program_of(said))),
    "bash": lambda said: completion.bash(program_of(said).command),
    "zsh": lambda said: completion.zsh(program_of(said).command),
    "configuration": lambda said: troff.written(configuration_page(said)),
}


def main(arguments: list[str]) -> int:
    """Run. Return the exit status."""
    if len(arguments) != 1 or arguments[0] not in MAKERS:
        print(f"usage: python -m happe_describe {'|'.join(MAKERS)}", file=sys.stderr)
        return os.EX_USAGE
    sys.stdout.write(MAKERS[arguments[0]](json.load(sys.stdin)))
    return os.EX_OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
