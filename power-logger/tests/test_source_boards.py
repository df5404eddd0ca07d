# SPDX-License-Identifier: GPL-2.0-or-later
"""Sampling boards: comedi on a simulated board, and nidaqmx on a fake of NI's package.

tests/vm/guest_tests/test_power_comedi.py uses the kernel's own board. NI's package needs NI's driver, which nobody may
redistribute.
"""

import ctypes
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fake_boards import NI_6034E, FakeBoard, FakeNi
from happe_contract.traces import Reason
from happe_power import sources
from happe_power.source_kit import Taken, check_source, take
from happe_power.sources import libcomedi, nidaqmx
from happe_power.sources.clock import VirtualClock
from happe_power.sources.comedi import Comedi, narrowest
from happe_power.sources.indexer import counted_hz
from happe_power.sources.libcomedi import Input, Polynomial, Range
from happe_power.sources.nidaqmx import Nidaqmx
from happe_power.sources.source import SourceError, UnpluggedError

PAPER = {"kind": "comedi", "channels": [0, 1], "range": [0.4, 10], "rate": 100_000}


def rig(table: dict[str, Any] = PAPER, **board: Any) -> tuple[Comedi, FakeBoard, VirtualClock]:  # noqa: ANN401 - fields
    """Return a source on a board with some unusual fields."""
    clock = VirtualClock()
    fake = FakeBoard(clock, **{"most_buffer": 1 << 24, **board})
    return Comedi(fake, sources.named(table), clock), fake, clock


def ni_rig(**fields: Any) -> tuple[Nidaqmx, FakeNi, VirtualClock]:  # noqa: ANN401 - of FakeNi
    """Return a source on the fake package."""
    clock = VirtualClock()
    fake = FakeNi(clock, **fields)
    return Nidaqmx(fake, sources.named({"kind": "nidaqmx", "rate": 1000}), clock), fake, clock


def counted(taken: Taken, offset: int) -> np.ndarray[Any, np.dtype[np.generic]]:
    """Return the number of every sample that has a row: the board's input gives these numbers."""
    numbers = np.concatenate([np.arange(block.first_index, block.end_index) for block in taken.blocks])
    return ((numbers + offset) % (1 << 16) - (1 << 15)).astype(np.int16)


def test_every_scan_is_there_in_order_with_its_channels_side_by_side() -> None:
    source, _, clock = rig()
    taken = check_source(source, clock, 40)
    assert taken.gaps == []
    assert taken.end_index == 40 * 5000  # 50 ms at 100 kHz
    assert (taken.column(0) == counted(taken, 0)).all()
    assert (taken.column(1) == counted(taken, 1)).all()
    assert taken.pairs[-1].monotonic_us - taken.began.monotonic_us == 2_000_000


def test_a_channel_takes_the_narrowest_bipolar_range_that_holds_the_volts() -> None:
    assert [narrowest(NI_6034E, volts, "x") for volts in (0.01, 0.05, 0.4, 4, 10)] == [3, 3, 2, 1, 0]
    assert narrowest([Range(0, 10), Range(0, 0), Range(0, 5)], 4, "x") == 2
    with pytest.raises(SourceError, match=re.escape("has no range that takes 20 V; it has -10 to 10 V, -5 to 5 V")):
        narrowest(NI_6034E, 20, "x")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"range": [1, 2, 3]}, "range: 3 values for 2 channels"),
        ({"measures": ["shunt"]}, "measures: say what each of the 2 channels measures"),
    ],
)
def test_a_list_of_another_length_than_the_channels_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(SourceError, match=said):
        rig(PAPER | changed)


def test_scale_and_offset_turn_signed_counts_into_volts() -> None:
    source, _, _ = rig()
    shunt, supply = source.channels
    assert (shunt.lowest, shunt.highest) == (-32768, 32767)
    assert (shunt.scale, shunt.offset) == pytest.approx((1.0 / 65536, 0.0), abs=1e-12)
    assert supply.lowest is not None
    assert supply.scale * supply.lowest + supply.offset == pytest.approx(-10.0)


def test_the_boards_calibration_is_in_scale_and_offset() -> None:
    source, _, _ = rig(polynomial=Polynomial((0.001, 1.5e-5), 32768.0))
    assert source.channels[0].scale == pytest.approx(1.5e-5)
    assert source.channels[0].offset == pytest.approx(0.001)


def test_a_calibration_that_is_no_line_is_refused() -> None:
    rig(polynomial=Polynomial((0.0, 1.5e-5, 1e-16), 32768.0))  # bends by less than half a count
    with pytest.raises(SourceError, match="not a straight line"):
        rig(polynomial=Polynomial((0.0, 1.5e-5, 1e-12), 32768.0))
    with pytest.raises(SourceError, match="not a straight line"):
        rig(polynomial=Polynomial((0.5,), 0.0))


def test_samples_of_32_bits_are_kept_as_such() -> None:
    source, _, _ = rig(wide=True)
    taken = take(source, 3)
    assert taken.column(0).dtype == np.int32
    assert taken.column(0)[0] == -(1 << 31)


def test_an_unfinished_scan_waits_for_its_rest() -> None:
    source, board, _ = rig()
    taken = Taken(source.start(0))
    for short in (3, 1, 2, 0):
        board.short_by = short
        taken.add(source.read(0.2))
    assert taken.gaps == []
    assert (taken.column(1) == counted(taken, 1)).all()


def test_a_reader_that_stalls_has_one_overflow_of_the_right_length() -> None:
    source, board, clock = rig(PAPER | {"buffer": 1})
    taken = take(source, 4)
    held = taken.end_index
    clock.sleep(5.0)
    for _ in range(6):
        taken.add(source.read(0.2))
    [gap] = taken.gaps
    assert gap.reason is Reason.OVERFLOW
    assert gap.from_index == held + 100_000  # a second was in the buffer
    assert abs(gap.to_index - gap.from_index - 4 * 100_000) <= 2 * 5000  # two batches of 50 ms passed meanwhile
    assert board.commands == 2
    # Time and index agree after the gap as before it.
    last = taken.pairs[-1]
    assert last.index == pytest.approx((last.monotonic_us - taken.began.monotonic_us) / 10, abs=1)
    # The samples of the full buffer were old at the reading, so they get no time.
    assert all(abs(pair.index - (pair.monotonic_us - taken.began.monotonic_us) / 10) <= 1 for pair in taken.pairs)


def test_an_overflow_in_a_recording_whose_clock_is_off_is_reckoned_from_the_last_read() -> None:
    source, _, clock = rig(PAPER | {"buffer": 1}, ppm=300.0)
    taken = take(source, 400)  # 20 s: it is 600 samples ahead of the nominal rate
    ahead = taken.end_index - 20 * 100_000
    assert ahead == pytest.approx(600, abs=2)
    clock.sleep(5.0)
    for _ in range(4):
        taken.add(source.read(0.2))
    [gap] = taken.gaps
    since_us = taken.pairs[-1].monotonic_us - taken.began.monotonic_us
    assert taken.end_index - since_us / 10 == pytest.approx(ahead, abs=40)  # 100 ms at 300 ppm, and what it began with
    assert gap.to_index > gap.from_index


def test_a_board_that_goes_silent_is_started_anew_after_a_stall() -> None:
    source, board, _ = rig()
    taken = take(source, 2)
    board.silent = True
    while board.commands == 1:
        taken.add(source.read(0.2))
    board.silent = False
    taken.add(source.read(0.2))
    [gap] = taken.gaps
    assert gap.reason is Reason.STALL
    assert (gap.to_index - gap.from_index) / 100_000 == pytest.approx(2.1, abs=0.2)


@pytest.mark.parametrize("kind", ["comedi", "nidaqmx"])
def test_a_board_that_is_unplugged_says_so_and_may_come_back(kind: str) -> None:
    source, board, _ = rig() if kind == "comedi" else ni_rig()
    says = "pci-6034e (fake_pcimio) went away" if kind == "comedi" else "Dev1: Device cannot be accessed"
    take(source, 2)
    board.gone = True
    with pytest.raises(UnpluggedError, match=re.escape(says)):
        source.read(0.2)
    with pytest.raises(UnpluggedError):
        source.start(12_345)
    board.gone = False
    assert take(source, 2, first_index=20_000).blocks[0].first_index == 20_000


def test_a_rate_that_the_board_rounds_is_the_rounded_one() -> None:
    source, _, _ = rig(PAPER | {"rate": 30_000})
    assert source.rate_hz == pytest.approx(1e9 / 33_350)  # 33,333 ns in steps of 50


def test_a_rate_that_the_board_does_not_have_is_refused_with_the_one_it_has() -> None:
    with pytest.raises(SourceError, match=r"samples at 66666\.66667 Hz, not at 100000 Hz: ask for rate = 66666\.66667"):
        rig(slowest_scan_ns=15_000)


def test_a_counted_rate_that_is_off_is_told() -> None:
    source, _, _ = rig(ppm=-40_000.0)
    assert source.notes == ()
    taken = take(source, 300)
    assert counted_hz(taken.began, taken.pairs[-1]) == pytest.approx(96_000, abs=1)
    assert "counted 96000 samples a second, not 100000 (-40000 ppm)" in sources.notes_of(source)[0]


def test_a_small_buffer_is_told_with_the_command_that_enlarges_it() -> None:
    small, _, _ = rig(most_buffer=1 << 16)
    assert "holds 0.16 s" in small.notes[0]
    assert "comedi_config --read-buffer" in small.notes[0]
    assert rig()[0].notes == ()


class Library:
    """libcomedi's functions, as far as a Board needs them, with a file of calibration or without."""

    def __init__(self, *, soft: bool, calibrated: bool) -> None:
        """`soft`: the board uses soft calibration. `calibrated`: it has the file for this."""
        self._flags = libcomedi.SDF_CMD_READ | (libcomedi.SDF_SOFT_CALIBRATED if soft else 0)
        self._calibrated = calibrated
        self.asked: list[str] = []
        self._path = ctypes.CDLL(None).strdup
        self._path.restype = ctypes.c_void_p

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - functions of C
        def call(*arguments: Any) -> Any:  # noqa: ANN401 - the same
            self.asked.append(name)
            return self._answer(name, arguments)

        return call

    def _answer(self, name: str, arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401 - the same
        if name.endswith("converter"):
            polynomial = arguments[-1]._obj  # noqa: SLF001 - the object of byref()
            polynomial.coefficients[:2] = (0.25, 1e-5)
            polynomial.order = 1
            return 0
        answers: dict[str, Any] = {
            "comedi_open": 1,
            "comedi_get_subdevice_flags": self._flags,
            "comedi_get_driver_name": b"ni_pcimio",
            "comedi_get_board_name": b"pci-6220",
            "comedi_get_n_channels": 16,
            "comedi_parse_calibration_file": 1 if self._calibrated else None,
        }
        if name == "comedi_get_default_calibration_path":
            return self._path(b"/var/lib/comedi/calibrations/ni_pcimio_pci-6220_comedi0")
        return answers.get(name, 0)


@pytest.mark.parametrize(("soft", "used", "unused"), [(False, "hardcal", "softcal"), (True, "softcal", "hardcal")])
def test_the_soft_calibration_is_used_only_where_the_driver_says_so(
    monkeypatch: pytest.MonkeyPatch,
    soft: bool,  # noqa: FBT001 - a parameter of the test
    used: str,
    unused: str,
) -> None:
    library = Library(soft=soft, calibrated=True)
    monkeypatch.setattr(libcomedi, "library", lambda: library)
    monkeypatch.setattr("os.set_blocking", lambda *_: None)
    board = libcomedi.Board("/dev/comedi0")
    assert board.converter(Input(0, 0, 0)) == Polynomial((0.25, 1e-5), 0.0)
    assert f"comedi_get_{used}_converter" in library.asked
    assert f"comedi_get_{unused}_converter" not in library.asked


def test_a_missing_file_of_calibration_is_told_with_the_command_that_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libcomedi, "library", lambda: Library(soft=True, calibrated=False))
    monkeypatch.setattr("os.set_blocking", lambda *_: None)
    with pytest.raises(SourceError, match=re.escape("comedi_soft_calibrate -f /dev/comedi0")):
        libcomedi.Board("/dev/comedi0").converter(Input(0, 0, 0))


def test_the_real_library_is_there_and_has_every_function_that_is_used() -> None:
    library = libcomedi.library()
    text = Path(libcomedi.__file__).read_text()
    used = set(re.findall(r"_lib\.(comedi_\w+)", text)) | {f"comedi_{n}" for n in re.findall(r'_do\("(\w+)"', text)}
    assert len(used) > 15
    for name in used:
        assert getattr(library, name)


def test_of_ni_every_sample_is_there_as_volts() -> None:
    source, fake, clock = ni_rig()
    taken = check_source(source, clock, 20)
    assert taken.gaps == []
    assert taken.column(0) == pytest.approx(np.arange(taken.end_index) * 1e-3)
    assert taken.column(1) == pytest.approx((np.arange(taken.end_index) + 1) * 1e-3)
    assert taken.end_index == pytest.approx((taken.pairs[-1].monotonic_us - taken.began.monotonic_us) / 1000, abs=1)
    assert (source.device, source.serial) == ("PCI-6034E (Dev1)", "BEEF")
    assert set(fake.buffers) == {2000}
    assert fake.opened == fake.closed == 4  # one task to ask for the granted rate, and three starts


def test_of_ni_samples_that_were_overwritten_are_an_overflow_of_the_right_length() -> None:
    source, fake, clock = ni_rig()
    taken = take(source, 3)
    before = taken.end_index
    clock.sleep(5.0)
    for _ in range(3):
        taken.add(source.read(0.2))
    [gap] = taken.gaps
    assert (gap.from_index, gap.reason) == (before, Reason.OVERFLOW)
    assert gap.to_index - gap.from_index == pytest.approx(5050, abs=2)  # NI's driver gives none of its stored samples
    assert fake.opened == 3


def test_of_ni_a_channel_that_is_not_there_is_told() -> None:
    with pytest.raises(SourceError, match="channel specified does not exist on this device: Dev1/ai1"):
        ni_rig(most_inputs=1)


def test_without_nis_package_the_command_that_gets_it_is_said() -> None:
    with pytest.raises(SourceError, match="pip install happe-power-logger"):
        sources.make({"kind": "nidaqmx", "place": "Dev1"})


def test_without_nis_driver_it_is_said_where_that_is(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeNi(VirtualClock(), driver=False)
    monkeypatch.setattr(nidaqmx, "package", lambda: fake)
    with pytest.raises(SourceError, match=r"NI's driver does not answer: .*ni\.com"):
        sources.make({"kind": "nidaqmx", "place": "Dev1"})
    [one] = sources.kinds()["nidaqmx"].find()
    assert (one.table, one.command) == (None, nidaqmx.GET_DRIVER)
