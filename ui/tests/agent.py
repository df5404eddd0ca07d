# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-indicator as the session agent: on a desktop, before the real happed."""

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from cost import wake_ups_in
from desktop import AS_USER, X11, Desktop, Output, program
from happed_world import Client, Happed
from patience import until

SETTLED_S = 0.3  # three times as long as the agent waits after a change

# Runs a program in a new PID namespace, as Flatpak does: there it is process 1. It ends with its parent.
BOXED = (
    ["unshare", "--pid", "--fork", *AS_USER, "--pdeathsig=KILL"]
    if AS_USER
    else ["unshare", "--user", "--pid", "--fork", "--kill-child"]
)


def window(desktop: Desktop, name: str, platform: str = "", *, boxed: bool = False, **environment: str) -> int:
    """Put a program's window on the desktop, as happed's user. Return its process, or its PID namespace's."""
    command = f"exec -a {name} {program('happe-ui-window')} black small"
    platform = platform or desktop.platform
    # # Otherwise it waits for a bus that xfwm4 has started as root.
    alone = {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent", "QT_QPA_PLATFORM": platform}
    told = Output(desktop.start(*(BOXED if boxed else AS_USER), "bash", "-c", command, **alone, **environment))
    told.until("shown")
    return told.process.pid


def window_of(desktop: X11, pid: int) -> str:
    """Return a process's window, when the window manager lists it."""

    def listed() -> str | None:
        numbers = desktop.root_property("_NET_CLIENT_LIST").partition("# ")[2].replace(",", "").split()
        owners = ((number, desktop.ask("xprop", "-id", number, "_NET_WM_PID")) for number in numbers)
        return next((number for number, owner in owners if owner.endswith(f"= {pid}\n")), None)

    return str(int(until(listed, f"the window of process {pid} is listed"), 16))


@dataclass
class Agent:
    """A running happe-indicator. It shows nothing unless the test gives it a place."""

    desktop: Desktop
    happed: Happed
    me: Client = field(init=False)
    process: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        """Connect a client that happed serves."""
        self.me = self.happed.serves()

    def start(self, *options: str, **environment: str) -> Self:
        """Start it as the user whom happed serves."""
        address = self.happed.world.address
        buses = {"DBUS_SYSTEM_BUS_ADDRESS": address, "DBUS_SESSION_BUS_ADDRESS": address}
        log = Path(self.desktop.environment["HOME"]) / "agent.log"
        log.touch()
        alone = () if "--where" in options else ("--no-overlay",)
        command = (*AS_USER, program("happe-indicator"), *alone, *options)
        shell = ("sh", "-c", f'exec "$@" 2>>{log}', "sh", *command)
        self.process = self.desktop.start(*shell, **{**buses, **environment})
        return self

    @property
    def log(self) -> str:
        """Return its output."""
        return (Path(self.desktop.environment["HOME"]) / "agent.log").read_text()

    def serves(self, application: str) -> None:
        """Wait until happed serves this application."""
        try:
            until(lambda: self.me.get("Application") == application, f"{application} is served")
        except AssertionError as error:
            error.add_note(f"{self.me.get('Application')} is served. The agent said:\n{self.log}")
            raise

    def is_idle(self) -> None:
        """Wait until the agent has nothing more to do."""
        until(lambda: wake_ups_in(self.process.pid, SETTLED_S) == 0, "the agent sleeps")

    def serves_for_good(self, application: str) -> None:
        """Wait until happed serves this application, and the agent has nothing more to do that could change this."""
        self.serves(application)
        self.is_idle()
        assert self.me.get("Application") == application
