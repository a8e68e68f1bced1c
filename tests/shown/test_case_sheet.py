"""A printed case sheet: reasons that add up, bars as long, a change that changes."""

import re
from html import unescape

import numpy as np
import pytest

from tests.app import kernels, sound
from tests.html_document import Document
from tests.shown import oracle
from tests.shown.oracle import is_near
from tests.shown.test_prototypes import row_number, section

pytestmark = pytest.mark.usefixtures(kernels.__name__)


def sheet(fit):
    """HTML of the sheet of the row that is explained, and its page."""
    app = section(fit, "Why this prediction")
    return sheet_of(app), app


@pytest.mark.parametrize("method", ["smp", "smallk", "mprotsvm"])
@pytest.mark.parametrize("data", ["clinic", "wine"])
def test_reasons_are_parts_of_the_lead(method, data):
    """Their sum is on the page of the row, which says the same."""
    fit = oracle.fit(method, data)
    html, app = sheet(fit)
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


@pytest.mark.parametrize(
    ("method", "data", "n_rows"),
    [
        ("smp", "clinic", 15),
        ("mprotsvm", "wine", 15),
        ("supersparse", "clinic", 10),
        ("supersparse", "numbers", 10),
    ],
)
def test_sheet_and_page_say_the_same_of_a_row(method, data, n_rows):
    """Every sentence and every number of 50 sheets stands on the page of its row."""
    fit = oracle.fit(method, data)
    app = section(fit, "Why this prediction")
    box = next(b for b in app.checkbox if "why_cases_rows" in str(b.key))
    sound(box.check().run())
    for place in fit.parts["train"][:n_rows]:
        app = sound(app.number_input[0].set_value(int(place) + 1).run())
        article = sheet_of(app).partition("</article>")[0].partition("<article>")[2]
        page = " ".join(
            str(element.value)
            for kind in (app.markdown, app.caption, app.warning)
            for element in kind
        )
        page = " ".join(re.sub(r"[\\*]", "", page).split())
        for paragraph in re.findall(r"<p[^>]*>(.*?)</p>", article, re.DOTALL)[1:]:
            text = unescape(re.sub("<[^>]*>", "", paragraph))
            text = re.sub(r" \d+ smaller contributions.*", "", " ".join(text.split()))
            for fact in text.split(" · "):
                is_known = fact.startswith(("True value", "Part", "Nothing was"))
                assert is_known or fact in page, fact
        tables = Document(article).tables
        cells = {c for frame in app.dataframe for c in frame.value.to_numpy().ravel()}
        texts = [str(cell) for cell in cells]
        sizes = [abs(cell) for cell in cells if isinstance(cell, float)]
        assert len(tables) >= 3
        for cell in {c for t in tables for line in t[1:] for c in line if c}:
            if not any(cell in text for text in texts):
                assert any(is_near(cell.lstrip("-"), size) for size in sizes), cell


def sheet_of(app):
    """HTML of the sheet of the row on the page."""
    button = next(b for b in app.button if b.label == "Download the sheet of 1 row")
    sound(button.click().run())
    sent = [c.proto.bytes for c in app.get("bidi_component") if c.proto.bytes]
    return sent[-1].partition(b"\n")[2].decode()
