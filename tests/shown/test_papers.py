"""What the page Papers says of conclusions, against fits and counts made here."""

import json
from itertools import permutations

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from smpcore import SMaLLClassifier, load_dataset
from smpcore.papers import SHIPPED
from tests.app import opened, said

#: Of the rows that are for training, and the positive class.
SHARES, CLASSES = (0.5, 0.7, 0.8), ("malignant", "benign")


@pytest.fixture(scope="module")
def page():
    return opened({}, "papers.py")


def of_all_papers(page):
    return next(one.value for one in page.dataframe if "Experiment" in one.value)


def line(page, experiment):
    """The first row of the table of all papers with a conclusion of an experiment."""
    table = of_all_papers(page)
    return table[table["Experiment"] == experiment].iloc[0]


def accuracies(positive, share):
    """Of SMaLL with six weights on twenty divisions of breast cancer."""
    cancer = load_dataset("breast_cancer")
    X, y = cancer.frame[cancer.feature_columns].to_numpy(), cancer.y
    for seed in range(20):
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=1 - share, random_state=seed, stratify=y
        )
        small = SMaLLClassifier(lam=0.1, bias=False, positive_class=positive)
        yield small.fit(X_train, y_train).score(X_test, y_test)


def test_a_conclusion_holds_in_as_many_readings_as_fits_say(page):
    drawn = {
        (positive, share): np.array([*accuracies(positive, share)])
        for positive in CLASSES
        for share in SHARES
    }
    holds = {where: values.mean() > 0.94 for where, values in drawn.items()}
    of_each = {where: (values > 0.94).all() for where, values in drawn.items()}
    # One factor or two are changed, never three.
    for share in SHARES[1:]:
        del of_each["benign", share]
    every = [*holds.values(), *of_each.values()]
    row = line(page, "small-figure-2")
    assert row["Readings"] == f"{sum(every)} of {len(every)}" == "1 of 10"
    assert holds["benign", 0.5] and not holds["malignant", 0.5]
    assert row["Verdict"] == "depends on positive class"
    assert row["Most favourable reading"] == "positive class: benign (1 of 1)"


def test_how_often_shuffled_numbers_pass_is_that_of_all_pairs(page):
    path = SHIPPED / "supersparse-figure-4.jsonl"
    errors = {}
    for text in path.read_text("utf-8").splitlines():
        trial = json.loads(text)
        error = trial["measures"]["equal error rate %"]
        errors.setdefault(trial["model"], []).append(error)
    means = [np.mean(values) for values in errors.values()]
    exact = np.mean([a <= b + 2 for a, b in permutations(means, 2)])
    shown = line(page, "supersparse-figure-4")["Shuffled"]
    assert float(shown.removesuffix(" %")) == pytest.approx(100 * exact, abs=4)
    assert f"it passes in {shown} of the shuffles" in said(page)


def test_the_headline_counts_the_verdicts(page):
    verdicts = of_all_papers(page)["Verdict"]
    holds, in_part = ((verdicts == one).sum() for one in ("holds", "holds in part"))
    depends = verdicts.str.startswith("depends on").sum()
    fails = verdicts.str.startswith("does not hold").sum()
    assert holds + depends + in_part + fails == len(verdicts) == 29
    headline = page.markdown[0].value
    assert headline == (
        f"**Of 29 conclusions of five papers {holds} hold, {depends} depend on what "
        f"the paper leaves open, {in_part} hold in part and {fails} do not hold here**"
    )


def test_the_strip_has_a_mark_for_each_verdict_and_quotations_are_whole(page):
    table = of_all_papers(page)
    strip = json.loads(page.get("plotly_chart")[0].proto.spec)["data"]
    kinds = "holds in part", "holds", "depends on", "does not hold"
    kind = table["Verdict"].map(lambda v: next(k for k in kinds if v.startswith(k)))
    for trace in strip:
        own = kind == next(k for k in kinds if trace["name"].startswith(k))
        quoted = [text.replace("<br>", " ") for text in trace["text"]]
        assert sorted(quoted) == sorted(table["The paper says"][own])
    assert sum(len(trace["text"]) for trace in strip) == 29
    chosen = table[table["Paper"] == table["Paper"].iloc[0]]
    listed = next(m.value for m in page.markdown if m.value.startswith("- **"))
    assert len(listed.splitlines()) == len(chosen)
    for quoted in chosen["The paper says"]:
        assert quoted in listed.replace("\\", "")
