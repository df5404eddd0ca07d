# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion for bash and zsh of a program's command line. It runs no program."""

from __future__ import annotations

import shlex
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from happe_describe.command import Command, Option


def bash(program: Command) -> str:
    """Return a script for bash to source."""
    commands = [sub.path for command in program.all() for sub in command.commands]
    walk = _case(_taking(program, lambda _option: True), "((i++))")
    walk += _case(commands, 'command+=" ${COMP_WORDS[i]}"')
    text = resources.files(__package__).joinpath("completion.bash").read_text(encoding="utf-8")
    places = {
        "@PROGRAM@": program.path,
        "@FUNCTION@": _function(program.path),
        "@WALK@": walk,
        "@VALUES@": _values(program),
        "@WORDS@": "".join(map(_words, program.all())),
    }
    for place, value in places.items():
        text = text.replace(place, value)
    return text


def zsh(program: Command) -> str:
    """Return a function file for zsh's fpath."""
    head = f"#compdef {program.path}\n# zsh completion of {program.path}\n\n"
    return f'{head}{"".join(map(_zsh_function, program.all()))}{_function(program.path)} "$@"\n'


def _function(path: str) -> str:
    return "_" + path.replace(" ", "_").replace("-", "_")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _case(words: list[str], action: str) -> str:
    return f"        {' | '.join(map(shlex.quote, words))}) {action} ;;\n" if words else ""


def _taking(program: Command, wanted: Callable[[Option], bool]) -> list[str]:
    """Return `PATH OPTION` for each wanted option with a value."""
    return [
        f"{command.path} {name}"
        for command in program.all()
        for option in command.options
        if option.value and wanted(option)
        for name in option.names
    ]


def _values(program: Command) -> str:
    """Return the shell's cases for the value of an option."""
    text = _case(_taking(program, lambda option: option.takes == "file"), "kind=file")
    text += _case(_taking(program, lambda option: option.takes == "folder"), "kind=directory")
    for command in program.all():
        for option in command.options:
            if option.choices:
                paths = [f"{command.path} {name}" for name in option.names]
                text += _case(paths, f"kind=word words={_quoted(' '.join(option.choices))}")
    return text + _case(_taking(program, lambda option: not (option.takes or option.choices)), "return")


def _words(command: Command) -> str:
    """Return the shell's case for a command's other words."""
    words = [sub.name for sub in command.commands]
    words += [choice for argument in command.arguments for choice in argument.choices]
    options = " ".join(name for option in command.options for name in option.names)
    kind = "word"
    if any(argument.takes == "folder" for argument in command.arguments):
        kind = "directory"
    if any(argument.takes == "file" for argument in command.arguments):
        kind = "file"
    return _case([command.path], f"kind={kind} words={_quoted(' '.join(words))} options={_quoted(options)}")


def _zsh_function(command: Command) -> str:
    parts = [part for option in command.options for part in _zsh_options(option)]
    parts += [
        _quoted(f"{'*' if argument.repeated else ''}:{_zsh_text(argument.value)}:{_zsh_action(argument)}")
        for argument in command.arguments
    ]
    if not command.commands:
        return f"{_function(command.path)}() {{\n    _arguments \\\n        {_joined(parts)}\n}}\n\n"
    parts += ["'1: :->command'", "'*:: :->arguments'"]
    state = "    local curcontext=$curcontext state state_descr line\n    typeset -A opt_args\n"
    return (
        f"{_function(command.path)}() {{\n{state}    _arguments -C \\\n        {_joined(parts)}\n"
        f"{''.join(_zsh_commands(command))}}}\n\n"
    )


def _joined(parts: list[str]) -> str:
    return " \\\n        ".join(parts)


def _zsh_commands(command: Command) -> Iterator[str]:
    """Yield zsh's code for a command's own commands: the first word names one, which gets the rest."""
    yield "    case $state in\n    command)\n        local -a commands=(\n"
    for sub in command.commands:
        yield f"            {_quoted(f'{sub.name}:{_zsh_text(sub.summary)}')}\n"
    yield "        )\n        _describe command commands\n        ;;\n    arguments)\n        case $line[1] in\n"
    for sub in command.commands:
        yield f"        {_quoted(sub.name)}) {_function(sub.path)} ;;\n"
    yield "        esac\n        ;;\n    esac\n"


def _zsh_options(option: Option) -> Iterator[str]:
    names = " ".join(option.names)
    alone = "--help" in option.names or "--version" in option.names
    exclusion = "*" if option.repeated else ("(- *)" if alone else f"({names})")
    value = f":{_zsh_text(option.value)}:{_zsh_action(option)}" if option.value else ""
    for name in option.names:
        equals = ("=" if name.startswith("--") else "+") if option.value else ""
        yield _quoted(f"{exclusion}{name}{equals}[{_zsh_text(option.description)}]{value}")


def _zsh_text(text: str) -> str:
    """Escape a text that stands between colons or brackets in zsh."""
    return "".join(f"\\{c}" if c in ":[]\\" else c for c in text.replace("\n", " "))


def _zsh_action(option: Option) -> str:
    if option.takes == "file":
        return "_files"
    if option.takes == "folder":
        return "_files -/"
    return f"({' '.join(option.choices)})" if option.choices else " "
