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
