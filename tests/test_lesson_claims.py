"""What lessons say of numbers holds: on the rows that they show, and on others."""

import re

import pytest

from pages.state import lesson_files
from pages.state.lesson_files import PLACEHOLDER
from tests.app import kernels
from tests.bench import lesson_claims
from tests.test_lessons import SHIPPED, lesson_with, read

fixtures = (kernels,)
pytestmark = pytest.mark.usefixtures("kernels")
#: Words of sentences that compare or quantify.
COMPARES = re.compile(
    r"\b(more|fewer|less|least|most|larger?|smaller|higher|lower|better|worse|best|few|"
    r"nearly|same|half|third|little|never|always|all|none|nothing|ris\w+|fall\w*|far|"
    r"enough|too|than|longer|as \w+ as|\d+|one|two|three|ten|times|every|close|hardly)"
    r"\b",
    re.IGNORECASE,
)
#: Sentences with such words that no fit can prove wrong: what follows from how a thing
#: is defined or drawn, and titles.
DEFINED = (
    "One minute: arrows, a slider, a number, and where to go on.",
    "Many of the 30 columns measure nearly the same, such as radius, perimeter and "
    "area: one of them can stand for the others.",
    "Which penalty is right depends on the purpose: few columns are cheap to measure; "
    "a shared weight does not hang on a single measurement.",
    "No certificate says that nothing better is left.",
    "In the middle, where hardly a row is: similarity falls with the distance, so that "
    "one case and an intercept draw a circle.",
    "Each case costs a comparison in every prediction.",
    "Nothing in the objective asks a case to look like data: a prediction can be right "
    "although no real case looks like its reason.",
    "Weights are so costly now that cases are better placed where many rows are a "
    "little similar to them, also beside the data.",
    "Two outliers, one model, a chip: what would a wrong answer cost, and what a byte?",
    "Ten digits as islands on a map.",
    "A fit names two columns of a tumour's 30.",
    "Would two others do?",
    "The certificate is about the training rows: it says which pairs are near the "
    "best, and not which one is right.",
    "The model uses {before.n_features} features, the plane is two combinations of "
    "them: most of what separates the digits is not in it.",
    "Distances between groups on a map are not to scale: t-SNE keeps neighbours "
    "together and says nothing of how far apart strangers are.",
)
#: Of 30 draws; a claim or a question with the word "here" is of the rows shown.
ENOUGH, MOST_REMARKS = 27, 2


def claims_of(lesson):
    return [claim for step in lesson.steps for claim in step.claims or ()]


def sentences_of(lesson):
    texts = [step.question.reveal for step in lesson.steps if step.question]
    for text in [lesson.story, *texts]:
        yield from re.split(r"(?<=[.?!])\s+", text)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_sentence_that_compares_is_a_claim_with_a_check(name):
    claimed = [claim.sentence for claim in claims_of(SHIPPED[name])]
    for sentence in sentences_of(SHIPPED[name]):
        if COMPARES.search(PLACEHOLDER.sub("", sentence)):
            is_claimed = any(c in sentence or sentence in c for c in claimed)
            assert is_claimed or sentence in DEFINED, sentence


def test_no_sentence_is_called_defined_that_no_lesson_has():
    said = {one for lesson in SHIPPED.values() for one in sentences_of(lesson)}
    assert not {*DEFINED} - said


@pytest.mark.parametrize("name", SHIPPED)
def test_claims_hold_on_the_rows_that_the_lesson_shows(name):
    for step in SHIPPED[name].steps:
        for claim in step.claims or ():
            then = ((step.question and step.question.then) or {}) | (claim.then or {})
            values = lesson_claims.values_of(step, then, 0)
            assert all(one.holds(values) for one in claim.when), claim.sentence


@pytest.mark.parametrize("name", SHIPPED)
def test_claims_and_marked_answers_hold_in_27_draws_of_30(name):
    lesson = SHIPPED[name]
    rows = [row for row in lesson_claims.stored() if row["lesson"] == name]
    claimed = [row["claim"] for row in rows if row["kind"] == "claim"]
    assert claimed == [claim.sentence for claim in claims_of(lesson)]
    asked = [i for i, step in enumerate(lesson.steps, 1) if step.question]
    assert [int(row["step"]) for row in rows if row["kind"] == "answer"] == asked
    remarks = 0
    for row in rows:
        question = lesson.steps[int(row["step"]) - 1].question
        said = row["claim"] if row["kind"] == "claim" else question.text
        remarks += (is_remark := re.search(r"\bhere\b", said) is not None)
        assert row["of"] == "30"
        assert is_remark or int(row["held"]) >= ENOUGH, row
    assert remarks <= MOST_REMARKS


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SHIPPED)
def test_the_table_is_what_is_measured(name):
    measured = lesson_claims.rows_of(name, SHIPPED[name])
    stored = [row for row in lesson_claims.stored() if row["lesson"] == name]
    for now, then in zip(measured, stored, strict=True):
        assert (now["step"], now["claim"]) == (then["step"], then["claim"])
        assert abs(int(now["held"]) - int(then["held"])) <= 1, now


def test_a_claim_is_of_a_sentence_that_the_lesson_says():
    when = [{"measure": "n_prototypes", "at_least": 1}]
    read(lesson_with(claims=[{"sentence": "See.", "when": when}]))
    with pytest.raises(lesson_files.SmpcoreError, match="claims what it does not say"):
        read(lesson_with(claims=[{"sentence": "Look.", "when": when}]))


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ({"of": "before"}, 8.0),
        ({"of": "change"}, -3.0),
        ({"of": "ratio"}, 0.625),
        ({"of": "after", "minus": "n_nonzeros"}, -1.0),
        ({"of": "ratio", "minus": "n_nonzeros"}, 0.125),
    ],
)
def test_a_condition_compares_changes_ratios_and_two_read_outs(condition, value):
    values = {
        "before": {"n_prototypes": 8.0, "n_nonzeros": 12.0},
        "after": {"n_prototypes": 5.0, "n_nonzeros": 6.0},
        "change": {"n_prototypes": -3.0, "n_nonzeros": -6.0},
    }
    limits = {"measure": "n_prototypes", "at_least": value, "at_most": value}
    step = lesson_with(claims=[{"sentence": "See.", "when": [limits | condition]}])
    (claim,) = read(step).steps[0].claims
    assert claim.when[0].value(values) == value and claim.when[0].holds(values)
