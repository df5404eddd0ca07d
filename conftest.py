# SPDX-License-Identifier: GPL-2.0-or-later
"""The two levels of tests: `make test` runs those that are not slow, `make test-all` runs all."""

import re
import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
# They import what `make setup-test` does not install: a driver of browsers, and a reader of Markdown.
SLOW = (
    "study-server/tests/browser",
    "tests/architecture/test_documents.py",
    "tests/architecture/test_tutorials.py",
    "tests/system/test_study_wizard.py",
)
MAY_BE_SLOW = re.compile(r"mark\.(slow|long)|postgres")  # what a module with a slow test has

# A shell starts a background job with SIGINT ignored, and programs inherit that: no test could interrupt one.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave those modules out of quick tests; and out of slow ones, to save time, the modules that have none."""
    slow = str(collection_path.relative_to(ROOT)).startswith(SLOW)
    match config.option.markexpr:
        case "not slow":
            left_out = slow
        case "slow and not long":
            left_out = (
                not slow and collection_path.suffix == ".py" and not MAY_BE_SLOW.search(collection_path.read_text())
            )
        case _:
            left_out = False
    return True if left_out else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow those modules, long tests, and what needs PostgreSQL; other slow tests carry the mark themselves."""
    for item in items:
        if (
            item.get_closest_marker("long")
            or _needs_postgresql(item)
            or str(item.path.relative_to(ROOT)).startswith(SLOW)
        ):
            item.add_marker(pytest.mark.slow)


def _needs_postgresql(item: pytest.Item) -> bool:
    call = getattr(item, "callspec", None)
    return "postgres" in getattr(item, "fixturenames", ()) or (
        call is not None and "postgresql" in map(str, call.params.values())
    )
