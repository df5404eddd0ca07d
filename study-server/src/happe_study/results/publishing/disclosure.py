# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether answers identify participants: k-anonymity of the questionnaire.

Data are k-anonymous if at least k people share each combination of answers (Sweeney, International Journal of
Uncertainty, Fuzziness and Knowledge-Based Systems 10, 2002). The check assumes that an outsider may know all answers. A
missing answer counts as a separate answer. Answers cannot identify a participant who answered nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Answers = Mapping[str, str]  # of a participant, by question


@dataclass(frozen=True)
class Disclosure:
    """`k`: how many people share the rarest combination of answers; None: nobody answered anything.

    `few`: how many people have a combination that too few share. `without`: k without a question, by question.
    """

    k: int | None
    participants: int
    few: int
    without: Mapping[str, int | None]


def of_answers(people: Sequence[Answers], questions: Sequence[str], wanted: int) -> Disclosure:
    """The disclosure by the answers to these questions. `wanted` is the k that is enough."""
    shared = _shared(people, questions)
    few = sum(count for count in shared if count < wanted)
    without = {
        question: min(_shared(people, [other for other in questions if other != question]), default=None)
        for question in questions
    }
    return Disclosure(min(shared, default=None), len(people), few, without)


def _shared(people: Sequence[Answers], questions: Sequence[str]) -> list[int]:
    """How many people share each combination."""
    found = Counter(tuple(answers.get(question, "") for question in questions) for answers in people)
    return [count for combination, count in found.items() if any(combination)]
