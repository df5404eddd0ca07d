# SPDX-License-Identifier: GPL-2.0-or-later
"""Mode `extended` on a real happed: no press works against its key, and probes are only where somebody feels them."""

import contextlib
import os
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from happed_stand_in import HappeCtl
from happed_t61 import CAPPED, T61, Machine, always_wants, machine_of_today, shows, turns
from happed_world import IS_ROOT, ME, MY_SESSION, Client, Happed, World, somebody
from patience import until

LOWER, LESS, LEARNED, TOP = 800_000, 1_200_000, 1_600_000, 2_300_000
EXTENDED = '[algorithm]\nmode = "extended"\n'
QUICK = "period_ms = 100\n" + EXTENDED
BACKENDS = pytest.mark.parametrize("found", [{}, CAPPED], ids=["setspeed", "cap"])

# A machine of today with a profile of an application that has learned a little.
NOW, NOW_TOP, OWN = "intel-pstate-8", 4_700_000, 2_800_000
LIMIT = 1_500_000


@pytest.fixture(autouse=True)
def busy() -> Iterator[None]:
    """Keep a CPU busy, so that it would run faster without HAPPE."""
    with subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=one_cpu) as process:  # noqa: PLW1509 - no threads yet
        yield
        process.kill()


def one_cpu() -> None:
    """Stay on one CPU."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


class Front:
    """An application in front, which uses all the CPU time of the machine, or none."""

    def __init__(self, happed: Happed, me: Client, process: int) -> None:
        """Show its cgroup to happed, and happed that it is in front."""
        pid = Path(f"/proc/self/fdinfo/{process}").read_text().split("Pid:")[1].split()[0]
        group = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        own = next(line for line in group if line.startswith("0::"))
        folder = happed.folder / "mock/sys/fs/cgroup" / own.removeprefix("0::/")
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "cpu.stat"
        self.works = True
        self.used = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        me("SetFocus", "hs", 0, "", fds=(process,))

    def run(self) -> None:
        """Use an hour of CPU time every hundredth of a second."""
        while not self.ended.wait(0.01):
            self.used += 3_600_000_000 if self.works else 0
            file = os.open(self.file, os.O_WRONLY | os.O_CREAT, 0o644)
            os.pwrite(file, b"usage_usec %018d\nuser_usec 0\n" % self.used, 0)
            os.close(file)

    def end(self) -> None:
        """End it."""
        self.ended.set()
        self.thread.join()


class Quiet:
    """happed with a profile whose quiet time is over: a probe begins as soon as it may."""

    def __init__(self, happed: Happed, found: dict[str, str]) -> None:
        """Start happed twice: the first one makes the profile."""
        happed.configure(QUICK)
        self.machine = T61(happed.cpus, **found)
        self.file = "scaling_max_freq" if found else "scaling_setspeed"
        always_wants(happed.start().serves(), LEARNED, application="sleep")
        assert happed.stop() == 0
        with contextlib.closing(sqlite3.connect(happed.folder / "p.db")) as connection, connection:
            connection.execute("UPDATE uafp SET state = json_object('wait_us', 130000000, 'quiet_us', 130000000)")

    @contextlib.contextmanager
    def begin(self, happed: Happed) -> Iterator[Front]:
        """Start happed with an application in front."""
        self.me = happed.start().serves()
        with somebody(ME, "sleep", "1000") as process:
            front = Front(happed, self.me, process)
            try:
                self.me.sees("Application", "sleep")
                shows(self.machine, self.file, LEARNED)
                yield front
            finally:
                front.end()

    def sees(self, state: str, khz: int) -> int:
        """Wait for a state of probes at this frequency. Return the seconds that happed shows."""
        until(lambda: self.me.get("Descent")[0] == state, f"{state}, it is {self.me.get('Descent')}")
        shows(self.machine, self.file, khz)
        if "setspeed" not in self.file:
            self.machine["scaling_cur_freq"] = str(khz)  # as fast as it may
        seconds: int = self.me.get("Descent")[2]
        return seconds


@BACKENDS
def test_a_probe_waits_for_the_idle_hint_and_ends_with_it(stopped: Happed, world: World, found: dict[str, str]) -> None:
    quiet = Quiet(stopped, found)
    with quiet.begin(stopped):
        quiet.sees("unattended", LEARNED)
        world.session(MY_SESSION, IdleSinceHint=("t", 1), Type=("s", "tty"))  # logind announces none of a terminal
        turns(stopped, 3)
        quiet.sees("unattended", LEARNED)

        world.session(MY_SESSION, Type=("s", "wayland"))
        assert quiet.sees("probing", LESS) > 14 * 60  # accepted only when the hint would have been set

        world.session(MY_SESSION, IdleHint=("b", True))
        quiet.sees("unattended", LEARNED)
        assert quiet.me("ListEvents", "ssxu", "", "sleep", 0, 10) == []
        assert quiet.me("GetProfile", "ss", "", "sleep") == [LEARNED] * 10


def test_the_agent_sees_input_sooner_than_the_hint(stopped: Happed) -> None:
    quiet = Quiet(stopped, {})
    with quiet.begin(stopped):
        quiet.sees("unattended", LEARNED)
        quiet.me("SetIdle", "b", False)  # noqa: FBT003 - D-Bus has no names
        assert 50 < quiet.sees("probing", LESS) <= 60
        quiet.me("SetIdle", "b", True)  # noqa: FBT003
        quiet.sees("unattended", LEARNED)
        quiet.me("SetIdle", "b", False)  # noqa: FBT003
        quiet.sees("waiting", LEARNED)
        assert quiet.me("GetProfile", "ss", "", "sleep") == [LEARNED] * 10


def test_work_of_others_is_not_slowed_down(stopped: Happed) -> None:
    quiet = Quiet(stopped, {})
    with quiet.begin(stopped) as front:
        front.works = False
        turns(stopped, 2)
        quiet.me("SetIdle", "b", False)  # noqa: FBT003
        turns(stopped, 3)
        quiet.sees("waiting", LEARNED)
        front.works = True
        quiet.sees("probing", LESS)
        front.works = False
        quiet.sees("waiting", LEARNED)


@BACKENDS
def test_under_a_lower_limit_of_another_no_probe_begins_or_goes_on(
    stopped: Happed, world: World, found: dict[str, str]
) -> None:
    quiet = Quiet(stopped, found)
    world.session(MY_SESSION, IdleHint=("b", True), IdleSinceHint=("t", 1))
    with quiet.begin(stopped):
        quiet.machine["scaling_max_freq"] = str(LOWER)
        quiet.me.sees("Limits", [(0, LOWER, LOWER)])
        world.session(MY_SESSION, IdleHint=("b", False))
        quiet.sees("waiting", LOWER)
        turns(stopped, 3)
        quiet.sees("waiting", LOWER)

        quiet.machine["scaling_max_freq"] = str(TOP)
        if found:
            quiet.machine["scaling_cur_freq"] = str(LEARNED)
        quiet.sees("probing", LESS)

        quiet.machine["scaling_max_freq"] = str(LOWER)
        quiet.sees("waiting", LOWER)
        quiet.machine["scaling_max_freq"] = str(TOP)
        quiet.sees("waiting", LEARNED)
        assert quiet.me("GetProfile", "ss", "", "sleep") == [LEARNED] * 10


def learned_a_little(happed: Happed, mode: str = "extended") -> tuple[Machine, Client]:
    """Start happed on a machine of today, with 2.8 GHz for every level."""
    happed.configure(f'period_ms = 100\n[algorithm]\nmode = "{mode}"\n')
    machine = machine_of_today(NOW, happed.cpus)
    me = happed.start().serves()
    always_wants(me, OWN, NOW_TOP)
    until(lambda: machine.of_all("scaling_max_freq") == {str(OWN)}, "the profile's cap is set")
    return machine, me


def press(me: Client, key: str) -> None:
    """Press a key, and wait until it counts."""
    me.listen()
    me("Feedback", "s", key)
    assert me.heard("KeyCounted") == [key]


@pytest.mark.parametrize("mode", ["extended", "paper"])
def test_faster_under_another_programs_limit_lowers_nothing_for_good(stopped: Happed, mode: str) -> None:
    machine, me = learned_a_little(stopped, mode)
    for policy in machine.policies:
        (policy / "scaling_max_freq").write_text(f"{LIMIT}\n")
    until(lambda: len(me.get("Limits")) == len(machine.policies), "the limit is seen")
    press(me, "performance")
    assert me("GetProfile", "ss", "", "desktop") == [OWN] * 10
    for policy in machine.policies:
        (policy / "scaling_max_freq").write_text(f"{NOW_TOP}\n")
    until(lambda: machine.of_all("scaling_max_freq") == {str(OWN)}, "the cap is the one before")


def test_faster_without_boost_lowers_nothing(stopped: Happed) -> None:
    machine, me = learned_a_little(stopped)
    for policy in machine.policies:
        (policy / "cpuinfo_max_freq").write_text("2100000\n")
    until(lambda: me.get("Ladders")[0][2][-1] == 2_100_000, "happed knows the machine without boost")
    me.sees("State", "governing")
    press(me, "performance")
    assert min(me("GetProfile", "ss", "", "desktop")) >= OWN


def test_save_power_in_the_first_seconds_raises_nothing(stopped: Happed) -> None:
    machine, me = learned_a_little(stopped)
    stopped.world.allow("hold")
    cookie = me("Hold", "ss", "test", "")
    until(lambda: machine.of_all("scaling_max_freq") == {str(NOW_TOP)}, "the kernel runs the machine")
    for policy in machine.policies:
        (policy / "scaling_cur_freq").write_text(f"{NOW_TOP}\n")
    me("Release", "u", cookie)
    press(me, "power")
    [lesson] = me("ListEvents", "ssxu", "", "desktop", 0, 10)
    assert max(me("GetProfile", "ss", "", "desktop")) <= OWN
    assert lesson[6] < OWN, "it saves power"
    until(lambda: machine.of_all("scaling_max_freq") == {str(lesson[6])}, "the machine is slower than before")


def faster(happectl: HappeCtl, world: World) -> str:
    """Press "faster" with happectl, as the user whom happed serves. Return its output."""
    command = [str(happectl.program), "feedback", "faster"]
    environment = world.bus.environment(LC_ALL="C.UTF-8")
    user = ME if IS_ROOT else None
    said: str = subprocess.run(command, user=user, env=environment, capture_output=True, check=True, text=True).stdout
    return said


def test_a_press_at_the_top_says_so_and_is_no_lesson(stopped: Happed, happectl: HappeCtl, world: World) -> None:
    machine, me = learned_a_little(stopped)
    always_wants(me, NOW_TOP, NOW_TOP)
    until(lambda: machine.of_all("scaling_max_freq") == {str(NOW_TOP)}, "it is at the top")
    assert faster(happectl, world) == "This is the fastest.\n"
    assert me.get("Fastest") > 0
    for policy in machine.policies:
        (policy / "scaling_max_freq").write_text(f"{LIMIT}\n")
    until(lambda: len(me.get("Limits")) == len(machine.policies), "the limit is seen")
    told = "This is the fastest: another program or the kernel allows only 1.5 GHz.\n"
    until(lambda: faster(happectl, world) == told, "a press within a series does not count")
    assert me("ListEvents", "ssxu", "", "desktop", 0, 10) == []
    assert me("GetProfile", "ss", "", "desktop") == [NOW_TOP] * 10
