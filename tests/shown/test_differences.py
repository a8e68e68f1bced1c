"""Compare's picture of paired differences against statsmodels' and SciPy's values."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from pages.compare import candidates, differences
from pages.state.host import resolve
from pages.work import studies
from pages.work.studies import Entry
from smpcore.live import Choice
from tests.app import kernels
from tests.shown import oracle

pytestmark = pytest.mark.usefixtures(kernels.__name__)
RIVALS = ("knn", "forest", "tree", "l1_logistic")


def of_data(name):
    """A comparison's context, who takes part, and their losses by the fitted models."""
    context = resolve(Choice(data=name, method="smp"))
    entries = [Entry("smp"), *map(Entry, RIVALS)]
    jobs = {entry: studies.candidate(context.data, entry, False) for entry in entries}
    X, y = context.data.of("validation")
    losses = {}
    for entry, job in jobs.items():
        job.result()
        answers = job.candidate.estimator.predict(X)
        losses[entry.title] = (np.asarray(answers) != y).astype(float)
    return context, candidates.scored(jobs, context, "validation"), losses


def interval(gain, level):
    """Clopper and Pearson's of the discordant rows, widened to Agresti and Min's."""
    n, better, worse = len(gain), (gain > 0).sum(), (gain < 0).sum()
    both = better + worse
    middle = (better - worse) / (n + 2)
    variance = ((both + 1) / (n + 2) - middle**2) / (n + 2)
    half = stats.norm.ppf(1 - level / 2) * variance**0.5
    low, high = middle - half, middle + half
    if both:
        share = np.array(proportion_confint(better, both, level, method="beta"))
        exact = (2 * share - 1) * both / n
        low, high = (
            exact[0] if low <= 0 < exact[0] else min(low, exact[0]),
            exact[1] if exact[1] < 0 <= high else max(high, exact[1]),
        )
    return low, high


@pytest.mark.parametrize("name", ["moons", "breast_cancer"])
def test_the_forest_of_compare(name):
    context, scored, losses = of_data(name)
    a = next(one for one in scored if one.entry == Entry("smp"))
    lines = differences.against(a, scored, context.data)
    figure = differences.forest(lines, context.data, "the model on the screen")
    gains = {
        k: losses[a.entry.title] - loss
        for k, loss in losses.items()
        if k != a.entry.title
    }
    counts = {k: ((g > 0).sum(), (g < 0).sum()) for k, g in gains.items()}
    p_values = [
        stats.binomtest(b, b + w).pvalue if b + w else 1.0 for b, w in counts.values()
    ]
    rejected, corrected = multipletests(p_values, 0.05, "holm")[:2]
    # The level of the step of Holm at which each is decided.
    steps = 0.05 / np.arange(len(p_values), 0, -1)
    order, levels = np.argsort(p_values, kind="stable"), np.empty(len(p_values))
    levels[order] = steps
    if not rejected.all():
        levels[~rejected] = steps[rejected.sum()]
    drawn = {}
    for trace in figure.data:
        bars = trace.error_x.array, trace.error_x.arrayminus
        for name_, x, up, down in zip(trace.text, trace.x, *bars, strict=True):
            drawn[name_] = trace.name, x, x - down, x + up
    assert {*drawn} == {*gains}
    for (title, gain), level, p, is_clear in zip(
        gains.items(), levels, corrected, rejected, strict=True
    ):
        kind, *numbers = drawn[title]
        expected = 100 * np.array([gain.mean(), *interval(gain, level)])
        np.testing.assert_allclose(numbers, expected, atol=1e-9)
        clear = "better" if gain.mean() > 0 else "worse"
        assert kind == (clear if is_clear else "no clear difference")
        (line,) = lines[lines["group"] == title].itertuples()
        assert line.p_value == pytest.approx(p)
    # Sorted, and each line says so.
    assert lines["value"].is_monotonic_decreasing
    assert figure.layout.shapes[0].x0 == 0
    assert figure.layout.annotations[0].text == "the model on the screen"
    best = max(gains.values(), key=np.sum)
    text = differences.in_words(lines, context.data, "A")
    names = [k for k, gain in gains.items() if gain.sum() == best.sum()]
    assert all(k in text for k in names[:3])
    if best.sum():
        more = "more" if best.sum() > 0 else "fewer"
        noun = "row" if abs(best.sum()) == 1 else "rows"
        head = text[text.index("right on") :].split(";")[0]
        oracle.says(head, f"right on # {noun} {more} than A", abs(best.sum()))
    low, high = next(drawn[k][2:] for k in names)
    assert ("include" in text.split(".")[0]) == (low <= 0 <= high)
