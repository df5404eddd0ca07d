# SPDX-License-Identifier: GPL-2.0-or-later
"""verify names each way in which a trace is spoiled, and the file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from given_sources import SHUNT, SUPPLY, pair_at, record, samples, steady
from happe_contract.parts import Footer, read_footer
from happe_contract.traces import Gap, Reason
from happe_power.recording import parts
from happe_power.sources.source import Reading
from happe_power.verify import verify

RATE = 1000.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A good trace of three parts and a gap."""
    readings = [*steady(RATE, 500, 1.0), Reading((Gap(1000, 1200, Reason.OVERFLOW),), pair_at(1200, RATE))]
    readings += [Reading((samples(1200, 1500),), pair_at(2700, RATE))]
    made = record(tmp_path, readings).folders[0]
    assert verify(made).problems == []
    return made


def found(folder: Path) -> dict[str, str]:
    """Return the problems by file."""
    return {problem.file: problem.detail for problem in verify(folder).problems}


def flip(path: Path, at: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.write_bytes(raw)


def edited(path: Path, change: Callable[[Any], object]) -> None:
    document = json.loads(path.read_bytes())
    change(document)
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("at", [5, 200, -30])
def test_a_flipped_bit_anywhere_in_a_part_is_found_and_the_part_named(folder: Path, at: int) -> None:
    flip(folder / "parts/000001.parquet", at)
    assert "has changed since it was closed" in found(folder)["parts/000001.parquet"]
    (folder / "manifest.json").unlink()
    assert list(found(folder)) == ["parts/000001.parquet"]


def test_a_part_cut_short_is_found(folder: Path) -> None:
    path = folder / "parts/000002.parquet"
    path.write_bytes(path.read_bytes()[:-10])
    (folder / "manifest.json").unlink()
    (folder / "digests.jsonl").unlink()
    assert "no Parquet file" in found(folder)["parts/000002.parquet"]


def test_a_missing_part_is_found_with_and_without_a_manifest(folder: Path) -> None:
    (folder / "parts/000001.parquet").unlink()
    assert found(folder)["parts/000001.parquet"] == "is missing"
    (folder / "manifest.json").unlink()
    assert found(folder)["parts/000001.parquet"] == "is missing"


def test_parts_that_went_after_the_seal_are_no_fault(folder: Path) -> None:
    (folder / "seal.json").write_text("{}")
    (folder / "parts/000001.parquet").unlink()
    report = verify(folder)
    assert (report.problems, report.state) == ([], "sealed")


def test_an_index_that_nothing_explains_is_found(folder: Path) -> None:
    (folder / "gaps.jsonl").write_text("")
    assert "indices 1000 to 1200 are neither" in found(folder)["gaps.jsonl"]
    assert "its gaps are not those" in found(folder)["manifest.json"]


def test_an_index_that_is_explained_twice_is_found(folder: Path) -> None:
    (folder / "gaps.jsonl").write_text('{"from_index":900,"to_index":1200,"reason":"stall"}\n')
    assert "indices 900 to 1000 are in two rows or gaps" in found(folder)["gaps.jsonl"]


def test_a_manifest_with_another_end_or_another_trace_is_found(folder: Path) -> None:
    edited(
        folder / "manifest.json", lambda it: it.update(end_index=2800, trace="0" * 8 + "-0000-0000-0000-000000000000")
    )
    assert found(folder).keys() == {"gaps.jsonl", "manifest.json"}


def test_a_time_base_that_goes_back_is_found(folder: Path) -> None:
    columns = parts.read_columns(folder / "parts/000001.parquet")
    footer = read_footer(folder / "parts/000001.parquet")
    back = Footer(footer.trace, 1, footer.runs, (pair_at(1900, RATE), pair_at(1500, RATE)))
    (folder / "parts/000001.parquet").write_bytes(parts.encode((SHUNT, SUPPLY), list(columns.values()), back))
    (folder / "manifest.json").unlink()
    (folder / "digests.jsonl").unlink()
    details = [problem.detail for problem in verify(folder).problems]
    assert "its time base goes back at index 1500" in details


def test_a_part_of_another_trace_or_with_other_columns_is_found(folder: Path) -> None:
    footer = read_footer(folder / "parts/000000.parquet")
    columns = list(parts.read_columns(folder / "parts/000000.parquet").values())
    foreign = Footer("another", 0, footer.runs, footer.time_base)
    (folder / "manifest.json").unlink()
    (folder / "digests.jsonl").unlink()
    (folder / "parts/000000.parquet").write_bytes(parts.encode((SHUNT, SUPPLY), columns, foreign))
    details = " ".join(problem.detail for problem in verify(folder).problems)
    assert "says that it is part 0 of trace another" in details
    (folder / "parts/000000.parquet").write_bytes(parts.encode((SHUNT,), columns[:1], footer))
    assert "the header says shunt (int16), supply (int16)" in found(folder)["parts/000000.parquet"]


@pytest.mark.parametrize("name", ["header.json", "manifest.json"])
def test_a_document_that_is_no_json_or_not_of_its_schema_is_named(folder: Path, name: str) -> None:
    (folder / name).write_text("{")
    assert name in found(folder)
    (folder / name).write_text("{}")
    assert "format" in found(folder)[name]


def test_what_is_no_trace_is_said_to_be_none(tmp_path: Path) -> None:
    assert "this is not the folder of a trace" in found(tmp_path)["header.json"]
