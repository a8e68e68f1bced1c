"""Pages with a Parquet file of the operator that is too large to be read as a whole."""

import os
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from pages.data import all_rows
from pages.state.host import resolve
from pages.work import cache, fits, server_files
from pages.work.store import Store
from smpcore.datasets import MAX_ROWS, plain_number
from smpcore.evaluation import fit_all_rows
from smpcore.live import Choice
from tests.app import APP, metrics, said, session_of, sound

PAGES = Path(__file__).parents[1] / "pages"
N_ROWS = MAX_ROWS + 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of tables with a file of one row more than is read as a whole."""
    home, random = tmp_path_factory.mktemp("tables"), np.random.default_rng(0)
    y = random.integers(2, size=N_ROWS)
    numbers = {n: (random.normal(size=N_ROWS) + y).astype(np.float32) for n in "ab"}
    frame = pd.DataFrame(numbers).assign(label=y.astype(np.int8))
    frame.to_parquet(home / "large.parquet", row_group_size=100_000)
    return home


@pytest.fixture(autouse=True)
def chosen(folder, monkeypatch):
    monkeypatch.setenv("SPE_DATA", str(folder))
    monkeypatch.setattr(cache.computed, "uncompiled", set())
    monkeypatch.setattr(fits, "uncompiled", set())
    monkeypatch.setattr(server_files, "_fits", Store(4))


def opened(page=PAGES / "data.py"):
    app = AppTest.from_file(str(page), default_timeout=60)
    session_of(app).choice = Choice(data="file:large.parquet")
    return sound(app.run())


def test_every_page_says_that_the_data_are_a_sample():
    words = f"A sample of 20,000 of {N_ROWS:,} rows."
    app = AppTest.from_file(APP, default_timeout=60)
    session_of(app).choice = Choice(data="file:large.parquet")
    sound(app.run())
    assert words in said(app)  # Explore
    sound(app.switch_page("pages/data.py").run())
    assert words in said(app) and metrics(app)["Rows"] == "20,000"
    assert (
        f"A sample: 20,000 of {N_ROWS:,} rows, drawn by the classes of 'label' with "
        "shares as in all rows, from 11 of 11 row groups." in said(app)
    )
    session_of(app).choice = Choice()
    assert "A sample of" not in said(sound(app.run()))


def test_its_python_lines_read_the_same_sample(folder):
    from pages.export.python_lines import python_of_choice

    context = resolve(Choice(data="file:large.parquet"))
    lines = python_of_choice(context)
    assert "sample=True" in lines
    with (folder / "large.parquet").open("rb") as file:
        again = server_files.read_table(file, "large.parquet", sample=True)
    assert again.digest == context.table.digest


def test_all_rows_are_counted_in_the_background():
    page = opened()
    table = resolve(Choice(data="file:large.parquet")).table
    job = server_files.statistics("file:large.parquet", table)
    assert job.wait(60)
    page = sound(page.run())
    assert f"Of all {N_ROWS:,} rows of the file" in said(page)
    columns, classes = (table.value for table in page.dataframe[-2:])
    assert columns.set_index("column").loc["a", "count"] == N_ROWS
    assert classes["rows"].sum() == N_ROWS


def test_counting_stops_and_begins_again(folder):
    os.utime(folder / "large.parquet")  # a changed file is counted anew
    table = resolve(Choice(data="file:large.parquet")).table
    job = server_files.statistics("file:large.parquet", table)
    job.start("test session id")  # whom the page is for
    job.end()
    page = opened()
    assert "Stopped." in said(page)
    sound(page.button(key="Count over all rows again").click().run())
    assert job.wait(60) and job.result().n_rows == N_ROWS


def test_other_tables_have_no_such_tab():
    context = resolve(Choice())
    assert server_files.statistics(context.choice.data, context.table) is None


def test_the_method_on_the_screen_learns_from_all_rows():
    page = sound(opened().button(key="fit_all_rows").click().run())
    job = session_of(page).results[all_rows.FIT][1]
    assert job.wait(60)
    page = sound(page.run())
    fitted = job.result()
    scores = fitted.scores
    assert fitted.n_train + scores.rows == N_ROWS
    assert abs(scores.rows - 0.2 * (N_ROWS - 20_000)) < 1000
    right = metrics(page)
    share = 100 * scores.hits / scores.rows
    assert right["Accuracy on rows left out"] == f"{share:.1f} %"
    assert f"Learned from {fitted.n_train:,} rows" in said(page)
    share = 100 * fitted.estimator.gap_ / fitted.estimator.objective_
    gap = f"No model can have an objective more than {plain_number(share, 2)} % lower"
    assert gap in said(page)


def test_who_reloads_the_page_finds_the_fit_of_all_rows_and_goes_on(monkeypatch):
    go = threading.Event()

    def held(*given):
        return go.wait(60) and fit_all_rows(*given)

    monkeypatch.setattr(all_rows, "fit_all_rows", held)
    first = opened()
    session_of(first).choice = replace(session_of(first).choice, method="smallk")
    sound(sound(first.run()).button(key="fit_all_rows").click().run())
    again = opened()
    session_of(again).choice = session_of(first).choice
    page = sound(again.run())
    assert "fit_all_rows" not in [button.key for button in page.button]
    go.set()
    assert session_of(first).results[all_rows.FIT][1].wait(60)
    assert "Learned from" in said(sound(page.run()))


def test_numbers_are_learned_from_all_rows_too(folder):
    y, noise = np.random.default_rng(1).normal(size=(2, N_ROWS))
    frame = pd.DataFrame({"a": (2.0 * y + noise).astype(np.float32), "target": y})
    frame.to_parquet(folder / "numbers.parquet", row_group_size=100_000)
    page = AppTest.from_file(str(PAGES / "data.py"), default_timeout=60)
    few = {"data": "file:numbers.parquet", "values": {"n_prototypes": 2}}
    session_of(page).choice = Choice(method="supersparse", **few)
    page = sound(sound(page.run()).button(key="fit_all_rows").click().run())
    job = session_of(page).results[all_rows.FIT][1]
    assert job.wait(60)
    page = sound(page.run())
    shown = metrics(page)
    error = float(shown["Mean absolute error on rows left out"])
    assert error == pytest.approx(job.result().scores.mae, rel=1e-3)
    assert error < 0.6 * np.abs(y).mean()
    assert "95 % interval" in said(page)


def test_a_method_that_needs_rows_in_memory_says_so():
    app = AppTest.from_file(str(PAGES / "data.py"), default_timeout=60)
    session_of(app).choice = Choice(data="file:large.parquet", method="imkpl")
    page = sound(app.run())
    assert "learns from the sample only. Rows of a file are read in blocks by" in said(
        page
    )
    assert "fit_all_rows" not in [button.key for button in page.button]
