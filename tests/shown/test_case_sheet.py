"""A printed case sheet: reasons that add up, bars as long, a change that changes."""

import re

import numpy as np
import pytest

from tests.app import kernels, sound
from tests.html_document import Document
from tests.shown import oracle
from tests.shown.oracle import is_near
from tests.shown.test_prototypes import row_number, section

pytestmark = pytest.mark.usefixtures(kernels.__name__)


@pytest.mark.parametrize("method", ["smp", "smallk", "mprotsvm"])
@pytest.mark.parametrize("data", ["clinic", "wine"])
def test_reasons_are_parts_of_the_lead(method, data):
    """Their sum is on the page of the row, which says the same."""
    fit = oracle.fit(method, data)
    app = section(fit, "Why this prediction")
    button = next(b for b in app.button if b.label == "Download the sheet of 1 row")
    sound(button.click().run())
    (sent,) = (c.proto.bytes for c in app.get("bidi_component") if c.proto.bytes)
    html = sent.partition(b"\n")[2].decode()
    number = row_number(app)
    model, x = fit.model, fit.X[[number - 1]]
    said = ((x - model.center) / model.scale @ model.weights.T + model.bias)[0]
    scores = model.scores(x)[0]
    first, second = np.argsort(-scores, kind="stable")[:2]
    of_class = model.votes.argmax(axis=1)
    best = [
        max(np.flatnonzero(of_class == c), key=lambda j: said[j])
        for c in (first, second)
    ]
    away = (model.weights[best[0]] - model.weights[best[1]]) * (
        ((x - model.center) / model.scale)[0]
    )
    effects = {n: away[fit.inputs() == n].sum() for n in fit.table.feature_columns}
    document = Document(html)
    table = next(t for t in document.tables if t[0][:2] == ["Column", "Value"])
    names = [str(model.classes[c]) for c in (first, second)]
    assert table[0][2:] == [f"for {names[0]}", f"for {names[1]}"]
    sizes = []
    for name, _, yes, no in table[1:]:
        size = float(yes) if yes else -float(no)
        assert is_near((yes or no).lstrip("-"), abs(effects[name]))
        assert np.sign(size) == np.sign(effects[name])
        sizes.append(abs(size))
    assert sizes == sorted(sizes, reverse=True)
    widths = [
        float(w) for w in re.findall(r'class="bar[^"]*" style="width:([\d.]+)em', html)
    ]
    shown = np.array(sizes) / max(sizes) * max(widths)
    np.testing.assert_allclose(widths, shown, atol=0.02 * max(widths))
    text = " ".join("".join(document.texts).split())
    assert f"True value: {fit.y[number - 1]}" in text
