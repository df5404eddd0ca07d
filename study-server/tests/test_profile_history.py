# SPDX-License-Identifier: GPL-2.0-or-later
"""Records tell how a profile developed, and doubts name contradictions."""

from dataclasses import replace

import pytest

from happe_study.study.profiles.drawing import also, ghz, heat, percent_of, since, spans, spread, steps
from happe_study.study.profiles.history import Chapter, told
from happe_study.study.profiles.services import summary
from happe_study.study.records.record import Lesson

LADDER = (800_000, 1_200_000, 1_600_000, 2_200_000, 2_300_000)
LOW = [800_000] * 10
S = 1_000_000


def lesson(at_s: int, key: str, level: int, from_khz: int, to_khz: int, *after: int) -> Lesson:
    return Lesson(100 * S + at_s * S, key, 0, level, from_khz, to_khz, from_khz, 900_000, [*after])


# Level 3 learns 1.2 GHz and raises 4 to 9; level 5 learns 1.6 and raises 6 to 9; level 6 falls to 1.2 and lowers 5.
AFTER = [800_000] * 3 + [1_200_000] * 4 + [1_600_000] * 3
LESSONS = (
    lesson(16, "performance", 3, 800_000, 1_200_000, *LOW[:3], *[1_200_000] * 7),
    lesson(22, "performance", 5, 1_200_000, 1_600_000, *LOW[:3], *[1_200_000] * 2, *[1_600_000] * 5),
    lesson(67, "power", 6, 1_600_000, 1_200_000, *AFTER),
)
TRAINING = Chapter(
    "T0000000", "T-HAPPE", 1, 7, 100 * S, 220 * S, LADDER, knew_profile=False, before=LOW, after=AFTER, lessons=LESSONS
)
LATER = Chapter("B0000000", "B-HAPPE", 1, 8, 300 * S, 400 * S, LADDER, knew_profile=True, before=AFTER, after=AFTER)


def test_the_profile_after_each_lesson_is_told_with_what_else_it_moved() -> None:
    history = told([TRAINING, LATER])
    assert history.doubts == []
    assert history.after(0) == LOW
    assert history.after(1) == LOW[:3] + [1_200_000] * 7
    assert [also(step) for step in history.steps] == [
        ["raised 4\N{EN DASH}9 to 1.2 GHz"],
        ["raised 6\N{EN DASH}9 to 1.6 GHz"],
        ["lowered 5 to 1.2 GHz"],
    ]
    assert history.after(3) == history.levels == AFTER
    assert [since(step) for step in history.steps] == ["0:16", "0:22", "1:07"]
    assert [step.number for step in history.of_run("T0000000")] == [1, 2, 3]
    assert history.of_run("B0000000") == []


@pytest.mark.parametrize(
    ("chapters", "run", "says"),
    [
        ([replace(TRAINING, lessons=LESSONS[1:])], "T0000000", "lesson 1 changed another profile"),
        ([replace(TRAINING, before=[1_600_000] * 9 + [2_200_000])], "T0000000", "lesson 1 changed another profile"),
        ([TRAINING, replace(LATER, before=LOW, after=LOW)], "B0000000", "than run T0000000 left"),
        ([TRAINING, replace(LATER, before=LOW, after=LOW, knew_profile=False)], "B0000000", "than run T0000000 left"),
        ([LATER], "B0000000", "that no earlier run left"),
    ],
)
def test_what_does_not_follow_is_named_with_its_run(chapters: list[Chapter], run: str, says: str) -> None:
    history = told(chapters)
    assert [doubt.run for doubt in history.doubts][:1] == [run]
    assert says in " ".join(doubt.says for doubt in history.doubts)
    assert not summary(history)["agrees"]


def test_a_training_that_is_repeated_begins_untaught_again() -> None:
    again = replace(TRAINING, run="T0000001", attempt=2)
    assert told([TRAINING, again, LATER]).doubts == []


def test_a_probe_changes_the_profile_and_is_no_press() -> None:
    probed = replace(TRAINING, lessons=(*LESSONS[:2], replace(LESSONS[2], probe=True)))
    assert (len(told([probed]).steps), told([probed]).doubts) == (2, [])


def test_a_summary_counts_what_can_be_searched() -> None:
    found = summary(told([TRAINING, LATER]))
    assert (found["runs"], found["performance"], found["power"], found["last_us"]) == (2, 2, 1, 7)
    assert (found["khz"], found["highest_khz"], found["f_max_khz"]) == (AFTER, 1_600_000, 2_300_000)
    assert (found["changed"], found["hit_top"], found["hit_bottom"]) == (True, False, False)
    top = [*LOW[:9], 2_300_000]
    ends = (lesson(1, "performance", 9, 800_000, 2_300_000, *top), lesson(2, "power", 0, 800_000, 800_000, *top))
    at_ends = replace(TRAINING, lessons=ends, after=top)
    found = summary(told([at_ends]))
    assert (found["hit_top"], found["hit_bottom"], found["agrees"]) == (True, True, True)
    silent = summary(told([replace(LATER, before=LOW, after=LOW)]))
    assert (silent["khz"], silent["changed"], silent["last_us"]) == (LOW, False, 0)


def test_charts_say_in_words_what_they_draw() -> None:
    chart = steps("x", "Both", [("before", LOW), ("after", AFTER)], LADDER)
    assert chart.table
    assert chart.table.rows[5] == ["5", "0.8", "1.2"]
    assert [each.name for each in chart.series] == ["before", "after"]
    assert chart.series[1].values == [khz / 1e6 for khz in (*AFTER, AFTER[-1])]
    assert spread([(LOW, 1), (AFTER, 1)])[0] == (
        "1.6",
        [("0\N{NARROW NO-BREAK SPACE}%", 0)] * 7 + [("50\N{NARROW NO-BREAK SPACE}%", 5)] * 3,
    )
    assert [heat(khz, LADDER) for khz in LADDER] == [0, 3, 5, 9, 10]
    assert heat(800_000, LADDER[:1]) == 0


def test_frequencies_and_shares_are_written_one_way() -> None:
    assert [ghz(khz) for khz in (800_000, 2_201_000, 2_000_000, 1_234_567)] == ["0.8", "2.201", "2.0", "1.234567"]
    assert [percent_of(*each)[:-2] for each in ((0, 9), (1, 1000), (999, 1000), (9, 9))] == ["0", "1", "99", "100"]
    assert spans([1, 3, 4, 5, 8]) == "1, 3\N{EN DASH}5, 8"
