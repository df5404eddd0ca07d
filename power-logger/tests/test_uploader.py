# SPDX-License-Identifier: GPL-2.0-or-later
"""The uploader against a small server that answers as each test wants (docs/uploads.md, Once and Power traces)."""

import hashlib
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import power_traces
from disk import Disk
from fake_study_server import TOKEN, FakeStudyServer, Said, problem
from happe_contract.traces import Gap, Reason
from happe_power.config import ALWAYS, UNTIL_MEASURED, UNTIL_SEALED
from happe_power.recording.header import NOBODY, gap_line
from happe_power.upload import clocks
from happe_power.upload.outbox import BusyError, Outbox, only_uploader
from happe_power.upload.server import AddressError, RefusedError, Server, pause_s
from happe_power.upload.uploader import Uploader, upload, watch
from power_program import happe_power
from small_disk import SmallDisk

TRIES = 4
SMALL = 512 << 10  # bytes of a disk


class Bench:
    """A spool, the fake server, and the uploader's events."""

    def __init__(self, spool: Path, fake: FakeStudyServer) -> None:
        """Take a folder, which need not exist."""
        self.spool = spool
        self.fake = fake
        self.said: list[tuple[str, dict[str, Any]]] = []
        self.waited: list[float] = []

    def report(self, event: str, **facts: Any) -> None:  # noqa: ANN401 - as the uploader says them
        """Note an event."""
        self.said.append((event, facts))

    def wait(self, seconds: float) -> bool:
        """Let time pass at once."""
        self.waited.append(seconds)
        return False

    def uploader(self, keep: str = UNTIL_SEALED, token: str = TOKEN) -> Uploader:
        """Return a new uploader, as after a start."""
        return Uploader(self.spool, Server(self.fake.url, token), self.report, keep)

    def upload(self, **options: Any) -> int:  # noqa: ANN401 - those of uploader
        """Upload everything by a new uploader, and return the failures at the end."""
        return self.send(self.uploader(**options))

    def send(self, uploader: Uploader) -> int:
        """The same by an uploader that there is."""
        return upload(uploader, self.wait, self.report, tries=TRIES)

    def events(self, name: str) -> list[dict[str, Any]]:
        """Return the facts of all events with this name."""
        return [facts for event, facts in self.said if event == name]


@pytest.fixture
def bench(tmp_path: Path, fake: FakeStudyServer) -> Bench:
    """A bench with an empty spool."""
    return Bench(tmp_path / "spool", fake)


def digests(parts: dict[int, bytes]) -> dict[int, str]:
    """Return each part's SHA-256 by its number."""
    return {number: hashlib.sha256(part).hexdigest() for number, part in sorted(parts.items())}


def recorded(manifest: dict[str, Any]) -> dict[int, str]:
    """Return the parts as a manifest lists them."""
    return {each["number"]: each["sha256"] for each in manifest["parts"]}


def assert_whole(bench: Bench, trace: power_traces.Given) -> None:
    """Assert that the server has every part of a trace as the recorder wrote it, and has sealed the trace."""
    stored = bench.fake.traces[trace.id]
    assert digests(stored.parts) == recorded(json.loads(trace.manifest_file.read_bytes()))
    assert stored.header == (trace.folder / "header.json").read_bytes()
    assert stored.seal is not None
    assert stored.seal.rstrip(b" ") == trace.manifest_file.read_bytes()
    assert len(stored.seal) % 65536 == 0
    assert json.loads((trace.folder / "seal.json").read_bytes())["sealed"] is True


def test_a_trace_is_sent_and_sealed_and_its_parts_go_last(bench: Bench) -> None:
    trace = power_traces.ended(bench.spool, 3)
    with Disk(bench.spool) as disk:
        assert bench.upload() == 0
    assert disk.lost() == []
    named = disk.calls.index("rename .seal.json.unfinished")
    assert disk.calls[named + 1 :] == [f"fsync {trace.id}", *(f"unlink {number:06}.parquet" for number in range(3))]
    assert_whole(bench, trace)
    assert not list(trace.folder.glob("parts/*"))
    last = [line.rpartition("/")[2] for line in bench.fake.requests]
    assert last[-6:] == ["0", "1", "2", "missing?count=3", "seal", "heartbeat"]
    assert bench.events("deleted") == [{"trace": trace.id, "parts": 3}]


def test_sealed_parts_stay_until_they_are_measured(bench: Bench) -> None:
    measured, other = (power_traces.ended(bench.spool, 2) for _ in range(2))
    assert bench.upload(keep=UNTIL_MEASURED) == 0
    assert [len(list(each.folder.glob("parts/*"))) for each in (measured, other)] == [2, 2]
    (measured.folder / "measured").touch()
    assert bench.upload(keep=UNTIL_MEASURED) == 0
    assert [len(list(each.folder.glob("parts/*"))) for each in (measured, other)] == [0, 2]


def test_parts_that_wait_for_their_measurement_make_room_for_a_recording_the_oldest_first(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.spool.mkdir()
    disk = SmallDisk(bench.spool, SMALL)
    try:
        bench.spool = disk.inside
        young, old = (power_traces.ended(bench.spool, 1, age_s=age_s, rate_hz=100_000) for age_s in (0, 60))
        assert power_traces.ended(bench.spool, 1, age_s=99, codes=(NOBODY, NOBODY)).part(0).exists()
        uploader, now_us = bench.uploader(keep=UNTIL_MEASURED), clocks.now_us

        def here(after_s: int) -> list[bool]:
            monkeypatch.setattr(clocks, "now_us", lambda: now_us() + after_s * 1_000_000)
            assert bench.send(uploader) == 0
            return [each.part(0).exists() for each in (old, young)]

        assert here(0) == [True, True]
        disk.fill()
        assert [here(9), here(11)] == [[True, True], [False, True]]
    finally:
        disk.close()


def test_parts_are_sent_as_they_are_closed_and_the_trace_is_sealed_when_it_ends(bench: Bench) -> None:
    trace = power_traces.begin(bench.spool)
    uploader = bench.uploader()
    trace.add(0)
    assert bench.send(uploader) == 0
    assert list(bench.fake.traces[trace.id].parts) == [0]
    trace.add(1)
    (trace.folder / "parts" / ".000002.parquet.tmp").write_bytes(b"half")
    assert bench.send(uploader) == 0
    assert list(bench.fake.traces[trace.id].parts) == [0, 1]
    assert bench.fake.traces[trace.id].seal is None
    trace.end()
    assert bench.send(uploader) == 0
    assert_whole(bench, trace)


@pytest.mark.parametrize("status", [429, 500, 503, 507])
@pytest.mark.parametrize("request_line", [r"PUT .*/traces/[^/]*$", "parts/1$", "missing", "seal$", "clock$", "clocks/"])
def test_these_answers_are_tried_again(bench: Bench, status: int, request_line: str) -> None:
    trace = power_traces.ended(bench.spool, 2)
    bench.fake.answers(request_line, problem(status, "not now"), problem(status, "not yet"))
    assert bench.upload() == 0
    assert_whole(bench, trace)
    assert len(bench.waited) == 2
    assert "not now" in bench.events("later")[0]["reason"]


@pytest.mark.parametrize(
    "said",
    [
        Said(None),
        Said(200, b"<html>Please sign in to the hotel's network</html>", {"Content-Type": "text/html"}),
        Said(200, b"{"),
        Said(200, b"[]"),
        Said(200, b'{"trace":"another","number":7,"sha256":"","sealed":true,"missing":7}'),
        Said(200, b"[" * 100_000),
        Said(201, b"x" * (2 << 20)),
        Said(200, b"{}", {"Content-Length": "100"}),
    ],
    ids=["none", "portal", "cut", "list", "of something else", "deep", "huge", "short"],
)
@pytest.mark.parametrize("request_line", [r"PUT .*/traces/[^/]*$", "parts/1$", "missing", "seal$", "clock$"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_what_no_study_server_would_answer_counts_as_no_answer(bench: Bench, said: Said, request_line: str) -> None:
    trace = power_traces.ended(bench.spool, 2)
    closing = {**said.headers, "Connection": "close"}
    bench.fake.answers(request_line, Said(said.status, said.body, closing))
    assert bench.upload() == 0
    assert_whole(bench, trace)
    assert len(bench.events("later")) == 1


@pytest.mark.parametrize("status", [400, 404, 409, 413, 422, 302, 505])
@pytest.mark.parametrize("request_line", [r"PUT .*/traces/[^/]*$", "parts/1$", "missing", "seal$"])
def test_these_answers_stop_a_trace_for_a_person_and_the_others_go_on(
    bench: Bench, status: int, request_line: str
) -> None:
    trace = power_traces.ended(bench.spool, 2, age_s=60)
    other = power_traces.ended(bench.spool, 1)
    bench.fake.answers(request_line, problem(status, "because of X"))  # to the older one, which goes first
    assert bench.upload() == 0
    assert_whole(bench, other)
    assert len(list(trace.folder.glob("parts/*"))) == 2
    assert not (trace.folder / "seal.json").exists()
    reason = Outbox.open(trace.folder).stopped
    assert reason is not None
    assert f"{status}: because of X" in reason
    assert bench.events("stopped") == [{"trace": trace.id, "reason": reason}]
    assert bench.waited == []


def test_a_person_lets_a_stopped_trace_go_on_by_uploading_again(bench: Bench) -> None:
    trace = power_traces.ended(bench.spool, 2)
    bench.fake.answers("seal$", problem(422, "broken"))
    assert bench.upload() == 0
    assert Outbox.open(trace.folder).stopped
    assert bench.upload() == 0
    assert Outbox.open(trace.folder).stopped is None
    assert_whole(bench, trace)


@pytest.mark.parametrize("status", [401, 403])
def test_a_token_that_is_not_good_any_more_ends_it_all_with_advice(bench: Bench, status: int) -> None:
    trace = power_traces.ended(bench.spool, 2)
    bench.fake.answers("parts/1$", problem(status, "revoked"))
    with pytest.raises(RefusedError, match=r"refuses this host's token \(.*revoked.*happe-power enrol --again"):
        bench.upload()
    assert len(list(trace.folder.glob("parts/*"))) == 2
    assert bench.upload() == 0
    assert_whole(bench, trace)


def test_the_server_is_left_alone_as_long_as_it_wants(bench: Bench) -> None:
    power_traces.ended(bench.spool, 1)
    bench.fake.answers("parts/0$", problem(429, "slowly", **{"Retry-After": "77"}), problem(503, "x"))
    assert bench.upload() == 0
    assert bench.waited[0] == 77
    assert bench.waited[1] <= 2


def test_a_redirection_is_not_followed_with_the_token(bench: Bench) -> None:
    trace = power_traces.ended(bench.spool, 1)
    with FakeStudyServer() as elsewhere:
        bench.fake.answers("parts/0$", Said(307, b"", {"Location": f"{elsewhere.url}/api/v1/clock"}))
        assert bench.upload() == 0
        assert elsewhere.requests == []
    assert "sends its token only to the configured one" in str(Outbox.open(trace.folder).stopped)


def test_a_part_that_is_there_already_is_no_trouble(bench: Bench) -> None:
    trace = power_traces.ended(bench.spool, 3)
    bench.fake.answers("parts/1$", Said(None))
    assert bench.upload(keep=ALWAYS) == 0
    (trace.folder / "sent.jsonl").unlink()
    (trace.folder / "seal.json").unlink()
    assert bench.upload() == 0
    assert_whole(bench, trace)


def test_what_the_server_has_lost_is_sent_again(bench: Bench) -> None:
    trace = power_traces.begin(bench.spool)
    for number in range(4):
        trace.add(number)
    assert bench.upload() == 0
    bench.fake.traces.clear()  # somebody restored the server from a backup
    trace.end()
    assert bench.upload() == 0
    assert_whole(bench, trace)


def test_the_seal_says_which_parts_are_others(bench: Bench) -> None:
    trace = power_traces.ended(bench.spool, 2)
    bench.fake.answers("seal$", Said(409, b'{"detail":"not whole","missing":[],"mismatched":[1],"unexpected":[7,9]}'))
    assert bench.upload() == 0
    reason = str(Outbox.open(trace.folder).stopped)
    assert "it has other bytes for parts 1; it has parts that the manifest does not list: 7, 9" in reason
    assert len(list(trace.folder.glob("parts/*"))) == 2


def test_parts_that_the_refused_seal_misses_are_sent(bench: Bench) -> None:
    trace = power_traces.ended(bench.spool, 2)
    bench.fake.answers("seal$", Said(409, b'{"detail":"not whole","missing":[0],"mismatched":[],"unexpected":[]}'))
    assert bench.upload() == 0
    assert_whole(bench, trace)
    assert bench.fake.count("parts/0$") == 2


@pytest.mark.parametrize("how", ["a bit", "cut", "empty", "of another", "not a file"])
def test_a_damaged_part_is_named_and_not_sent_and_nothing_is_deleted(bench: Bench, how: str) -> None:
    trace = power_traces.ended(bench.spool, 3)
    path = trace.part(1)
    raw = path.read_bytes()
    path.unlink()
    if how == "not a file":
        path.mkdir()
    else:
        flipped = raw[:100] + bytes([raw[100] ^ 1]) + raw[101:]
        other = trace.part(2).read_bytes()
        path.write_bytes({"a bit": flipped, "cut": raw[:-1000], "empty": b"", "of another": other}[how])
    assert bench.upload() == 0
    assert sorted(bench.fake.traces[trace.id].parts) == [0, 2]
    assert [facts["part"] for facts in bench.events("damaged")] == [1]
    reason = str(Outbox.open(trace.folder).stopped)
    assert "part 1 " in reason
    assert "happe-power verify" in reason
    assert len(list(trace.folder.glob("parts/*"))) == 3


def test_a_part_that_is_put_back_makes_it_whole(bench: Bench) -> None:
    trace = power_traces.ended(bench.spool, 2)
    raw = trace.part(1).read_bytes()
    trace.part(1).unlink()
    assert bench.upload() == 0
    assert "part 1 " in str(Outbox.open(trace.folder).stopped)
    assert "is not on this disk" in str(Outbox.open(trace.folder).stopped)
    trace.part(1).write_bytes(raw)
    assert bench.upload() == 0
    assert_whole(bench, trace)


def test_a_part_that_changes_before_the_manifest_is_there_is_found_too(bench: Bench) -> None:
    trace = power_traces.begin(bench.spool)
    raw = trace.add(0)
    trace.part(0).write_bytes(raw[:50] + b"?" + raw[51:])
    assert bench.upload() == 0
    assert bench.fake.count("parts/0$") == 0
    assert "when it was recorded" in bench.events("damaged")[0]["reason"]


def test_pauses_double_to_five_minutes_and_half_of_them_is_chance() -> None:
    assert [pause_s(n, 0.9999999) for n in range(1, 5)] == pytest.approx([1, 2, 4, 8], rel=1e-6)
    assert [pause_s(n, 0.0) for n in range(1, 5)] == [0.5, 1, 2, 4]
    assert max(pause_s(n, 0.9999999) for n in range(1, 2000)) == pytest.approx(300)


def test_clocks_are_compared_at_the_start_every_minute_and_at_the_end(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = power_traces.begin(bench.spool)
    uploader = bench.uploader()
    now_us = clocks.now_us

    def estimates(after_s: int) -> int:
        monkeypatch.setattr(clocks, "now_us", lambda: now_us() + after_s * 1_000_000)
        bench.send(uploader)
        return len(clocks.noted(trace.folder))

    assert [estimates(second) for second in (0, 1, 58, 61, 62, 119, 123)] == [1, 1, 1, 2, 2, 2, 3]
    trace.add(0)
    trace.end()
    assert estimates(400) == 3  # the last estimate is later than the last sample
    assert len(bench.fake.clocks) == 3
    assert_whole(bench, trace)


def test_a_trace_that_ended_after_the_last_estimate_gets_one_before_its_seal(bench: Bench) -> None:
    trace = power_traces.begin(bench.spool)
    assert bench.upload() == 0
    trace.add(0)
    trace.end()
    line = json.loads((trace.folder / "clocks.jsonl").read_text())
    line["monotonic_us"] = trace.started.monotonic_us - 1
    (trace.folder / "clocks.jsonl").write_text(json.dumps(line) + "\n" + '{"torn')
    assert bench.upload() == 0
    assert_whole(bench, trace)
    lines = [json.loads(each) for each in (trace.folder / "clocks.jsonl").read_text().splitlines()]
    assert len(lines) == 2
    assert set(lines[1]) == {"id", "clock", "probes", "monotonic_us", "offset_us", "uncertainty_us"}
    assert len(lines[1]["probes"]) == 16
    sent = json.loads(bench.fake.clocks[lines[1]["id"]])
    assert sent == {"clock": lines[1]["clock"], "probes": lines[1]["probes"]}
    order = [line for line in bench.fake.requests if "clocks/" in line or line.endswith("seal")]
    assert order[-1].endswith("seal")


def test_probes_between_which_a_clock_was_set_are_thrown_away(bench: Bench) -> None:
    trace = power_traces.ended(bench.spool, 1)
    bench.fake.answers("clock$", Said(200, b'{"receive_us":1,"send_us":1}'))
    assert bench.upload() == 0
    assert_whole(bench, trace)
    assert "was set while we compared" in bench.events("later")[0]["reason"]
    assert len(clocks.noted(trace.folder)) == 1


def test_a_watching_uploader_tells_the_server_how_the_host_is(bench: Bench) -> None:
    trace = power_traces.begin(bench.spool)
    trace.add(0)
    # Two gaps of the instrument, and two that would reveal a high power
    telling = [Gap(200, 400, Reason.SATURATED), Gap(500, 900, Reason.INVALID)]
    gaps = [Gap(100, 101, Reason.STALL), *telling, Gap(1000, 2499, Reason.UNPLUGGED)]
    (trace.folder / "gaps.jsonl").write_bytes(b"".join(map(gap_line, gaps)))
    ended = threading.Event()

    def wait(_seconds: float) -> bool:
        return ended.is_set() or bool(bench.fake.count("parts/0$"))

    watch(bench.uploader(), wait, bench.report)
    assert bench.fake.heartbeats[0]["state"] == "recording"
    assert bench.fake.heartbeats[0]["spool"] == 1
    assert set(bench.fake.heartbeats[0]) == {"state", "software", "free_gib", "spool", "gaps", "lost_seconds"}
    assert (bench.fake.heartbeats[0]["gaps"], bench.fake.heartbeats[0]["lost_seconds"]) == (2, 2)  # 1.5 s


def test_while_the_server_is_away_the_host_still_reports_once_a_minute(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    power_traces.ended(bench.spool, 1)
    bench.fake.answers("", *[problem(503, "away")] * 99)
    began_us = now_us = clocks.now_us()
    reports: list[tuple[float, int]] = []

    def wait(seconds: float) -> bool:
        nonlocal now_us
        reports.append(((now_us - began_us) / 60e6, bench.fake.count("heartbeat")))
        now_us += int(seconds * 1e6)
        return now_us - began_us > 300e6

    monkeypatch.setattr(clocks, "now_us", lambda: now_us)
    watch(bench.uploader(), wait, bench.report)
    assert all(1 <= count <= minute + 1 for minute, count in reports)
    assert reports[-1][1] > 1


def test_a_full_disk_here_holds_up_the_seal_and_nothing_before_it(bench: Bench) -> None:
    bench.spool.mkdir()
    disk = SmallDisk(bench.spool, SMALL)
    try:
        bench.spool = disk.inside
        trace = power_traces.ended(bench.spool, 3)
        disk.fill()
        uploader = bench.uploader()
        assert bench.send(uploader) == TRIES
        assert [bench.fake.count(f"parts/{number}$") for number in range(3)] == [1, 1, 1]
        assert "No space left" in bench.events("later")[0]["reason"]
        assert {facts["trace"] for facts in bench.events("unnoted")} == {trace.id}
        disk.make_room()
        assert bench.send(uploader) == 0
        assert_whole(bench, trace)
        assert bench.fake.count("parts/") == 3
        assert len(bench.fake.clocks) == 1
    finally:
        disk.close()


@pytest.mark.parametrize("codes", [(power_traces.METER, power_traces.MEASURED), (NOBODY, NOBODY)])
def test_a_trace_that_is_to_stay_here_is_passed_over(bench: Bench, codes: tuple[str, str]) -> None:
    trace = power_traces.ended(bench.spool, 1, codes=codes)
    marked = codes[0] != NOBODY
    if marked:
        (trace.folder / "local").touch()
    assert bench.upload() == 0
    assert (bench.fake.requests, bench.said) == ([], [])
    if marked:
        (trace.folder / "local").unlink()
        assert bench.upload() == 0
        assert_whole(bench, trace)


def test_a_trace_whose_manifest_cannot_be_read_waits_for_a_person_and_the_others_go_on(bench: Bench) -> None:
    broken, good = power_traces.ended(bench.spool, 1, age_s=60), power_traces.ended(bench.spool, 1)
    broken.manifest_file.write_text("{")
    assert bench.upload() == 0
    assert_whole(bench, good)
    reason = str(Outbox.open(broken.folder).stopped)
    assert "manifest.json: is no JSON" in reason
    assert "move it away, then `happe-power verify --repair`" in reason
    broken.manifest_file.unlink()
    assert happe_power("verify", "--repair", broken.folder).status == 0
    assert bench.upload() == 0
    assert_whole(bench, broken)


def test_two_uploaders_are_not_at_work_on_one_spool(tmp_path: Path) -> None:
    with only_uploader(tmp_path), pytest.raises(BusyError, match="another uploader"), only_uploader(tmp_path):
        pass
    with only_uploader(tmp_path):
        pass


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://study.example.org", "would travel without encryption"),
        ("http://10.0.0.1:8080", "would travel without encryption"),
        ("ftp://study.example.org", "not a server's address"),
        ("study.example.org", "not a server's address"),
        ("https://", "not a server's address"),
        ("https://ana:secret@study.example.org", "not a server's address"),
        ("https://study.example.org:99999", "not a server's address"),
        ("https://study.example.org/?a", "not a server's address"),
    ],
)
def test_addresses_that_are_not_used(url: str, said: str) -> None:
    with pytest.raises(AddressError, match=said):
        Server(url, TOKEN)


def test_the_token_goes_with_every_request_and_into_no_report(bench: Bench) -> None:
    power_traces.ended(bench.spool, 1)
    bench.fake.answers("seal$", problem(422, "no"))
    assert bench.upload() == 0
    assert set(bench.fake.authorizations) == {f"Bearer {TOKEN}"}
    everything = json.dumps(bench.said) + "".join(
        path.read_text(errors="replace") for path in bench.spool.rglob("*") if path.is_file()
    )
    assert TOKEN not in everything
