# SPDX-License-Identifier: GPL-2.0-or-later
"""A simulated laptop: it sends the server the requests of happed and the wizard, by the interface of devices.

It opens the sealed condition of each run with its own key, as happed does. Nobody else knows the condition.
happe-sim plays the run: the daemon's loop on a simulated T61, with a simulated person before it.
"""

import base64
import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from nacl.public import PrivateKey, SealedBox

from happe_contract import conditions as names
from happe_demo.children import Child
from happe_demo.times import HostClock
from happe_demo.web import Api
from happe_study.base.version import VERSION

Json = dict[str, Any]

SECOND = 1_000_000
PROBES = 16
PAD = 64 << 10  # a record's length must not reveal its condition (docs/uploads.md)
IDLE_MILLIWATTS = 22_000
SETTLES_S, THINKS_S, RESTS_S = (5, 10), (4, 12), (10, 30)
SOFTWARE = {"happe-sim": VERSION, "happe-demo": VERSION}
FREE_GIB = 60
T61 = {"cpu": "Intel(R) Core(TM)2 Duo CPU     T7700  @ 2.40GHz", "driver": "acpi-cpufreq", "backend": "simulated"}
KERNEL = {"governor": names.ONDEMAND, "tunables": {"sampling_rate": "80000", "up_threshold": "80"}}
USERSPACE: Json = {"governor": "userspace", "tunables": {}}


@dataclass
class Visit:
    """A participant who comes: their number in happe-sim (from 1), and the secret of their link."""

    number: int
    token: str


@dataclass
class Steps:
    """The laptop's power in steps: milliwatts from a study time (microseconds) on."""

    steps: list[list[int]] = field(default_factory=list)

    def add(self, at_us: int, milliwatts: int) -> None:
        """Add a step, after the earlier ones, unless the power stays the same."""
        if not self.steps or self.steps[-1][1] != milliwatts:
            self.steps.append([at_us, milliwatts])


class Laptop:
    """One laptop and its room. `sitting` yields times; the caller waits for them."""

    def __init__(self, url: str, code: str, players: Child, clock: HostClock, random: Random) -> None:
        """Enrol with a code that staff made."""
        self._key = PrivateKey.generate()
        key = base64.b64encode(bytes(self._key.public_key)).decode()
        enrolled = Api(url)("POST", "devices/enrol", {"code": code, "public_key": key})
        self.device: str = enrolled["device"]
        self.power = Steps()
        self.played: dict[str, Json] = {}  # for each run: participant, condition, and the true mean power
        self._api = Api(url, enrolled["token"])
        self._players, self._clock, self._random = players, clock, random
        self._boot = str(uuid.UUID(int=random.getrandbits(128), version=4))

    def sitting(self, visit: Visit) -> Iterator[int]:
        """Play all runs of a participant. Yields the study times (microseconds) at which to continue."""
        self.power.add(self._clock.study.now_us(), IDLE_MILLIWATTS)
        seated = self._api("PUT", "device/sitting", {"participant": visit.token})
        self._beat("idle")
        self._compare()
        yield self._after(SETTLES_S)
        guesses = [choice["key"] for choice in (seated["guess"] or {"choices": ()})["choices"]]
        for run in seated["runs"]:
            yield from self._run(visit, run, guesses)
        self._compare()
        self._api("DELETE", "device/sitting")
        self._beat("idle")

    def _run(self, visit: Visit, run: Json, guesses: Sequence[str]) -> Iterator[int]:
        """Play a run. Where the protocol asks for a guess, the participant has noticed nothing: any answer will do."""
        path = f"runs/{run['code']}"
        answer = self._api("POST", f"{path}/start", {"id": str(uuid.uuid4())})
        began_us = self._clock.study.now_us()
        self._beat("running")
        condition = self._opened(answer["sealed"])
        played = self._play(visit, condition, began_us)
        self._draw(played, began_us)
        yield began_us + run["seconds"] * SECOND
        ended_us = self._clock.study.now_us()
        self._api("PUT", f"{path}/end")
        self.power.add(self._clock.study.now_us(), IDLE_MILLIWATTS)
        self.played[run["code"]] = {"number": visit.number, "application": run["application"]} | {
            "condition": condition["condition"],
            "mean_w": played["mean_w"],
        }
        yield self._after(THINKS_S)
        self._api("PUT", f"{path}/rating", {"id": str(uuid.uuid4()), "rating": played["rating"]})
        if guesses:
            self._api("PUT", f"{path}/guess", {"id": str(uuid.uuid4()), "guess": self._random.choice(guesses)})
        record = self._record(run["code"], condition, played, (began_us, ended_us))
        self._api("PUT", f"{path}/record/{record['id']}", padded(record))
        yield self._after(RESTS_S)

    def _opened(self, sealed: str) -> Json:
        """Open a document that the server has sealed to this laptop."""
        opened: Json = json.loads(SealedBox(self._key).decrypt(base64.b64decode(sealed)))
        return opened

    def _play(self, visit: Visit, condition: Json, began_us: int) -> Json:
        what = {"participant": visit.number, "application": condition["application"]}
        what |= {"condition": condition["condition"], "user": f"subject:{condition['subject']}"}
        return self._players.ask(what | {"started_us": self._clock.of(began_us)})

    def _draw(self, played: Json, began_us: int) -> None:
        for number, milliwatts in enumerate(played["milliwatts"]):
            self.power.add(began_us + number * played["step_us"], milliwatts)

    def _record(self, run: str, condition: Json, played: Json, span_us: tuple[int, int]) -> Json:
        """The run's record, as happed and the wizard make it (profiles/schema/run-record.schema.json)."""
        began_us, ended_us = map(self._clock.of, span_us)
        members = ("header", "observations", "profile_before", "profile_after", "learned", "rating")
        governor = KERNEL if condition["condition"] == names.ONDEMAND else USERSPACE
        return {
            "format": "happe-run/1",
            "run": run,
            "id": str(uuid.uuid4()),
            "clock": f"monotonic:{self._boot}",
            "started_us": began_us,
            "ended_us": ended_us,
            **{name: played[name] for name in members},
            "indicator": condition["indicator"],
            "machine": T61 | governor,
            "software": SOFTWARE,
        }

    def _beat(self, state: str) -> None:
        """Send a heartbeat, as the wizard does at each page."""
        said = {"state": state, "software": SOFTWARE, "free_gib": FREE_GIB, "spool": 0}
        self._api("PUT", "device/heartbeat", said)

    def _compare(self) -> None:
        """Compare clocks with the server."""
        probes = [self._probe() for _ in range(PROBES)]
        said = {"clock": f"monotonic:{self._boot}", "probes": probes}
        self._api("PUT", f"device/clocks/{uuid.uuid4()}", said)

    def _probe(self) -> list[int]:
        asked = self._clock.now_us()
        answer = self._api("GET", "clock")
        return [asked, answer["receive_us"], answer["send_us"], self._clock.now_us()]

    def _after(self, seconds: tuple[int, int]) -> int:
        """A random moment from now, between these two numbers of seconds."""
        return self._clock.study.now_us() + round(self._random.uniform(*seconds) * SECOND)


def padded(record: Json) -> bytes:
    """A record as bytes, padded with blanks."""
    raw = json.dumps(record, separators=(",", ":")).encode()
    return raw + b" " * (-len(raw) % PAD)
