"""Choose for me, without a browser: what was tried, why this one, and it is used."""

import numpy as np
import pytest

from smpcore import METHODS
from tests import app
from tests.app import kernels, opened, sound, until
from tests.shown.oracle import says

pytestmark = pytest.mark.usefixtures(kernels.__name__)


def _tried(page):
    """The table of a search that is over."""
    sound(page.button(key="choose_for_me").click().run())
    page = until(page, lambda p: any("numbers" in t.value for t in p.dataframe))
    (table,) = (t.value for t in page.dataframe if "numbers" in t.value)
    return page, table


@pytest.mark.parametrize("where", ["explore.py", "tradeoff.py"])
def test_the_smallest_within_an_error_becomes_the_model_of_every_page(where):
    page, table = _tried(opened({"data": "iris", "seed": "3", "eta": "2"}, where))
    label = "Balanced accuracy"
    mean, error = table[f"{label} %"], table["standard error %"]
    line = table.iloc[0]
    assert line["chosen"] and table["chosen"].sum() == 1
    within = table[mean >= mean.max() - error[mean.idxmax()]]
    assert line["numbers"] == within["numbers"].min()
    mu, lam = METHODS["smp"].param("mu").label, METHODS["smp"].param("lam").label
    (text,) = [e.value for e in page.markdown if "numbers stored" in e.value][:1]
    says(
        text,
        f"Prototypes per class #, {lam} #, {mu} #: {label} # % with # numbers stored.",
        *(line["Prototypes per class"], line[lam], line[mu]),
        *(line[f"{label} %"], line["numbers"]),
    )
    (about,) = [e.value for e in page.markdown if e.value.startswith("Of ")]
    assert about.startswith(f"Of {len(table)} settings, the best has")
    assert f"{len(within)} are within one standard error" in about
    sound(page.button(key="use_tuned").click().run())
    values = app.context_of(page).values
    assert values["eta"] == 2, "what was set stays"
    chosen = values["n_prototypes"], values["lam"], values["mu"]
    wanted = line["Prototypes per class"], line[lam], line[mu]
    np.testing.assert_allclose(chosen, wanted)
    assert not [b for b in page.button if b.key == "use_tuned"], "the dialog is closed"


def test_of_a_regression_the_best_has_the_smallest_error():
    query = {"data": "diabetes", "method": "supersparse"}
    page, table = _tried(opened(query))
    label = "Mean absolute error"
    line, best = table.iloc[0], table.loc[table[label].idxmin()]
    assert line["chosen"] and line["within one error"]
    assert line[label] <= best[label] + best["standard error"]
    sound(page.button(key="use_tuned").click().run())
    asked = app.context_of(page).values["n_prototypes"]
    assert asked == line["Prototypes"]


def test_a_lesson_offers_no_search():
    page = opened({"lesson": "02-fusion.json"})
    assert not [b for b in page.button if b.key == "choose_for_me"]


@pytest.mark.parametrize("method", ["mprotsvm", "supersparse"])
def test_more_starts_are_fits_with_other_seeds_and_the_lowest_can_be_taken(method):
    page = opened({"data": "wine", "method": method, "random_state": "97"})
    sound(page.button(key="more_starts").click().run())
    page = until(page, lambda p: any("objective" in t.value for t in p.dataframe))
    (tried,) = (t.value for t in page.dataframe if "objective" in t.value)
    seeds = [97, 98, 99, *range(18)]
    assert tried["seed"].tolist() == seeds
    context = app.context_of(page)
    X, y = context.data.of("train")
    for seed, objective in zip(seeds[:4], tried["objective"][:4], strict=True):
        values = {**context.values, "random_state": seed}
        fit = METHODS[method].estimator_for(context.dataset, values).fit(X, y)
        assert objective == pytest.approx(fit.objective_)
    own, others = tried["objective"][0], tried["objective"][1:]
    lower = int((others < 0.999 * own).sum())
    (text,) = [e.value for e in page.markdown if e.value.startswith("The fit of seed")]
    assert f"Of 20 other seeds, {lower} are lower by 0.1 % or more" in text.replace(
        "\\", ""
    )
    if lower:
        sound(page.button(key="use_tuned").click().run())
        best = seeds[1 + int(others.to_numpy().argmin())]
        assert app.context_of(page).values["random_state"] == best


def test_a_fit_without_a_draw_has_no_more_starts():
    page = opened({"data": "iris", "method": "imkpl"})
    assert not [b for b in page.button if b.key == "more_starts"]
