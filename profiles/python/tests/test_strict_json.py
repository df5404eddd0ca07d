# SPDX-License-Identifier: GPL-2.0-or-later
"""Strict JSON, and the messages about faults. Refused documents: study-server/tests/data/bad_uploads.jsonl."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from happe_contract import strict_json
from happe_contract.faults import BadDocumentError, pointer, quoted

MOST_ECHOED = 80

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=20,
)


@given(json_values)
@settings(deadline=None)
def test_whatever_json_there_is_is_read_as_the_library_reads_it_or_refused(value: object) -> None:
    raw = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    try:
        read = strict_json.read(raw, fractions=True)
    except BadDocumentError:
        return
    assert read == json.loads(raw)


def test_a_pointer_escapes_what_rfc_6901_says() -> None:
    assert pointer(["a/b", "m~n", 0, ""]) == "/a~1b/m~0n/0/"


def test_what_is_quoted_is_cut_and_escaped() -> None:
    assert quoted('a"\x1b\ud800') == '"a\\"\\u001b\\ud800"'
    assert len(quoted("x" * 1000)) < MOST_ECHOED
