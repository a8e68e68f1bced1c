"""Weights of rows, and what is known afterwards, through the pages."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from pages.export.python_lines import python_of_choice
from pages.prototypes import report
from pages.prototypes.model_context import with_model
from pages.state import table_store
from pages.state.host import resolve
from pages.state.state_file import apply_record, record_of
from pages.ui import exports
from pages.work import visitors
from smpcore.datasets import make_dataset
from smpcore.evaluation.__main__ import main
from smpcore.live import MINE, Choice
from tests.app import bring, context_of, kernels, metrics, opened, said, sound
from tests.smpcore.datasets.test_time_to_event import followed
from tests.test_data_page import choice, edit
from tests.test_data_page import opened as data_page

__all__ = ["kernels"]


def surveyed(n=240):
    """Two classes, and how many people each row stands for."""
    draw = np.random.default_rng(2)
    frame = pd.DataFrame(draw.normal(size=(n, 3)).round(2), columns=list("abc"))
    frame["weight"] = (70 + 9 * draw.normal(size=n)).round()
    frame["pweight"] = draw.uniform(5, 90, n).round(1)
    value = frame["a"] - frame["b"] + draw.logistic(size=n)
    frame["ill"] = np.where(value > 0.8, "yes", "no")
    return frame


def table_of(page):
    """The table that the visit has brought."""
    return table_store.visit(choice(page).token)[0]


def weighted(frame, name="surveyed", **roles):
    roles = {"ill": "target", "pweight": "weight", **roles}
    return replace(make_dataset(frame, name, roles=roles), private=True)


@pytest.fixture
def mine(monkeypatch):
    """A choice of an uploaded table with weights, without a page."""
    monkeypatch.setattr(visitors, "browser", lambda: "b")
    token = table_store.keep(weighted(surveyed()))
    yield Choice(data=MINE, token=token)
    table_store.delete(token)


def test_a_weight_is_proposed_by_its_name_and_given_with_a_click():
    page = bring(data_page(), surveyed().to_csv(index=False))
    assert "pweight may say how many rows each row stands for" in said(page)
    page = sound(page.button(key="proposal_Weigh the rows by pweight").click().run())
    dataset = table_of(page)
    assert dataset.roles["pweight"] == "weight"
    assert dataset.feature_columns == ["a", "b", "c", "weight"]
    assert "may say how many rows" not in said(page)


def test_what_is_no_weight_is_refused_where_the_role_is_given():
    frame = surveyed()
    frame.loc[6, "pweight"] = -1
    page = bring(data_page(), frame.to_csv(index=False))
    assert "may say how many rows" not in said(page)
    page = edit(page, 4, "role", "weight")
    assert "has '-1' in row 7. Mend these rows, or choose another role" in said(page)
    assert table_of(page).roles["pweight"] == "feature"


def test_what_comes_after_is_no_input_but_is_looked_at():
    frame = surveyed()
    frame.insert(0, "discharge", np.resize(["home", "ward", "died"], 240))
    page = bring(data_page(), frame.to_csv(index=False))
    assert "perhaps known only after ill: discharge" in said(page)
    button = page.button(key="proposal_Known only afterwards: these columns")
    page = sound(button.click().run())
    dataset = table_of(page)
    assert dataset.roles["discharge"] == "known afterwards"
    assert "discharge" not in dataset.feature_columns
    assert "perhaps known only after" not in said(page)
    assert "discharge" in page.selectbox(key="scatter_x").options
    assert apply_record(dataset, record_of(dataset))[0].digest == dataset.digest


def test_a_time_beside_its_event_is_asked_about_with_a_click():
    page = bring(data_page(), followed().frame.to_csv(index=False))
    page = edit(page, 4, "role", "target")
    assert "months looks like the time that each row was followed for" in said(page)
    page = sound(page.button(key="proposal_Ask about time to event").click().run())
    asks = choice(page).follow_up
    assert (asks.time, asks.event, asks.value) == ("months", "death", "1")
    assert "was followed for, until" not in said(sound(page.run()))
    assert choice(page).follow_up == asks


def test_report_bundle_and_python_are_of_the_weighted_model(mine, kernels, monkeypatch):
    context = resolve(mine)
    model, data = context.fit().finished().model_, context.data
    rows, weights = data.split.validation, data.dataset.weights
    right = model.predict(data.X[rows]) == data.y[rows]
    share = np.average(right, weights=weights[rows])
    facts_of = report.facts_of(with_model(resolve(mine), model))
    assert facts_of["Weights"] == "rows weighted by column pweight"
    assert facts_of["Validation accuracy"].startswith(f"{100 * share:.1f} %")
    assert "weighted by pweight; intervals by Kish" in facts_of["Validation accuracy"]
    page = report.written(with_model(context, model), False)
    assert "Rows are weighted by pweight, as if each were there so often" in page
    provenance = exports._provenance(context, context.fit().finished())
    assert provenance["rows_weighted_by"] == "pweight"
    entry = provenance["accuracy"]["validation"]
    assert entry["accuracy_weighted"] == round(share, 4)
    monkeypatch.setattr(
        "pages.export.python_lines._table_source",
        lambda context: {"file": "surveyed.csv", "params": {}},
    )
    lines = python_of_choice(context)
    assert "row_weights(dataset, parts.with_censored, parts.train)" in lines
    table = weighted(surveyed())
    start = lines.index("read_table(open")
    end = lines.index(")", lines.index(")", start) + 1) + 1
    names = {"table": table}
    exec(lines.replace(lines[start:end], "table", 1), names)
    assert np.array_equal(names["answers"], model.predict(data.X[rows]))


def test_a_state_file_gives_the_weight_back():
    table = weighted(surveyed())
    plain = make_dataset(surveyed(), "surveyed", roles={"ill": "target"})
    again, _ = apply_record(plain, record_of(table))
    assert again.digest == table.digest and again.weight == "pweight"


def test_new_rows_are_weighted_by_the_column_of_their_file(kernels):
    token = table_store.keep(weighted(surveyed()))
    page = opened({"data": "mine", "mine": token, "method": "smp"}, "apply.py")
    new = surveyed(90).assign(a=lambda frame: frame["a"] + 1e-3)
    bring(page, new.to_csv(index=False), "new.csv")
    model, data = context_of(page).model(), context_of(page).data
    right = model.predict(data.preparation.transform(new)) == new["ill"]
    share = np.average(right, weights=new["pweight"])
    assert metrics(page)["Accuracy"] == f"{100 * share:.1f} %" != right.mean()
    n = new["pweight"].sum() ** 2 / (new["pweight"] ** 2).sum()
    ends = proportion_confint(share * n, n, method="wilson")
    shown = "{:.1f}–{:.1f} %".format(*(100 * end for end in ends))
    assert metrics(page)["95 % interval"] == shown
    assert "Shares are weighted by the file's column pweight" in said(page)
    assert "Not used" not in said(page) + " ".join(w.value for w in page.warning)
    page = opened({"data": "mine", "mine": token, "method": "smp"}, "apply.py")
    bring(page, new.drop(columns="pweight").to_csv(index=False), "new.csv")
    assert metrics(page)["Accuracy"] == f"{100 * right.mean():.1f} %"
    assert "Each row counts alike: the file has no weights in pweight" in said(page)


def test_a_command_takes_the_column(tmp_path, capsys):
    path, out = tmp_path / "surveyed.csv", tmp_path / "results.parquet"
    surveyed().to_csv(path, index=False)
    options = ["--data", str(path), "--target", "ill", "--weight", "pweight"]
    options += ["--methods", "smp", "--points", "2", "--folds", "2", "--jobs", "1"]
    assert main([*options, "--out", str(out)]) == 0
    assert "each row by itself, rows weighted by pweight." in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    ["explore.py", "compare.py", "performance.py", "prototypes.py", "tradeoff.py"],
)
@pytest.mark.parametrize("target", ["ill", "a", "kind"])
def test_every_page_works_with_weights(name, target, kernels):
    frame = surveyed().assign(kind=np.resize(list("uvw"), 240))
    dataset = weighted(frame, **{"ill": "feature", target: "target"})
    token = table_store.keep(dataset)
    page = opened({"data": "mine", "mine": token, "method": "supersparse"}, name)
    assert not page.error, said(page)
