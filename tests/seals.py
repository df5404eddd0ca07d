# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes sealed conditions as a study server does (profiles/schema/sealed-condition.schema.json), and runs them."""

import json
import os
from typing import Any

from nacl.public import PublicKey, SealedBox

from happed_world import Client

Json = dict[str, Any]

STUDY, RUN, SUBJECT, APPLICATION = "paper-a3", "7ZK3M9QA", "4HT2XC0N", "torcs"
BYTES = 512


def document(condition: str = "O-HAPPE", /, **changes: object) -> Json:
    """A condition without padding; of ondemand without tunables. A change to None leaves a member out."""
    happe = condition.endswith("-HAPPE")
    members = {
        "format": "happe-condition/1",
        "study": STUDY,
        "run": RUN,
        "subject": SUBJECT,
        "application": APPLICATION,
        "condition": condition,
        "indicator": condition == "B-HAPPE",
        "keys": "act" if happe else "sham",
        **changes,
    }
    return {name: value for name, value in members.items() if value is not None}


def padded(content: Json) -> bytes:
    """Compact JSON of 512 bytes."""
    missing = BYTES - len(compact({**content, "pad": ""}))
    return compact({**content, "pad": "." * missing})


def compact(content: Json) -> bytes:
    """JSON without blanks, in ASCII."""
    return json.dumps(content, separators=(",", ":")).encode("ascii")


def seal(key: bytes, plain: bytes) -> bytes:
    """Return a sealed box that only this key's owner can open."""
    return SealedBox(PublicKey(key)).encrypt(plain)


def what(box: bytes, study: str = STUDY, run: str = RUN) -> dict[str, tuple[str, Any]]:
    """StartRun's argument."""
    return {"sealed": ("ay", box), "study": ("s", study), "run": ("s", run)}


def key_of(client: Client) -> bytes:
    """The laptop's public key."""
    return bytes(client("DeviceKey"))


def begin(owner: Client, condition: str = "O-HAPPE", /, **changes: object) -> str:
    """Start a sealed run. Return happed's code for it."""
    box = seal(key_of(owner), padded(document(condition, **changes)))
    run: str = owner("StartRun", "a{sv}", what(box))
    return run


def pressed(owner: Client, key: str) -> None:
    """Press a key, and wait until happed has counted the press."""
    owner("Feedback", "s", key)
    while owner.heard("KeyCounted") != [key]:
        pass


def end(client: Client, run: str) -> list[Json]:
    """Stop a run, or fetch one that has ended. Return its trace."""
    [descriptor] = client.peer.reply(client.send("StopRun", "s", run)).descriptors
    with os.fdopen(descriptor) as trace:
        return [json.loads(line) for line in trace]


def facts(client: Client, run: str) -> Json:
    """Return the facts that happed keeps about a run."""
    found: Json = json.loads(client("RunFacts", "s", run))
    return found
