# SPDX-License-Identifier: GPL-2.0-or-later
"""happectl mains sets what HAPPE does on mains. It writes as `keys set` does; the tests of that damage the file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from happed_world import QUICK
from test_happectl_keys import administered

if TYPE_CHECKING:
    from happed_stand_in import HappeCtl
    from happed_world import Happed

TEXT = '# mine\n[mains]\n#govern = true\nown_profiles = true # two\n\n[keys]\npower = "KEY_F9"\n'


def test_the_happed_that_runs_has_the_options_at_once(stopped: Happed, happectl: HappeCtl) -> None:
    root, me, owner = administered(stopped, happectl, QUICK + TEXT)
    assert json.loads(owner.run("mains", "show", "--json").stdout) == {
        "govern": True,
        "own_profiles": True,
        "epp": "leave",
    }

    ran = owner.run("mains", "set", "--root", root, "--govern", "false", "--epp", "balance_power")
    assert (ran.returncode, ran.stderr) == (0, "")
    lines = ["govern        false", "own-profiles  true", "epp           balance_power"]
    assert ran.stdout.splitlines() == [*lines, "happed has this now."]
    settings = me.get("Settings")
    assert (settings["mains.govern"], settings["mains.epp"]) == (False, "balance_power")

    ran = owner.run("mains", "set", "--root", root, "--own-profiles", "false", "--json")
    options = {"govern": False, "own_profiles": False, "epp": "balance_power"}
    assert json.loads(ran.stdout) == {**options, "configuration_changed": True, "applied": True}
    written = TEXT.replace("#govern = true", "govern = false").replace("true # two", "false # two")
    assert (stopped.folder / "happe.toml").read_text() == QUICK + written.replace(
        "# two\n", '# two\nepp = "balance_power"\n'
    )

    shown = owner.run("mains", "show").stdout.splitlines()
    assert shown[::2] == ["govern        false", "own-profiles  false", "epp           balance_power"]
    assert shown[1] == (
        "    Whether HAPPE governs while the laptop is plugged in, or steps aside until it runs on its battery."
    )
