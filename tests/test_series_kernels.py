"""Alignment kernels of series on the pages: offered for series only, by channel."""

import numpy as np
import pytest

from pages.state.host import resolve
from pages.work import cache
from smpcore import METHODS, IMKPLClassifier
from smpcore.evaluation import fit_compared
from smpcore.live import BUNDLED, Choice
from tests.app import kernels
from tests.test_live import Browser

pytestmark = pytest.mark.usefixtures(kernels.__name__)
#: Values that only series have, by method.
OFFERED = [
    (key, param.name, value)
    for key, method in METHODS.items()
    for param in method.params
    for value in param.series_options
]
SMALL = {"data": "series", "data_values": {"n_samples": 40, "n_times": 12}}
FEW = {"kappa": 2.0, "n_prototypes": 2}


def options_of(header, name):
    (row,) = [row for row in header["controls"] if row["name"] == name]
    return [option["value"] for option in row["options"]]


@pytest.mark.parametrize(("key", "name", "value"), OFFERED)
def test_series_are_compared_channel_by_channel(key, name, value):
    browser = Browser(**SMALL, method=key, values=FEW)
    assert value in options_of(browser.last, name)
    header = browser.drag(release=True, **{name: value})
    bars = header["picture"]["bars"]
    assert bars["title"] == "Weights of the channels" and "c1" in bars["names"]
    context = resolve(browser.choice)
    X, y = context.data.of("train")
    direct = IMKPLClassifier(kernels="gak", n_channels=9, standardize=False, **FEW).fit(
        X, y
    )
    np.testing.assert_array_equal(
        context.model().scores(context.data.X), direct.model_.scores(context.data.X)
    )
    chosen = {**FEW, name: value}
    data = context.data
    fitted = fit_compared(key, data.dataset, data.split.with_censored, chosen)
    np.testing.assert_array_equal(fitted.answers(data.X), direct.predict(data.X))


@pytest.mark.parametrize(("key", "name", "value"), OFFERED)
def test_a_table_has_no_alignment(key, name, value):
    header = Browser(data="iris", method=key).last
    assert value not in options_of(header, name)
    asked = resolve(Choice(data="iris", method=key, values={name: value}))
    usual = resolve(Choice(data="iris", method=key))
    np.testing.assert_array_equal(
        asked.model().scores(asked.data.X), usual.model().scores(usual.data.X)
    )


def test_long_work_with_series_is_a_job():
    """Aligning takes as many times as long as there are times."""
    start = {param.name: param.start for param in BUNDLED["series"].params}
    for n_samples, slow in ((120, False), (400, True)):
        values = {**start, "n_samples": n_samples}
        for key, name, value in OFFERED:
            choice = Choice("series", values, method=key, values={name: value})
            context = resolve(choice)
            assert cache.computed.is_large(context.data, key, context.values) == slow
            usual = resolve(Choice("series", values, method=key))
            assert not cache.computed.is_large(usual.data, key, usual.values)
