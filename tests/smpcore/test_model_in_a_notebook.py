"""What a notebook shows of a model: escaped, small, and without anything that runs."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from smpcore import METHODS, load_dataset, prepare, report, split

NASTY = "<img src=x onerror=alert(1)>\"&'"


@pytest.fixture(params=METHODS)
def classifier(request):
    return METHODS[request.param].estimators["classification"]()


def _refuses_to_run(html: str) -> bool:
    ElementTree.fromstring(f"<div>{html}</div>")  # every tag is ours, and closed
    return not re.search(r"<(script|img|a|link|iframe|style)\b|javascript:", html)


def test_names_are_text(classifier):
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = np.where(X[:, 0] > 0, NASTY, f"other {NASTY}")
    model = classifier.fit(X, y).model_
    object.__setattr__(model, "feature_names", (NASTY, "b", f"c = {NASTY}"))
    html = model._repr_html_()
    assert _refuses_to_run(html)
    assert html.count("</figure>") == model.n_prototypes
    assert "&lt;img src=x" in html
    assert NASTY not in report(model)


def test_pictures_are_drawn_as_pictures_and_many_are_counted(classifier):
    dataset = load_dataset("digits")
    train = split(dataset).train[:150]
    X = prepare(dataset, train).transform(dataset.frame.iloc[train])
    model = classifier.fit(X, dataset.y[train]).model_
    object.__setattr__(model, "sample_shape", dataset.sample_shape)
    html = model._repr_html_()
    drawn = min(model.n_prototypes, 12)
    assert html.count("<svg") == drawn and html.count("<rect") == 64 * drawn
    assert (f"{model.n_prototypes - drawn} more prototypes" in html) == (
        model.n_prototypes > drawn
    )
    assert len(html) < 100_000
    assert _refuses_to_run(html)


def test_a_regression_predicts_a_number():
    method = next(m for m in METHODS.values() if "regression" in m.estimators)
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = method.estimators["regression"]().fit(X, X[:, 0]).model_
    assert "<td>a number</td>" in model._repr_html_()
    assert "<td>a number</td>" in report(model)
