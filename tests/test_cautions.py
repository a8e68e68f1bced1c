"""What a method warns of reaches those who asked, and nobody else at the same time."""

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from pages.state.host import resolve
from pages.work import cache
from smpcore import METHODS, SMaLLClassifier
from smpcore.errors import Caution, cautions
from smpcore.live import Choice

X, Y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]


def test_a_user_of_the_library_is_warned_at_his_line():
    with pytest.warns(Caution, match="k=3 is more than the 1 features") as caught:
        SMaLLClassifier(k=3).fit(X, Y)
    assert issubclass(Caution, UserWarning)
    assert {warning.filename for warning in caught} == {__file__}


def test_inner_cautions_stay_inside_and_end_with_an_error():
    with cautions() as outer:
        with cautions() as inner:
            SMaLLClassifier(k=3).fit(X, Y)
        SMaLLClassifier(k=2).fit(X, Y)
    assert [words[:3] for words in inner + outer] == ["k=3", "k=2"]
    with pytest.raises(ZeroDivisionError), cautions():
        raise ZeroDivisionError
    with pytest.warns(Caution):
        SMaLLClassifier(k=3).fit(X, Y)


def test_visitors_who_fit_at_the_same_time_hear_their_own(monkeypatch):
    """All three are inside their fits at once: two visitors, and a fit of nobody's."""
    method, inside = next(iter(METHODS)), threading.Barrier(3, timeout=60)
    estimator = METHODS[method].estimators["classification"]
    whole = estimator.problem

    def together(self, *rows):
        if self.n_prototypes not in (70, 80, 90):  # a job that another test has left
            return whole(self, *rows)
        inside.wait()
        found = whole(self, *rows)
        inside.wait()
        return found

    monkeypatch.setattr(estimator, "problem", together)
    data = resolve(Choice(data="iris")).data

    def visit(n_prototypes):
        return cache.computed.cautions(data, method, {"n_prototypes": n_prototypes})

    def nobody():
        estimator(n_prototypes=90).problem(*data.named("train"))

    with warnings.catch_warnings(record=True) as caught, ThreadPoolExecutor(3) as pool:
        warnings.simplefilter("always")
        before = list(warnings.filters)
        alone = pool.submit(nobody)
        heard = [
            visits.result() for visits in [pool.submit(visit, n) for n in (70, 80)]
        ]
        alone.result()
        assert warnings.filters == before
    assert [[words[:15] for words in own] for own in heard] == [
        ["n_prototypes=70"],
        ["n_prototypes=80"],
    ]
    assert [str(warning.message)[:15] for warning in caught] == ["n_prototypes=90"]
