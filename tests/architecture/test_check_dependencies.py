# SPDX-License-Identifier: GPL-2.0-or-later
"""The check of dependencies finds planted faults, and this tree has none."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

spec = importlib.util.spec_from_file_location("check_dependencies", ROOT / "tests/architecture/check_dependencies.py")
assert spec is not None
assert spec.loader is not None
checker = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = checker
spec.loader.exec_module(checker)

WRONG = [
    ("governor/core/a.cpp", "#include <iostream>", "pure"),
    ("governor/core/a.cpp", '#include "governor/system/files.h"', "may not depend on governor/system"),
    ("governor/core/a.h", "auto now = std::chrono::steady_clock::now();", "may not use steady_clock"),
    ("governor/documents/a.h", '#include "governor/system/proc_stat.h"', "may not depend on governor/system"),
    ("governor/system/a.cpp", '#include "governor/bus/bus.h"', "may not depend on governor/bus"),
    ("governor/store/a.cpp", '#include "governor/cpufreq/cpufreq.h"', "may not depend on governor/cpufreq"),
    ("governor/keys/a.cpp", '#include "governor/bus/bus.h"', "may not depend on governor/bus"),
    ("governor/bus/a.cpp", '#include "governor/happed/daemon.h"', "may not depend on governor/happed"),
    ("governor/sim/a.cpp", '#include "governor/cpufreq/cpufreq.h"', "may not depend on governor/cpufreq"),
    ("governor/happed/a.cpp", '#include "governor/sim/machine.h"', "may not depend on governor/sim"),
    ("governor/happectl/a.cpp", '#include "governor/happed/daemon.h"', "may not depend on governor/happed"),
    ("governor/happed/a.cpp", '#include "ui/bus/bus_objects.h"', "may not depend on ui/bus"),
    ("governor/happed/a.cpp", '#include "loop.h"', "named from the root"),
    ("ui/bus/a.cpp", '#include "governor/core/governor.h"', "may not depend on governor/core"),
    ("ui/overlay/a.cpp", '#include "ui/bus/bus_objects.h"', "may not depend on ui/bus"),
    ("ui/agent/a.cpp", '#include "ui/agent/sources/sources.h"', "may not depend on ui/agent/sources"),
    ("ui/study/sitting/a.cpp", '#include "ui/study/server/server.h"', "may not depend on ui/study/server"),
    ("study-server/src/a.py", "def f():\n    import happe_power.energy", "may not depend on power-logger"),
    ("power-logger/src/a.py", "from happe_study import models", "may not depend on study-server"),
    ("profiles/python/a.py", "from happe_power import model", "may not depend on power-logger"),
]

RIGHT = [
    ("governor/core/a.cpp", '#include <vector>\n#include "governor/core/uafp.h"'),
    ("governor/core/a_test.cpp", "#include <gtest/gtest.h>"),
    ("governor/sim/a.cpp", '#include <iostream>\n#include "governor/documents/trace_reader.h"'),
    ("governor/happed/a.cpp", '#include "governor/bus/bus.h"\n#include "governor/core/uafp.h"'),
    ("study-server/src/a.py", "import flask\nfrom happe_study import models"),
    ("power-logger/src/a.py", "from happe_cli.commands import Command"),
    ("docs/a.py", "import happe_power"),
]


def tree(root: Path, path: str, text: str) -> Path:
    """A tree of one file."""
    file = root / path
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return root


@pytest.mark.parametrize(("path", "text", "message"), WRONG)
def test_names_file_and_line_of_a_wrong_dependency(tmp_path: Path, path: str, text: str, message: str) -> None:
    found = checker.check(tree(tmp_path, path, text))
    assert len(found) == 1
    assert found[0].startswith(f"{path}:{len(text.splitlines())}: ")
    assert message in found[0]


@pytest.mark.parametrize(("path", "text"), RIGHT)
def test_lets_what_is_right_pass(tmp_path: Path, path: str, text: str) -> None:
    assert checker.check(tree(tmp_path, path, text)) == []


def test_this_tree_is_clean() -> None:
    assert checker.check(ROOT) == []


def test_names_a_folder_of_more_files_than_one_can_hold_in_the_head(tmp_path: Path) -> None:
    for folder in ("ui/bus", "ui/tests"):
        (tmp_path / folder).mkdir(parents=True)
        for number in range(31):
            (tmp_path / folder / f"{number}.cpp").touch()
    (tmp_path / "ui/bus/0_test.cpp").touch()
    assert checker.check(tmp_path) == ["ui/bus: has 31 source files, may have 30"]
