"""Links, files and lessons with entries that nobody expects are answered in words."""

import pytest

from tests.app import kernels
from tests.attack import fuzz

pytestmark = pytest.mark.usefixtures(kernels.__name__)
#: Kind -> how many are drawn; ``python -m tests.attack`` goes on for minutes.
N = {"links": 30, "state files": 200, "lesson files": 400, "tables": 400}


@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_what_nobody_expects_is_taken_or_refused_in_words(kind):
    came = fuzz.Round()
    for seed in range(N[kind]):
        fuzz.attack(kind, seed, came)
    assert came.raw == {}
    assert came.taken and (came.refused or kind == "links")


def test_an_answer_that_is_not_in_words_is_noticed(monkeypatch):
    came = fuzz.Round()
    for answer in ("", "Internal error; see the server log.", "<class 'int'>"):
        monkeypatch.setitem(fuzz.KINDS, "tables", lambda _, a=answer: fuzz.judged(a))
        fuzz.attack("tables", len(came.raw), came)
    monkeypatch.setitem(fuzz.KINDS, "tables", lambda draw: 1 / 0)
    fuzz.attack("tables", 3, came)
    assert [*came.raw] == [0, 1, 2, 3] and not came.refused and not came.taken
