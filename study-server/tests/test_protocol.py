# SPDX-License-Identifier: GPL-2.0-or-later
"""The content of protocol files, and the mistakes reported in bad ones."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from happe_study.study.protocol import reading as protocol_module
from happe_study.study.protocol.reading import Mistake, ProtocolError, paragraphs, read_protocol
from happe_study.study.protocol.sections import DONT_KNOW

HERE = Path(__file__).parent
EXAMPLES = Path(protocol_module.__file__).with_name("examples")
DATA = tomllib.loads((HERE / "bad_protocols.toml").read_text(encoding="utf-8"))
GOOD: str = DATA["good"]


def spoiled(case: dict[str, Any]) -> bytes:
    """Return the bytes of a case's file."""
    text: str = case.get("raw", GOOD)
    for old, new in case.get("replace", {}).items():
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
        text = text.replace(old, new)
    for placeholder, (piece, times) in case.get("fill", {}).items():
        assert placeholder in text, f"nowhere to put {placeholder}"
        text = text.replace(placeholder, piece * times)
    return bytes_of(text)


def bytes_of(text: str) -> bytes:
    """Return UTF-8, but U+00FF as the byte 255, which is not UTF-8."""
    return text.encode().replace("\u00ff".encode(), b"\xff")


SHORTEST = """
name = "short"
title = "A short study"
participants = 1
application = [{ key = "a", name = "A", command = ["a"], seconds = 1 }]
order.scheme = "paper"
consent = { version = "1", text = "You agree." }
handout.text = "Play."
"""


def test_a_bad_protocol_is_refused_with_all_that_is_wrong_and_where(subtests: pytest.Subtests) -> None:
    for case in DATA["case"]:
        with subtests.test(case["name"]):
            content = spoiled(case)

            with pytest.raises(ProtocolError) as refused:
                read_protocol(content, "bad.toml")

            assert [str(mistake) for mistake in refused.value.mistakes] == case["says"]
            assert str(refused.value) == "\n".join(f"bad.toml:{said}" for said in case["says"])


def test_the_good_protocol_is_good() -> None:
    protocol = read_protocol(GOOD.encode())

    assert protocol.name == "good"
    assert protocol.application("glest").command == ("glest", "--quick")
    assert protocol.quotas == {"left": 4, "right": 4}
    assert [item.key for item in protocol.questionnaire.items] == ["computer_experience", "game_experience", "hand"]


def test_a_short_protocol_has_the_papers_settings() -> None:
    protocol = read_protocol(SHORTEST.encode())

    assert (protocol.ondemand.sampling_rate_us, protocol.ondemand.up_threshold) == (80_000, 80)
    assert (protocol.rating.lowest, protocol.rating.highest) == (1, 5)
    assert protocol.battery.minutes == 120
    assert protocol.quotas == {"": 1}
    assert protocol.guess.ask


def test_a_protocol_with_a_byte_order_mark_and_windows_lines_is_read() -> None:
    content = b"\xef\xbb\xbf" + SHORTEST.replace("\n", "\r\n").encode()

    assert read_protocol(content) == read_protocol(SHORTEST.encode())


def test_of_ten_thousand_mistakes_a_hundred_are_told() -> None:
    content = SHORTEST + "".join(f"x{n} = 1\n" for n in range(10_000))

    with pytest.raises(ProtocolError) as refused:
        read_protocol(content.encode(), "bad.toml")

    lines = str(refused.value).splitlines()
    assert len(lines) == 101
    assert lines[-1] == "bad.toml: and more"


@pytest.mark.parametrize(
    ("name", "conditions", "sequences", "block"),
    [
        ("paper-a5", ["ondemand", "T-HAPPE", "O-HAPPE", "B-HAPPE"], 1, 1),
        ("paper-a3", ["fixed-1", "fixed-2", "fixed-3", "fixed-4", "fixed-5"], 10, 10),
        ("crossover", ["T-HAPPE", "ondemand", "ondemand+indicator", "O-HAPPE", "B-HAPPE"], 4, 4),
        ("extended", ["T-HAPPE", "O-HAPPE", "L-HAPPE"], 2, 2),
    ],
)
def test_the_protocols_that_ship_are_good(name: str, conditions: list[str], sequences: int, block: int) -> None:
    protocol = read_protocol((EXAMPLES / f"{name}.toml").read_bytes(), name)

    assert protocol.name == name
    assert [condition.label for condition in protocol.conditions] == conditions
    assert len(protocol.sequences) == sequences
    assert protocol.block_size == block
    four = [(key, 120, 0) for key in ("torcs", "quake3", "glest", "trackballs")]
    expected = {"extended": [("torcs", 900, None)]}.get(name, four)
    assert [(app.key, app.seconds, app.cpu) for app in protocol.applications] == expected


def test_no_other_protocol_ships() -> None:
    assert {path.stem for path in EXAMPLES.iterdir()} == {"paper-a5", "paper-a3", "crossover", "extended"}


@pytest.mark.parametrize("name", ["paper-a3", "crossover", "extended"])
def test_what_participants_of_a_blinded_study_read_names_no_condition(name: str) -> None:
    protocol = read_protocol((EXAMPLES / f"{name}.toml").read_bytes())
    texts = [protocol.title, protocol.consent.text, protocol.handout.text, protocol.rating.question]

    said = " ".join([*texts, *(choice.text for choice in protocol.guess_choices)])

    assert not re.search(r"ondemand|HAPPE|\b[Ss]hams?\b|\b[Ff]ixed\b|[Ff]requenc|[Gg]overnor|[Pp]lacebo", said)


def test_each_condition_is_the_right_guess_of_one_answer_and_nobody_must_know() -> None:
    for name in ("crossover.toml", "paper-a3.toml", "extended.toml"):
        text = (EXAMPLES / name).read_text(encoding="utf-8").replace("ask = false", "ask = true")
        protocol = read_protocol(text.encode())

        *choices, last = protocol.guess_choices

        right = sorted(label for choice in choices for label in choice.right_for)
        assert right == sorted(condition.label for condition in protocol.conditions)
        assert last is DONT_KNOW
        assert len({choice.key for choice in protocol.guess_choices}) == len(choices) + 1


def test_a_protocol_that_asks_for_no_guess_offers_none() -> None:
    protocol = read_protocol((SHORTEST + "guess.ask = false").encode())

    assert protocol.guess_choices == ()


def test_paragraphs_are_parted_by_blank_lines() -> None:
    assert paragraphs("\nOne,\nstill one.\n \n\n\tTwo.\n") == ("One, still one.", "Two.")


# Lines of TOML.


def mistakes_in(content: bytes) -> tuple[Mistake, ...]:
    """Return the mistakes reported in a protocol; none if it is good."""
    try:
        read_protocol(content)
    except ProtocolError as error:
        return error.mistakes or (Mistake(0, "", "refused without a reason"),)
    return ()


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_whatever_is_cut_out_of_a_good_protocol_it_is_read_or_refused_with_reasons(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(GOOD)))
    length = data.draw(st.integers(1, 60))
    text = GOOD[:start] + data.draw(st.sampled_from(["", "\n", "= 1", '"', "[", "\x7f"])) + GOOD[start + length :]

    mistakes = mistakes_in(text.encode())

    assert all(1 <= mistake.line <= text.count("\n") + 1 for mistake in mistakes)
