# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether participants can be recognised by their answers: k-anonymity of the questionnaire.

Data are k-anonymous if each combination of answers is shared by k people at least (Sweeney, International Journal of
Uncertainty, Fuzziness and Knowledge-Based Systems 10, 2002). All answers are taken as what an outsider may know. An
answer that is missing counts as an answer of its own; a participant who answered nothing cannot be identified by
answers.
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
    """`k`: how many share the rarest combination; None: nobody answered anything.

    `few`: how many people share theirs with too few. `without`: k if one question is left out, by question.
    """

    k: int | None
    participants: int
    few: int
    without: Mapping[str, int | None]


def of_answers(people: Sequence[Answers], questions: Sequence[str], wanted: int) -> Disclosure:
    """The disclosure of these questions' answers."""
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
