# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads manual pages and completions with the tools that people use."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

from patience import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

OFFERED = """
    source "$1"; shift
    compopt() { :; }  # only bash itself may call it, while it completes
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    "_${1//-/_}"
    [[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\\n' "${COMPREPLY[@]}"
"""


def tool(name: str) -> str:
    """Return the path of a tool; `make setup` installs them all."""
    found = shutil.which(name)
    if not found:
        raise FileNotFoundError(f"{name} is missing: `make setup` installs it")
    return found


def warnings_of(page: Path) -> str:
    """Return all of groff's warnings about a manual page, with those about lines wider than a page."""
    groff = [tool("groff"), "-man", "-ww", "-z", "-Tascii", "-rLL=100n", str(page)]
    return subprocess.run(groff, capture_output=True, check=True, text=True).stderr


def shown(page: Path) -> str:
    """A manual page as man shows it, which warns of nothing."""
    man = [tool("man"), "--warnings=w", "-E", "UTF-8", "-P", "cat", "-l", str(page)]
    environment = os.environ | {"MANWIDTH": "120", "LC_ALL": "C.UTF-8"}
    ran = subprocess.run(man, capture_output=True, check=True, env=environment)
    if ran.stderr:
        raise ValueError(ran.stderr.decode())
    return re.sub(r".\x08", "", ran.stdout.decode())


def syntax_errors(shell: str, script: str) -> str:
    """Return a shell's syntax errors in a script, without running it."""
    ran = subprocess.run([tool(shell), "-n"], input=script, capture_output=True, check=False, text=True)
    return ran.stdout + ran.stderr


def bash_offers(script: str, folder: Path, *words: str) -> set[str]:
    """Return bash's completions of the last word of a command line, in a folder."""
    file = folder / "completion.bash"
    file.write_text(script)
    command = [tool("bash"), "--norc", "-eu", "-c", OFFERED, "bash", str(file), *words]
    ran = subprocess.run(command, capture_output=True, check=True, cwd=folder, timeout=PATIENCE_S, text=True)
    if ran.stderr:
        raise ValueError(ran.stderr)
    return set(ran.stdout.split())


class Zsh:
    """A zsh at a terminal."""

    def __init__(self, functions: Path, cwd: Path) -> None:
        """Start it with the completions of a folder."""
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.chdir(cwd)
            os.environ.update({"TERM": "dumb", "LC_ALL": "C.UTF-8", "COLUMNS": "200"})
            os.execv(tool("zsh"), ["zsh", "-f", "-i"])  # noqa: S606 - no shell is wanted around the shell
        self.type(f"PS1=; PROMPT_EOL_MARK=; fpath=('{functions}' $fpath); autoload -Uz compinit && compinit -u -D\n")
        self.type("show() { zle -I; print -r -- LINE:$BUFFER:END }; zle -N show; bindkey '^X' show\n")
        self.type("stty cols 200; echo rea''dy\n")
        self.until("ready")

    def type(self, text: str) -> None:
        """Type."""
        os.write(self.terminal, text.encode())

    def until(self, end: str) -> str:
        """Read the terminal until `end` appears; return all that was shown."""
        text, patience = "", time.monotonic() + PATIENCE_S
        while end not in text:
            if not select.select([self.terminal], [], [], max(patience - time.monotonic(), 0))[0]:
                raise TimeoutError(f"no {end!r} in {text!r}")
            text += os.read(self.terminal, 4096).decode()
        return text

    def line_after(self, typed: str) -> str:
        """The command line after TAB."""
        self.type(f"{typed}\t\x18")
        return self.until(":END\r\n").partition("LINE:")[2].partition(":END\r\n")[0]

    def close(self) -> None:
        """Leave it."""
        os.close(self.terminal)
        os.waitpid(self.child, 0)
