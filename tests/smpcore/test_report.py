"""The report as a document: whole, escaped, without anything that loads or runs."""

import numpy as np

from smpcore import METHODS, Page, load_dataset, prepare, report, split


def test_a_picture_per_prototype_and_nothing_to_load():
    dataset = load_dataset("digits")
    train = split(dataset).train[:200]
    X = prepare(dataset, train).transform(dataset.frame.iloc[train])
    method = METHODS["smp"]
    model = method.estimator(method.defaults()).fit(X, dataset.y[train]).model_
    page = Page(
        "<x>", {"a": "<b>"}, model.weights, True, shape=(8, 8), notes={0: "<n>"}
    )
    text = report(model, page)
    assert text.count("<svg") == model.n_prototypes
    assert text.count("<rect") == 64 * model.n_prototypes
    assert "&lt;x&gt;" in text and "&lt;b&gt;" in text and "&lt;n&gt;" in text
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert np.all([tag not in text for tag in ("<x>", "<n>", "src=")])
