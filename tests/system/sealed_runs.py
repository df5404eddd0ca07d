# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions for sealed runs on happed."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import seals

if TYPE_CHECKING:
    from happed_world import Client

Json = dict[str, Any]


def key_of(client: Client) -> bytes:
    """The laptop's public key."""
    return bytes(client("DeviceKey"))


def begin(owner: Client, condition: str = "O-HAPPE", /, **changes: object) -> str:
    """Start a sealed run. Return happed's code for it."""
    box = seals.seal(key_of(owner), seals.padded(seals.document(condition, **changes)))
    run: str = owner("StartRun", "a{sv}", seals.what(box))
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
