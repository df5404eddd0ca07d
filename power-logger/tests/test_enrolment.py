# SPDX-License-Identifier: GPL-2.0-or-later
"""Enrolment: what the host stores, for whom, and what it refuses. test_power_upload.py uses the real server."""

import json
import os
import ssl
import threading
from contextlib import suppress
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from disk import Disk, on_full_disks
from fake_study_server import TOKEN, FakeStudyServer, Said
from happe_power.upload import identity
from happe_power.upload.identity import Identity, IdentityError
from happe_power.upload.server import NoAnswerError, Server
from power_program import happe_power

PEM = Path(__file__).parent / "loopback.pem"  # a certificate of 127.0.0.1 and its unused key, until 2126


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A configuration."""
    made = tmp_path / "p.toml"
    made.write_text('state = "state"\n')
    return made


def test_enrolling_keeps_the_token_where_only_its_owner_reads_it(fake: FakeStudyServer, file: Path) -> None:
    ran = happe_power("--config", file, "enrol", "--server", f"{fake.url}/", "--code", "GOOD-CODE")
    assert ran.status == 0, ran.err
    assert ran.out == f"This host is device M3TERAAA of paper-a3 at {fake.url}.\n"
    kept = file.parent / "state/device.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    assert identity.load(kept.parent) == Identity(fake.url, "M3TERAAA", "paper-a3", TOKEN)
    assert TOKEN not in ran.out + ran.err + repr(identity.load(kept.parent))


def test_a_token_is_on_the_disk_when_it_is_stored_and_on_a_full_disk_nothing_of_it(tmp_path: Path) -> None:
    def store(disk: Disk) -> None:
        with suppress(OSError):
            identity.store(tmp_path, Identity("https://localhost", "M3TERAAA", "paper-a3", TOKEN))
        assert disk.was_full or not disk.lost()

    for _ in on_full_disks(tmp_path, store):
        assert {path.name for path in tmp_path.iterdir()} <= {"device.json"}


def test_root_leaves_the_token_to_the_folders_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[str, int, int]] = []

    def fchown(file: int, user: int, group: int) -> None:
        given.append((str(Path(f"/proc/self/fd/{file}").readlink()), user, group))

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "fchown", fchown)
    identity.store(tmp_path, Identity("https://localhost", "M3TERAAA", "paper-a3", TOKEN))
    owner = tmp_path.stat()
    assert given == [(str(tmp_path / ".device.json"), owner.st_uid, owner.st_gid)]


def test_a_second_enrolment_must_be_meant(fake: FakeStudyServer, file: Path) -> None:
    enrol = ("--config", file, "enrol", "--server", fake.url, "--code", "GOOD-CODE")
    assert happe_power(*enrol).status == 0
    assert happe_power(*enrol).status == os.EX_CANTCREAT
    assert fake.count("enrol") == 1
    assert happe_power(*enrol, "--again", "--json").json() == {
        "server": fake.url,
        "device": "M3TERAAA",
        "study": "paper-a3",
    }


@pytest.mark.parametrize(
    ("said", "status", "message"),
    [
        (Said(403, b'{"detail":"This enrolment code is unknown."}'), os.EX_NOPERM, "This enrolment code is unknown."),
        (Said(422, b'{"detail":"needs a key"}'), os.EX_NOPERM, "needs a key"),
        (Said(201, b'{"kind":"laptop","device":"A","study":"s","token":"t"}'), os.EX_DATAERR, "not for a meter"),
        (Said(201, b'{"kind":"meter","device":"A","study":"s"}'), os.EX_UNAVAILABLE, "not a study server"),
        (Said(201, b'{"kind":"meter","device":"A","study":"s","token":"a\\nb"}'), os.EX_UNAVAILABLE, "not a study"),
        (Said(200, b"<html>"), os.EX_DATAERR, "not for a meter"),
        (Said(None), os.EX_UNAVAILABLE, "does not answer"),
        (Said(200, b"x" * (2 << 20)), os.EX_UNAVAILABLE, "from a study server"),
    ],
)
def test_what_a_server_may_say_to_a_code(
    fake: FakeStudyServer, file: Path, said: Said, status: int, message: str
) -> None:
    fake.answers("enrol", said)
    ran = happe_power("--config", file, "enrol", "--server", fake.url, "--code", "GOOD-CODE")
    assert ran.status == status
    assert message in ran.err
    assert identity.load(file.parent / "state") is None


def test_a_state_folder_that_cannot_be_written_is_told_before_the_code_is_used(
    fake: FakeStudyServer, file: Path
) -> None:
    (file.parent / "state").write_text("a file")
    ran = happe_power("--config", file, "enrol", "--server", fake.url, "--code", "GOOD-CODE")
    assert ran.status == os.EX_CONFIG
    assert "state/device.json: Not a directory" in ran.err
    assert fake.requests == []


def test_a_token_that_others_may_read_is_not_used(tmp_path: Path) -> None:
    identity.store(tmp_path, Identity("https://x", "A", "s", TOKEN))
    (tmp_path / "device.json").chmod(0o640)
    with pytest.raises(IdentityError, match=r"device\.json: others may read the token; `chmod 600"):
        identity.load(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"server":"https://x"}', '{"server":1,"device":2,"study":3,"token":4}']
)
def test_a_damaged_identity_says_what_to_do(tmp_path: Path, text: str) -> None:
    file = tmp_path / "device.json"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(IdentityError, match="is damaged; remove it and enrol again"):
        identity.load(tmp_path)


def test_a_token_goes_to_no_other_server_than_its_own(fake: FakeStudyServer, file: Path) -> None:
    assert happe_power("--config", file, "enrol", "--server", fake.url, "--code", "GOOD-CODE").status == 0
    file.write_text('state = "state"\nserver = "https://study.example.org"\n')
    ran = happe_power("--config", file, "upload")
    assert ran.status == os.EX_CONFIG
    assert ran.err.startswith(f"happe-power: {file}:2: server: this host is enrolled at {fake.url}; ")


def test_a_host_that_has_not_enrolled_is_told_how(file: Path) -> None:
    ran = happe_power("--config", file, "upload")
    assert ran.status == os.EX_CONFIG
    assert "`happe-power enrol --server URL --code CODE`" in ran.err
    assert happe_power("--config", file, "enrol", "--code", "X").status == os.EX_USAGE


class Secure:
    """The fake behind TLS."""

    def __init__(self, fake: FakeStudyServer) -> None:
        """Use its handler with a certificate."""
        inner = fake._http  # noqa: SLF001 - a test's helper
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(PEM)
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), inner.RequestHandlerClass)
        self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self._http.handle_error = lambda *_arguments: None  # type: ignore[method-assign] # it would print
        self.url = f"https://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


def test_a_certificate_must_be_of_an_authority_that_is_trusted(fake: FakeStudyServer) -> None:
    secure = Secure(fake)
    try:
        with pytest.raises(NoAnswerError, match=r"its certificate is not good: .*; see ca_file"):
            Server(secure.url, TOKEN).get("clock")
        assert fake.requests == []
        trusting = Server(secure.url, TOKEN, ca_file=PEM)
        assert trusting.get("clock").status == 200
        trusting.close()
        other = Server(secure.url.replace("127.0.0.1", "localhost"), TOKEN, ca_file=PEM)
        with pytest.raises(NoAnswerError, match="certificate"):
            other.get("clock")
    finally:
        secure.close()
    assert json.dumps(fake.authorizations) == json.dumps([f"Bearer {TOKEN}"])
