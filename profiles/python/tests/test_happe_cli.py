# SPDX-License-Identifier: GPL-2.0-or-later
"""What programs share: how they end, commands imported late."""

import errno
import os
import subprocess
import sys
from types import ModuleType

import click
import pytest

from happe_cli.commands import Command, LazyGroup, examples
from happe_cli.errors import INTERRUPTED, Failure
from happe_cli.program import Program


def meaning(error: Exception) -> Failure | None:
    """What an exception of happe-trouble's own means."""
    return Failure(os.EX_DATAERR, "by zero", "count again") if isinstance(error, ZeroDivisionError) else None


TROUBLE = Program("happe-trouble", meaning, advice={errno.EACCES: "be root"})


def ended(error: BaseException | None, capsys: pytest.CaptureFixture[str]) -> tuple[int | str | None, str]:
    """The status and standard error of a command that raises this."""

    @click.command()
    def command() -> None:
        if error is not None:
            raise error

    with pytest.raises(SystemExit) as end:
        TROUBLE.run(command, [])
    return end.value.code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (None, 0, ""),
        (Failure(os.EX_TEMPFAIL, "one", "two"), os.EX_TEMPFAIL, "happe-trouble: one\nhappe-trouble: two\n"),
        (ZeroDivisionError(), os.EX_DATAERR, "happe-trouble: by zero\nhappe-trouble: count again\n"),
        (click.UsageError("Bad word."), os.EX_USAGE, "happe-trouble: Bad word; try `happe-trouble --help`\n"),
        (
            PermissionError(errno.EACCES, "Permission denied", "f"),
            os.EX_NOPERM,
            "happe-trouble: f: Permission denied; be root\n",
        ),
        (OSError(errno.ENOSPC, "Full", "f"), os.EX_IOERR, "happe-trouble: f: Full; make room and try again\n"),
        (FileNotFoundError(errno.ENOENT, "No such file", "f"), os.EX_NOINPUT, "happe-trouble: f: No such file\n"),
        (FileExistsError(errno.EEXIST, "There", "f"), os.EX_CANTCREAT, "happe-trouble: f: There\n"),
        (OSError(errno.EADDRINUSE, "In use"), os.EX_UNAVAILABLE, "happe-trouble: In use\n"),
        (KeyboardInterrupt(), INTERRUPTED, "\nhappe-trouble: interrupted\n"),
    ],
    ids=str,
)
def test_a_program_ends_by_a_line_and_a_status(
    capsys: pytest.CaptureFixture[str], error: BaseException | None, status: int, said: str
) -> None:
    assert ended(error, capsys) == (status, said)


def test_a_file_that_is_not_there_is_no_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    @click.command()
    @click.argument("file", type=click.Path(exists=True))
    def command(file: str) -> None:
        """Read a file."""

    with pytest.raises(SystemExit) as end:
        TROUBLE.run(command, ["/none"])
    assert end.value.code == os.EX_NOINPUT
    assert capsys.readouterr().err == "happe-trouble: Invalid value for 'FILE': Path '/none' does not exist\n"


def test_a_mistake_of_the_programs_names_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    status, said = ended(RuntimeError("secret"), capsys)
    assert status == os.EX_SOFTWARE
    assert said.startswith("happe-trouble: internal error: RuntimeError at ")
    assert "secret" not in said


class Late(LazyGroup):
    """A program whose command is in a module of its own."""

    lazy = {"speak": ("happe_late", "Say something")}  # noqa: RUF012 - click's groups are classes with data


def test_help_imports_no_command_and_a_run_imports_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    group = Late("happe-late")
    context = click.Context(group, info_name="happe-late")
    assert "speak  Say something" in group.get_help(context)
    assert "happe_late" not in sys.modules

    @click.command(cls=Command, epilog=examples("happe-late speak"))
    def speak() -> None:
        """Say something."""

    module = ModuleType("happe_late")
    vars(module)["speak"] = speak
    monkeypatch.setitem(sys.modules, "happe_late", module)
    assert group.get_command(context, "speak") is speak
    assert group.get_command(context, "listen") is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["speka"], "unknown command 'speka'; did you mean 'speak'?"),
        (["listen"], "unknown command 'listen'; try `happe-trouble --help`"),
        (["speak", "--luod"], "unknown option '--luod'; did you mean '--loud'?"),
        (["speak", "--xyz"], "unknown option '--xyz'; try `happe-trouble speak --help`"),
        (["speak", "now"], "Got unexpected extra argument (now); try `happe-trouble speak --help`"),
    ],
    ids=str,
)
def test_a_mistyped_word_is_named_with_the_nearest(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    @click.command(cls=Command)
    @click.option("--loud", is_flag=True)
    def speak(*, loud: bool) -> None:
        """Say something."""

    module = ModuleType("happe_late")
    vars(module)["speak"] = speak
    monkeypatch.setitem(sys.modules, "happe_late", module)
    with pytest.raises(SystemExit) as end:
        TROUBLE.run(Late("happe-trouble"), arguments)
    assert (end.value.code, capsys.readouterr().err) == (os.EX_USAGE, f"happe-trouble: {said}\n")


def test_numpy_starts_no_threads() -> None:
    code = (
        "import click, os\n"
        "from happe_cli.program import Program\n"
        "try:\n"
        "    Program('happe-any', lambda error: None, advice={}).run(click.Command('any'), [])\n"
        "finally:\n"
        "    import numpy\n"
        "    print(*os.listdir('/proc/self/task'))\n"
    )
    bare = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    bare["PYTHONPATH"] = os.pathsep.join(sys.path)
    ran = subprocess.run([sys.executable, "-c", code], env=bare, capture_output=True, text=True, check=True)
    assert len(ran.stdout.splitlines()[-1].split()) == 1
