# SPDX-License-Identifier: GPL-2.0-or-later
"""A preregistration from a protocol: the study's question and its planned analysis, fixed before there are data.

The same protocol always gives the same text. The lock of a study writes the text's SHA-256 to the audit log.
"""

import hashlib
from collections.abc import Iterator

from happe_study.base.version import VERSION
from happe_study.study.protocol.reading import Protocol


def registration(protocol: Protocol) -> str:
    """The text of the preregistration, as Markdown."""
    return "\n".join(_lines(protocol)) + "\n"


def digest(protocol: Protocol) -> str:
    """The SHA-256 of the preregistration, in hexadecimal."""
    return hashlib.sha256(registration(protocol).encode()).hexdigest()


def _lines(protocol: Protocol) -> Iterator[str]:
    yield f"# Preregistration: {protocol.title}"
    yield from (
        "",
        f"Study `{protocol.name}`. Methods as of happe-server {VERSION} (docs/analysis.md, docs/inference.md).",
    )
    yield from _design(protocol)
    if protocol.analysis is None:
        yield from ("", "## Question", "", "The protocol fixes no margin. All results are estimates; there is no test.")
        yield from _outcomes("Estimated")
        return
    yield from _question(protocol)
    yield from _outcomes("Secondary, estimated without correction for their number")
    yield from _sets()
    yield from _planned(protocol.participants, protocol.analysis.planned)


def _design(protocol: Protocol) -> Iterator[str]:
    conditions = ", ".join(condition.label for condition in protocol.conditions)
    applications = ", ".join(f"{each.name} ({each.seconds} s)" for each in protocol.applications)
    yield from ("", "## Design", "")
    yield f"- {protocol.participants} participants, each with {protocol.runs_per_participant} runs."
    yield "- Nobody looks at conditions before the end."
    yield f"- Conditions within participants: {conditions}. Order: {protocol.order.scheme}, in sealed sequences."
    yield f"- Applications: {applications}."
    yield f"- Ratings from {protocol.rating.lowest} to {protocol.rating.highest}, after each run."


def _question(protocol: Protocol) -> Iterator[str]:
    wanted = protocol.analysis
    if wanted is None:
        return
    yield from ("", "## Confirmatory question", "")
    yield f"- Estimand: {wanted.treatment} minus {wanted.reference}: the mean over all people of each one's mean"
    yield "  difference of ratings over applications, whether or not they finished every run."
    yield f"- Margin: {wanted.margin:g} points. Reason: {wanted.reason or 'none is given in the protocol'}"
    yield f"- Test: the mean difference is above -{wanted.margin:g}, one-sided, alpha {wanted.alpha:g}."
    yield "- Verdicts: non-inferior (the whole interval above minus the margin), inferior (below), inconclusive (else)."


def _outcomes(kind: str) -> Iterator[str]:
    yield from ("", "## Outcomes, in order", "", f"{kind}:", "")
    for number, outcome in enumerate(OUTCOMES, start=1):
        yield f"{number}. {outcome}"


def _planned(participants: int, planned: tuple[str, ...]) -> Iterator[str]:
    yield from ("", "## Planned simulation", "")
    if planned:
        yield from (f"- {line}" for line in planned)
        return
    yield f"`happe-server plan` with this protocol, its seeds and assumptions, says for {participants} people"
    yield "how often such a study shows non-inferiority. Register its table beside this text."


OUTCOMES = (
    "Typical saving of power of each condition, over all applications, with 95 % interval.",
    "Typical saving by application.",
    "Win probability of each condition, and the cumulative-link mixed model of ratings.",
    "Press rates; blinding indices of James and Bang.",
    "Exploratory: groups by answers (Welch, Holm), period and carry-over.",
)


def _sets() -> Iterator[str]:
    yield from (
        *("", "## Analysis sets and missing data", ""),
        "- Main: all participants who did not withdraw their data; missing pairs as bad as the worst one seen.",
        "- Beside it: all without the missing pairs; participants with every pair (per protocol); the tipping point.",
        "- Excluded: runs that were not completed; blind and with a reason: runs and people that staff exclude. The",
        "  report has the main answers with these, too.",
        "- Set aside: ratings off the scale, runs of more than 400 W.",
        "- No interval if more than a quarter of the pairs are missing, or for fewer than five participants.",
    )
