"""The code of a row on Prototypes, step by step."""

import numpy as np
import pandas as pd
import pytest

from pages.state import table_store
from pages.state.choice import MINE
from pages.state.context import resolve
from smpcore.datasets import make_dataset, plain_number
from smpcore.explain import code_states
from tests.app import kernels, session_of, sound
from tests.test_prototypes_page import at, words

pytestmark = pytest.mark.usefixtures(kernels.__name__)


def steps_of(page):
    """The states that the page should show, of the first training row."""
    context = resolve(session_of(page).choice)
    row = np.sort(context.data.split.train)[0]
    return context, code_states(context.model(), context.data.X[row])


def step_table(page):
    return next(t.value for t in page.dataframe if "enters" in t.value)


def case_table(page):
    return next(t.value for t in page.dataframe if "in prototypes" in t.value)


@pytest.mark.parametrize("data", ["wine", "digits", "series"])
def test_each_step_of_a_code_is_shown(data):
    page = at("Why this prediction", {"data": data, "method": "imkpl"})
    context, states = steps_of(page)
    table = step_table(page)
    assert list(table["step"]) == list(range(len(states)))
    errors = [100 * state.error for state in states]
    np.testing.assert_array_equal(table["reconstruction error %"], errors)
    shown = [context.model().classes[state.winner] for state in states]
    assert list(table["prediction"]) == [str(label) for label in shown]
    (slider,) = (one for one in page.slider if one.label == "Step")
    assert slider.value == len(states) - 1 > 0
    mixed = context.model().mixing @ states[-1].weights
    shares = 100 * np.sort(mixed)[::-1] / mixed.sum()
    cases = case_table(page)
    np.testing.assert_allclose(cases["weight %"], shares[: len(cases)])
    sound(slider.set_value(1).run())
    state = states[1]
    assert f"Prototype {state.entered + 1} " in words(page)
    assert f"weight {plain_number(state.weights[state.entered], 3)}" in words(page)
    assert f"**{plain_number(100 * state.error, 3)}" in words(page)
    only = {str(state.entered + 1)}
    assert set(case_table(page)["in prototypes"]) == only
    sound(next(one for one in page.slider if one.label == "Step").set_value(0).run())
    assert "the code is still empty" in words(page)


def test_only_a_model_with_a_code_has_one():
    page = at("Why this prediction", {"data": "wine", "method": "smp"})
    assert "step by step" not in words(page)


@pytest.mark.parametrize("section", ["Why this prediction", "One by one"])
def test_columns_may_be_named_as_the_tables_own(section):
    rng = np.random.default_rng(0)
    names = ["class", "similarity", "weight %"]
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=names)
    frame["target"] = np.where(frame["class"] > 0, "a", "b")
    roles = {**dict.fromkeys(names, "feature"), "target": "target"}
    task = {"task": "classification", "private": True}
    dataset = make_dataset(frame, name="Mine", roles=roles, **task)
    token = table_store.keep(dataset)
    query = {"data": MINE, "mine": token, "method": "imkpl"}
    at(section, query)
    table_store.delete(token)
