# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's simulated board, streamed. Its sawtooth of 100 ms follows CLOCK_MONOTONIC, so it dates every sample.

drivers/comedi/drivers/comedi_test.c: channel 0 climbs from the lowest to the highest value in each period of 100 ms.
A period begins at each multiple of 100 ms of ktime_get().
"""

from __future__ import annotations

import json
import signal
import time
from typing import TYPE_CHECKING

from t61 import power_logger
from t61.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

SECONDS, RATE = 10, 100_000
PERIOD_US = 100_000
PERIOD = RATE * PERIOD_US // 1_000_000
STALL_S, BUFFER_S = 4.0, 1.0
READ_LATE_S = 0.12  # how much later after a sample the last read may come than the first one
LATE_S = 0.5  # how late the emulated machine may resume a stalled reader
SOURCE = f'kind = "comedi"\nrate = {RATE}\nchannels = [0, 1]\nrange = [5, 5]\naref = "ground"'


def test_a_recording_at_200_ks_has_no_index_unexplained(comedi: str, tmp_path: Path) -> None:
    trace = power_logger.record(f'{SOURCE}\nplace = "{comedi}"\nbuffer = 8', tmp_path, SECONDS)
    manifest = trace.manifest
    assert trace.unexplained() == 0
    assert manifest["gaps"] == []
    assert manifest["samples"] == manifest["end_index"] >= SECONDS * RATE * 0.99
    sawtooth = trace.column("shunt")
    whole = sawtooth[: len(sawtooth) // PERIOD * PERIOD].reshape(-1, PERIOD)
    assert (whole == whole[0]).all()  # no sample is missing, doubled or in a wrong place
    assert abs(measured_hz(trace) / RATE - 1) * SECONDS < READ_LATE_S


def test_a_reader_that_stalls_has_one_gap_of_the_right_length(comedi: str, tmp_path: Path) -> None:
    with power_logger.begin(f'{SOURCE}\nplace = "{comedi}"\nbuffer = {BUFFER_S}', tmp_path, 9) as process:
        assert process.stdout
        assert json.loads(process.stdout.readline())["lost"] == 0
        stopped = time.monotonic()
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: time.monotonic() >= stopped + STALL_S, "the stall is over")
        process.send_signal(signal.SIGCONT)
        stalled = time.monotonic() - stopped
        process.communicate()
    assert process.returncode == 1  # the recording lost something
    trace = power_logger.kept(tmp_path)
    [gap] = trace.manifest["gaps"]
    lost = gap["to_index"] - gap["from_index"]
    assert gap["reason"] == "overflow"
    assert trace.unexplained() == 0
    # The buffer was between empty and full when the reader stalled.
    assert stalled - BUFFER_S - PERIOD_US / 1e6 < lost / RATE < stalled + LATE_S
    assert abs(measured_hz(trace) / RATE - 1) < 0.005
    # The sawtooth's phases before and after the gap show the error of its length, except for whole periods.
    phases = phases_us(trace.column("shunt"))
    at = gap["from_index"]
    wrong_us = (phases[at] - phases[at - 1] - (lost + 1) * 10 + PERIOD_US / 2) % PERIOD_US - PERIOD_US / 2
    assert abs(wrong_us) < 30_000


def measured_hz(trace: power_logger.Kept) -> float:
    """Return the samples a second, by the first and last pair of index and time."""
    first, last = trace.header["started"], trace.manifest["ended"]
    return float((last["index"] - first["index"]) * 1e6 / (last["monotonic_us"] - first["monotonic_us"]))


def phases_us(sawtooth: NDArray[np.generic]) -> NDArray[np.float64]:
    """Return the microseconds since the last multiple of 100 ms of the kernel's clock."""
    values = sawtooth.astype(float)
    climbed: NDArray[np.float64] = (values - values.min()) / (values.max() - values.min()) * PERIOD_US
    return climbed
