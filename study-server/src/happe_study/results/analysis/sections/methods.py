# SPDX-License-Identifier: GPL-2.0-or-later
"""The methods as a text that a paper can quote, with references and versions."""

from happe_study.results.analysis.report import Section, Table, Weight
from happe_study.results.analysis.study import Study, fixed, percent, versions

REFERENCES = (
    ("Hall's correction", "P. Hall, On the removal of skewness by transformation, J. Roy. Stat. Soc. B 54, 1992"),
    (
        "Missing pairs",
        "J. Horowitz, C. Manski, Nonparametric analysis of randomized experiments with missing data, JASA 95, 2000",
    ),
    (
        "Non-inferiority",
        "G. Piaggio et al., Reporting of noninferiority and equivalence randomized trials, JAMA 308, 2012; ICH E9 1998",
    ),
    ("Crossover", "K. Dwan et al., CONSORT 2010 statement: extension to randomised crossover trials, BMJ 366, 2019"),
    ("Restricted likelihood", "H. D. Patterson, R. Thompson, Recovery of inter-block information, Biometrika 58, 1971"),
    (
        "Degrees of freedom",
        "F. E. Satterthwaite, Biometrics Bulletin 2, 1946; A. Kuznetsova et al., lmerTest, J. Stat. Software 82, 2017",
    ),
    (
        "Cumulative-link model",
        "A. Agresti, Analysis of ordinal categorical data, 2010; Q. Liu, D. A. Pierce, Biometrika 81, 1994",
    ),
    (
        "Errors by participant",
        "R. Bell, D. McCaffrey, Survey Methodology 28, 2002; J. G. MacKinnon et al., J. Appl. Econometrics 38, 2023",
    ),
    ("Blinding", "K. E. James et al., Stat. Medicine 15, 1996; H. Bang et al., Controlled Clinical Trials 25, 2004"),
    ("Groups", "B. L. Welch, Biometrika 38, 1951; S. Holm, Scand. J. Statistics 6, 1979"),
    ("Proportional odds", "R. Brant, Biometrics 46, 1990"),
)
ONE_ORDER = "Everybody had the conditions in the same order and could know it, so the study was not blind."
BLIND = "Participants and experimenters did not know which condition a run had."
POWER = (
    "Power. The typical saving of a condition is 1 minus the geometric mean over participants of each one's mean "
    "ratio of powers, of pairs of runs of the same application. Limits are the wider of Student's t and of t with "
    "Hall's correction for skewness, take missing pairs as the most extreme pair seen, and in studies of fewer than "
    "36 people allow for a tenth of all people of whom none took part. A linear mixed model of log power has random "
    "effects of the participant, of the participant in an application and under a condition, fitted by REML, with "
    "Satterthwaite's degrees of freedom."
)
RATINGS = (
    "Ratings. The test of non-inferiority is one-sided on participants' mean differences, with limits as for power. A "
    "cumulative-link mixed model with logit link has a random intercept for each participant; errors are a jackknife "
    "by participant."
)
OTHERS = (
    "Others. Blinding was judged by the indices of James and Bang; groups of participants were compared by Welch's "
    "analysis of variance, corrected by Holm's method. There was no interim look: nobody could see conditions before "
    "the unblinding."
)


def section(study: Study) -> Section:
    """Paragraphs on design, outcomes and methods; references; versions."""
    return Section(
        "methods",
        "Methods",
        Weight.DESCRIPTIVE,
        text=(
            *_design(study),
            POWER,
            RATINGS,
            OTHERS,
            f"Software. {versions()}.",
        ),
        tables=(Table("References", ("For", "Source"), REFERENCES, names=2),),
    )


def _design(study: Study) -> tuple[str, ...]:
    conditions = ", ".join(study.runs.conditions)
    said = (
        f"Design. A crossover within participants: each used {len(study.runs.applications)} applications under each of "
        f"{len(study.runs.conditions)} conditions ({conditions}), in a sequence that was sealed before the first "
        f"participant. {ONE_ORDER if study.one_order else BLIND}"
    )
    wanted = study.protocol.analysis if study.protocol else None
    if wanted is None:
        return (f"{said} The protocol fixed no margin, so the study has no confirmatory test.",)
    confirmatory = (
        f"The one confirmatory question, fixed in the locked protocol: are ratings under {wanted.treatment} "
        f"non-inferior to those under {wanted.reference}, with a margin of {fixed(wanted.margin)} points and a "
        f"one-sided alpha of {percent(wanted.alpha, 1)} %?"
    )
    return (said, confirmatory)
