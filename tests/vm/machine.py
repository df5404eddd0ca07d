# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots the emulated T61, and runs a command in it as root.

usage: machine.py [--root TREE]        log in on its console: root, no password
"""

import argparse
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from image import BUILD, Image, build, by_root

BROKEN = 125
MEMORY_MIB = 1280
RESULTS_MIB = 256  # room for results, in a sparse file
NANOSECONDS_SHIFT = 2  # virtual time: 2^2 ns for each instruction
CONSOLE_TAIL = 40
KERNEL_PARAMETERS = (
    "console=ttyS0 quiet mitigations=off security=none audit=0 cryptomgr.notests systemd.show_status=0 panic=-1"
    " no_timer_check"  # the kernel's check fails if a busy host delays a guest's timer
)


@dataclass(frozen=True)
class Boot:
    """How to boot the machine."""

    virtual_time: bool = False  # time counts instructions and skips idle time; one processor
    deep_sleep: bool = False  # can wake from suspend to RAM; some seconds slower to boot
    per_cpu: bool = False  # eight processors with a policy each
    newer_processor: bool = False  # has instructions that wheels of numpy and pyarrow need and a T61 lacks
    memory_mib: int = MEMORY_MIB
    timeout_s: float = 300.0


@dataclass(frozen=True)
class Work:
    """The work of a guest."""

    folders: list[Path]  # in the command's folder
    command: str  # for sh
    root: Path | None = None  # files installed over / first


@dataclass
class Outcome:
    """The result of the work."""

    status: int = BROKEN
    lines: list[str] = field(default_factory=list)


def pack(work: Work, tar: Path) -> None:
    """Write the guest's first disk."""
    with tarfile.open(tar, "w") as archive, tempfile.NamedTemporaryFile("w") as script:
        script.write(work.command + "\n")
        script.flush()
        archive.add(script.name, "command")
        for folder in work.folders:
            archive.add(folder, f"work/{folder.name}", filter=by_root)
        if work.root:
            archive.add(work.root, "root", filter=by_root)


def unpack(tar: Path, results: Path) -> int:
    """Take the results from the guest's second disk. Return the command's status, or BROKEN without one."""
    results.mkdir(parents=True, exist_ok=True)
    status = results / "status"
    status.unlink(missing_ok=True)
    subprocess.run(["tar", "-xf", tar, "-C", results, "--no-same-owner"], check=False)
    return int(status.read_text()) if status.is_file() else BROKEN


def qemu(image: Image, boot: Boot, scratch: Path, *, person: bool) -> list[str]:
    """Return QEMU's command. The console goes to a file, the command's output to standard output."""
    processors = ["-smp", "8" if boot.per_cpu else "2", "-accel", "tcg,thread=multi"]
    if boot.virtual_time:
        clock = ["-icount", f"shift={NANOSECONDS_SHIFT},sleep=off", "-rtc", "base=2026-01-01,clock=vm"]
        processors = ["-smp", "1", "-accel", "tcg,thread=single", *clock]
    processor = "core2duo,+sse4.1,+sse4.2,+popcnt" if boot.newer_processor else "core2duo"
    kernel = image.packed_kernel if boot.deep_sleep else image.kernel
    lines = ["-serial", "stdio"] if person else ["-serial", f"file:{scratch}/console", "-serial", "stdio"]
    lines += ["-serial", "null", "-serial", "null"] if boot.per_cpu else []  # the table uses their scratch registers
    table = image.per_cpu_table if boot.per_cpu else image.table
    run = "" if person else " vm.run systemd.mask=serial-getty@ttyS0.service"
    return [
        "setpriv", "--pdeathsig", "KILL",  # ends the guest with us
        "qemu-system-x86_64", "-M", "pc", "-cpu", processor, "-m", str(boot.memory_mib), *processors,
        "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", *lines,
        "-acpitable", f"file={table}", "-device", "pc-testdev", "-device", "virtio-rng-pci",
        "-drive", f"file={scratch}/work.tar,if=virtio,format=raw,readonly=on",
        "-drive", f"file={scratch}/results.tar,if=virtio,format=raw",
        "-kernel", str(kernel), "-initrd", str(image.root),
        "-append", KERNEL_PARAMETERS + run,
    ]  # fmt: skip


def relay(stream: IO[bytes], lines: list[str]) -> None:
    """Show the guest's output as it comes, and keep it."""
    for raw in stream:
        line = raw.decode(errors="replace").rstrip("\r\n")
        lines.append(line)
        print(line, flush=True)


def show_console(console: Path) -> None:
    """Print the end of a broken guest's console."""
    lines = console.read_text(errors="replace").splitlines() if console.is_file() else []
    sys.stderr.write("machine: the guest broke; the end of its console:\n")
    for line in lines[-CONSOLE_TAIL:]:
        sys.stderr.write(f"  {line}\n")


def run(work: Work, boot: Boot, results: Path, image: Image) -> Outcome:
    """Boot, run, and bring the results back. A guest that does not end in time is broken."""
    BUILD.mkdir(parents=True, exist_ok=True)
    outcome = Outcome()
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="run-") as name:
        scratch = Path(name)
        prepare(work, scratch)
        command = qemu(image, boot, scratch, person=False)
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
            timer = threading.Timer(boot.timeout_s, give_up, (process, boot.timeout_s))
            timer.start()
            try:
                assert process.stdout  # noqa: S101 - PIPE
                relay(process.stdout, outcome.lines)
            finally:
                timer.cancel()
                process.kill()  # it has ended, unless somebody interrupted us
        outcome.status = unpack(scratch / "results.tar", results)
        if outcome.status == BROKEN:
            show_console(scratch / "console")
    return outcome


def give_up(process: subprocess.Popen[bytes], timeout_s: float) -> None:
    """End a guest that takes too long."""
    sys.stderr.write(f"machine: not done after {timeout_s:.0f} s\n")
    process.kill()


def prepare(work: Work, scratch: Path) -> None:
    """Make the guest's disks."""
    pack(work, scratch / "work.tar")
    with (scratch / "results.tar").open("wb") as disk:
        disk.truncate(RESULTS_MIB << 20)


def shell(work: Work, boot: Boot) -> int:
    """Give the person at the terminal the guest's console; `vm-install` unpacks the work there, `poweroff` leaves."""
    image = build()
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="run-") as name:
        prepare(work, Path(name))
        return subprocess.run(qemu(image, boot, Path(name), person=True), check=False).returncode


def tidy_when_terminated() -> None:
    """Let SIGTERM end us as Ctrl+C does, so that we leave nothing behind."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def main() -> int:
    """Give the guest's console. Return QEMU's exit status."""
    tidy_when_terminated()
    parser = argparse.ArgumentParser(description="Log in on the console of the emulated T61: root, no password.")
    parser.add_argument("--root", type=Path, metavar="TREE", help="files that `vm-install` installs over / there")
    return shell(Work([], "", parser.parse_args().root), Boot())


if __name__ == "__main__":
    sys.exit(main())
