"""What reviewers look for, after TRIPOD+AI, and what only the author can answer.

Collins, Moons, Dhiman et al., BMJ 385, e078378 (2024), in our words: `tripod.csv` has
for each item the sections of a report that answer it, by their titles or how these
begin, and the fields of the author.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from smpcore.readouts import Caution, Section

#: Characters of a field.
LONGEST = 2000
#: Field of the author -> its name, and what belongs into it.
FIELDS: Mapping[str, tuple[str, str]] = {
    "abstract": (
        "Abstract",
        "Aim, data, outcome, predictors, how the model was built, results, conclusion.",
    ),
    "background": (
        "Background and objectives",
        "Why a model is needed, earlier models, known inequalities of health; "
        "development, evaluation or both.",
    ),
    "use": (
        "Intended use and users",
        "For whom, by whom, with what expertise, where in the course of care; what is "
        "done where an input is poor or missing.",
    ),
    "setting": (
        "Setting and sources of the data",
        "Kind of study, sites, population, and why the data represent it.",
    ),
    "dates": ("Dates", "First and last entry, end of follow-up."),
    "eligibility": (
        "Eligibility and treatments",
        "Who was included and left out, with numbers; treatments received.",
    ),
    "outcome": (
        "Assessment of the outcome",
        "Definition, how, when and by whom assessed, blinded or not, why chosen.",
    ),
    "predictors": (
        "Measurement of predictors",
        "Why these, how, when and by whom measured.",
    ),
    "missing": ("Reasons for missing data", "Why values are missing."),
    "size": ("Rationale of the sample size", "How the number of rows was arrived at."),
    "fairness": ("Fairness", "For which groups it was examined, and why."),
    "updating": (
        "Updating",
        "Whether the model was recalibrated on other data (Apply does it), with which "
        "result; or that it was not.",
    ),
    "interpretation": (
        "Interpretation and next steps",
        "Main results against earlier studies; what has to come next.",
    ),
    "limitations": (
        "Limitations",
        "Representativeness, size, overfitting, missing data; differences between "
        "training and evaluation.",
    ),
    "ethics": ("Ethics", "Approval and consent."),
    "funding": ("Funding and conflicts of interest", "Funders, their role, interests."),
    "access": (
        "Protocol, registration, access to data and code",
        "Where each can be had, or why not.",
    ),
    "involvement": ("Involvement of patients and the public", "In what, and how."),
}
#: Titles of the two sections that are written here.
STATED, TRIPOD = "Stated by the author", "Items of TRIPOD+AI"
_NOWHERE = "not answered here"


def stated_section(stated: Mapping[str, str]) -> Section:
    """Repeat what the author stated, and name what was not.

    Parameters
    ----------
    stated : mapping of str to str
        Key of `FIELDS` -> text; a line of it is a paragraph.

    Returns
    -------
    Section
    """
    texts = {key: stated.get(key, "").split("\n") for key in FIELDS}
    texts = {key: [*filter(str.strip, lines)] for key, lines in texts.items()}
    blocks = [Section(FIELDS[key][0], lines) for key, lines in texts.items() if lines]
    gaps = [FIELDS[key][0] for key, lines in texts.items() if not lines]
    if gaps:
        blocks = [Caution(f"Not stated by the author: {'; '.join(gaps)}."), *blocks]
    return Section(STATED, blocks)


def tripod_section(
    sections: Sequence[Section],
    stated: Mapping[str, str],
    offered: Mapping[str, str],
) -> Section:
    """List the items of TRIPOD+AI, each with its place in a report, or as a gap.

    Parameters
    ----------
    sections : sequence of Section
        All others of the report.
    stated : mapping of str to str
        What the author stated, as `stated_section` takes it.
    offered : mapping of str to str
        Section of the table that is not in every report -> where it is to be had.

    Returns
    -------
    Section
        A table for each part of a paper.
    """
    parts: dict[str, list[dict[str, str]]] = {}
    for item in items():
        place, field = [], []
        for name in _names(item["sections"]):
            titles = [s.title for s in sections if s.title.startswith(_options(name))]
            if not titles and name in offered:
                titles = [f"not run: {offered[name]}"]
            place += titles
        for key in _names(item["fields"]):
            is_stated = bool(stated.get(key, "").strip())
            field.append(f"{'' if is_stated else 'not stated: '}{FIELDS[key][0]}")
        line = {"item": item["item"], "asked": item["asked"]}
        nowhere = "" if field else _NOWHERE
        line["in this report"] = "; ".join(dict.fromkeys(place)) or nowhere
        line["stated by the author"] = "; ".join(field)
        parts.setdefault(item["part"], []).append(line)
    words = (
        "Collins et al., BMJ 385, e078378 (2024), in our words. Sections are named by "
        "their headings. What is not stated, not run or not answered is a gap."
    )
    return Section(TRIPOD, [words, *(Section(part, [t]) for part, t in parts.items())])


def items() -> list[dict[str, str]]:
    """Every item: its part of a paper, number, what is asked, sections and fields.

    Returns
    -------
    list of dict
        Lines of `tripod.csv`.
    """
    with Path(__file__).with_name("tripod.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _names(text: str) -> list[str]:
    return text.split("; ") if text else []


def _options(name: str) -> tuple[str, ...]:
    """How a title may begin."""
    return tuple(name.split(" or "))
