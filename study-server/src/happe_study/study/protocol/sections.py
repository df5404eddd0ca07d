# SPDX-License-Identifier: GPL-2.0-or-later
"""A protocol as frozen dataclasses, one for each table of the file. docs/protocol.md explains every field.

Names in the file are the fields' names, or their aliases.
"""

from enum import StrEnum
from math import lcm
from typing import Annotated

from pydantic import ConfigDict, Field, StrictBool, StrictFloat, StrictInt
from pydantic.dataclasses import dataclass

from happe_contract import conditions as names
from happe_study.model.participants import OnWithdrawal
from happe_study.study.protocol.conditions import FEWEST_LEVELS, MOST_LEVELS, Condition, Scheme
from happe_study.study.protocol.conditions import conditions as conditions_of
from happe_study.study.protocol.conditions import sequences as sequences_of
from happe_study.study.protocol.designs import williams
from happe_study.study.protocol.texts import Argument, Day, Line, Slug, Text, Version

MOST_SECONDS = 86_400

_CLOSED = ConfigDict(extra="forbid")


@dataclass(frozen=True, kw_only=True, config=_CLOSED)
class Application:
    """The application of a run. `cpu` is the CPU on which it must run; None: the kernel chooses."""

    key: Slug
    name: Line
    command: Annotated[tuple[Argument, ...], Field(min_length=1, max_length=64)]  # program and arguments, no shell
    seconds: Annotated[StrictInt, Field(ge=1, le=MOST_SECONDS)]  # how long a run lasts
    practice_seconds: Annotated[StrictInt, Field(ge=0, le=MOST_SECONDS)] = 0  # before the first run; 0: none
    cpu: Annotated[StrictInt, Field(ge=0, le=1023)] | None = None


class Nesting(StrEnum):
    """The order of runs: one application under all conditions, then the next; or all applications, then again."""

    APPLICATION = "application"
    BLOCK = "block"


class Arrangement(StrEnum):
    """The order of the applications."""

    LISTED = "listed"
    RANDOM = "random"
    WILLIAMS = "williams"


@dataclass(frozen=True, kw_only=True, config=_CLOSED)
class Order:
    """The treatments and the order of the runs. Only the scheme `levels` has `levels`, 2 to 64."""

    scheme: Scheme
    levels: Annotated[StrictInt, Field(ge=FEWEST_LEVELS, le=MOST_LEVELS)] | None = None
    nesting: Nesting = Nesting.APPLICATION
    applications: Arrangement = Arrangement.LISTED


@dataclass(frozen=True, kw_only=True, config=_CLOSED)
class Ondemand:
    """The kernel governor's settings under the condition ondemand. The defaults are the paper's (section A.5.1.3)."""

    sampling_rate_us: Annotated[StrictInt, Field(ge=1, le=10_000_000)] = 80_000
    up_threshold: Annotated[StrictInt, Field(ge=1, le=100)] = 80  # percent


class Epp(StrEnum):
    """The energy performance preferences of the kernel that a protocol can set in every run."""

    PERFORMANCE = "performance"
    BALANCE_PERFORMANCE = "balance_performance"
    BALANCE_POWER = "balance_power"
    POWER = "power"


class Language(StrEnum):
    """The languages that participants' pages have."""

    ENGLISH = "en"
    GERMAN = "de"


@dataclass(frozen=True, kw_only=True, config=_CLOSED)
class Consent:
    """The text to which participants agree. The server stores the version with their consent."""

    version: Version
    text: Text
    withdrawal: Annotated[tuple[OnWithdrawal, ...], Field(min_length=1, max_length=2)] = tuple(OnWithdrawal)


class ItemKind(StrEnum):
    """The kind of answer that an item takes: one of its options, a line of text, or a number."""

    CHOICE = "choice"
    TEXT = "text"
    NUMBER = "number"


@dataclass(frozen=True, kw_only=True, config=_CLOSED)
class Item:
    """A question of the questionnaire. Only a choice has options, 2 to 50."""

    key: Slug
    question: Line
    kind: ItemKind
    options: Annotated[tuple[Line, ...], Field(max_length=50)] = ()
    required: StrictBool = True


LEVELS_OF_EXPERIENCE = ("beginner", "moderate", "master")  # section A.5.1.3
BUILT_IN = {
    item.key: item
    for item in (
        Item(
            key="computer_experience",
            question="How experienced are you with computers?",
            kind=ItemKind.CHOICE,
            options=LEVELS_OF_EXPERIENCE,
        ),
        Item(
            key="game_experience",
            question="How experienced are you with computer games?",
            kind=ItemKind.CHOICE,
            options=LEVELS_OF_EXPERIENCE,
        ),
        Item(
            key="field_of_study",
            question="What is your field of study or work?",
            kind=ItemKind.TEXT,
        ),
    )
}


@dataclass(frozen=True, kw_only=True, config=_CLOSED)
class Questionnaire:
    """The built-in items that the study asks, and up to 50 items of its own."""

    computer_experience: StrictBool = True
    game_experience: StrictBool = True
    field_of_study: StrictBool = True
    own: Annotated[tuple[Item, ...], Field(alias="item", max_length=50)] = ()

    @property
    def items(self) -> tuple[Item, ...]:
        """All items of the questionnaire, in order."""
        return (*(item for key, item in BUILT_IN.items() if getattr(self, key)), *self.own)


@dataclass(frozen=True, kw_only=True, config=_CLOSED)
class Handout:
    """The instructions that participants read before their runs."""

    text: Text


@dataclass(frozen=True, kw_only=True, config=_CLOSED)
class Rating:
    """The question after each run: a whole number from `lowest` to `highest`, at most 11 numbers."""

    question: Line = "How satisfied were you with the performance and responsiveness of the computer in this run?"
    lowest: Annotated[StrictInt, Field(ge=0, le=10)] = 1
    highest: Annotated[StrictInt, Field(ge=1, le=20)] = 5
    lowest_label: Line = "least satisfied"
    highest_label: Line = "most satisfied"


@dataclass(frozen=True, kw_only=True, config=_CLOSED)
class Guess:
    """Whether participants guess the condition after each rating. The answers offered follow from the scheme."""

    ask: StrictBool = True
    question: Line = "What do you think controlled the computer's speed in this run?"


@dataclass(frozen=True, kw_only=True, config=_CLOSED)
class Battery:
    """The indicator's simulated battery: how long it lasts at the lowest frequency (section A.5.1.2: two hours)."""

    minutes: Annotated[StrictInt, Field(ge=1, le=1440)] = 120


@dataclass(frozen=True, kw_only=True, config=_CLOSED)
class Keys:
    """The names of the two keys for participants. The defaults are the paper's (A.5.1.3)."""

    performance: Line = "the green key"
    power: Line = "the yellow key"


@dataclass(frozen=True, kw_only=True, config=_CLOSED)
class Strata:
    """Strata: participants grouped by their answer to the item `by`. `quota` is the number of slots for each answer."""

    by: Slug
    quota: Annotated[dict[Line, Annotated[StrictInt, Field(ge=0, le=10_000)]], Field(min_length=1, max_length=50)]


@dataclass(frozen=True, kw_only=True, config=_CLOSED)
class Analysis:
    """The hypothesis, which the study's lock fixes: the treatment's ratings are worse by less than `margin`.

    `margin` is in points of the rating scale, `alpha` one-sided; `treatment` and `reference` are labels of conditions.
    `reason` justifies the margin; `planned` says what simulations of the study showed.
    """

    margin: Annotated[StrictFloat, Field(ge=0.01, le=10, allow_inf_nan=False)]
    alpha: Annotated[StrictFloat, Field(ge=0.001, le=0.2, allow_inf_nan=False)] = 0.025
    treatment: Line = names.O_HAPPE
    reference: Line = names.ONDEMAND
    reason: Line = ""
    planned: Annotated[tuple[Line, ...], Field(max_length=20)] = ()


@dataclass(frozen=True, kw_only=True, config=_CLOSED)
class Review:
    """What reviewers of profiles see after the unblinding. With `outcomes`, also ratings, guesses and watts."""

    outcomes: StrictBool = False


@dataclass(frozen=True, kw_only=True, config=_CLOSED)
class Retention:
    """When the server erases what identifies participants: after a date (UTC), or some days after the unblinding."""

    until: Day | None = None
    days_after_unblinding: Annotated[StrictInt, Field(ge=1, le=36_500)] | None = None


@dataclass(frozen=True)
class GuessChoice:
    """An answer that participants can choose as their guess, and the labels of the conditions for which it is right."""

    key: str
    text: str
    right_for: frozenset[str] = frozenset()


DONT_KNOW = GuessChoice("dont-know", "I don't know")


@dataclass(frozen=True, kw_only=True, config=_CLOSED)
class Protocol:
    """A study's protocol: up to 16 applications, 1 to 10,000 participants.

    A missing section has its defaults. A section that the scheme does not use is an error.
    """

    name: Slug
    title: Line
    language: Language | None = None
    participants: Annotated[StrictInt, Field(ge=1, le=10_000)]
    applications: Annotated[tuple[Application, ...], Field(alias="application", min_length=1, max_length=16)]
    order: Order
    consent: Consent
    handout: Handout
    ondemand: Ondemand = Ondemand()
    epp: Epp | None = None
    strata: Strata | None = None
    questionnaire: Questionnaire = Questionnaire()
    rating: Rating = Rating()
    guess: Guess = Guess()
    battery: Battery = Battery()
    keys: Keys = Keys()
    analysis: Analysis | None = None
    review: Review = Review()
    retention: Retention = Retention()

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Every condition, once."""
        return conditions_of(self.order.scheme, self.order.levels)

    @property
    def sequences(self) -> tuple[tuple[Condition, ...], ...]:
        """The orders in which an application has all conditions, including training."""
        return sequences_of(self.order.scheme, self.order.levels)

    @property
    def block_size(self) -> int:
        """The fewest slots that contain every sequence, and every order of applications, equally often."""
        ordered = self.order.applications is Arrangement.WILLIAMS
        return lcm(len(self.sequences), len(williams(len(self.applications))) if ordered else 1)

    @property
    def quotas(self) -> dict[str, int]:
        """The number of slots of each stratum, in the file's order; without strata there is one, ""."""
        return dict(self.strata.quota) if self.strata else {"": self.participants}

    @property
    def runs_per_participant(self) -> int:
        """The number of runs of each participant."""
        return len(self.applications) * len(self.conditions)

    @property
    def guess_choices(self) -> tuple[GuessChoice, ...]:
        """The possible guesses, with "don't know" last; empty if the protocol asks for none."""
        return (*_guesses(self.order.scheme, self.conditions), DONT_KNOW) if self.guess.ask else ()

    def application(self, key: str) -> Application:
        """The application with this key. KeyError if there is none."""
        return {application.key: application for application in self.applications}[key]


def _guesses(scheme: Scheme, every: tuple[Condition, ...]) -> tuple[GuessChoice, ...]:
    """The choices of a scheme: the level, whether HAPPE tried to save by itself, or whether HAPPE governed."""
    if scheme is Scheme.LEVELS:
        return tuple(
            GuessChoice(f"level-{n}", f"Speed {n} of {len(every)} (1 is the slowest)", frozenset({condition.label}))
            for n, condition in enumerate(every, start=1)
        )
    labels = frozenset(condition.label for condition in every)
    if scheme is Scheme.EXTENDED:
        trying = frozenset(condition.label for condition in every if condition.extended)
        return (
            GuessChoice("keys-only", "A control that only the two keys change", labels - trying),
            GuessChoice("trying", "A control that now and then tries to save power by itself", trying),
        )
    learning = frozenset(condition.label for condition in every if condition.governor.endswith("-HAPPE"))
    usual = labels - learning
    return (
        GuessChoice("usual", "The computer's usual control", usual),
        GuessChoice("learning", "A control that learns from the two keys", learning),
    )
