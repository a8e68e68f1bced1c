"""Every number of Prototypes > Score against an independent value."""

import re

import numpy as np
import pytest
import statsmodels.api as sm
from sklearn.metrics import log_loss, roc_auc_score

from pages.prototypes.score import _TASK
from tests.app import kernels, session_of, sound
from tests.shown import oracle
from tests.shown.test_prototypes import section

pytestmark = pytest.mark.usefixtures(kernels.__name__)


def total_of(frame, lines):
    """Points of raw rows, by what the table of the lines says."""
    total = np.zeros(len(frame))
    for _, line in lines.iterrows():
        raw, words = frame[line["column"]], line["value"].removesuffix(" *")
        sign, _, cut = words.partition(" ")
        if sign in ("≥", "<"):
            holds = raw >= float(cut) if sign == "≥" else raw < float(cut)
        elif sign == "not":
            holds = raw != cut
        else:
            holds = raw == words
        starred = line["value"].endswith("*")
        total += line["points"] * np.where(raw.isna(), starred, holds)
    return total


@pytest.mark.parametrize("data", ["clinic", "breast_cancer"])
def test_points_loss_and_quality_are_those_of_the_raw_table(data, monkeypatch):
    monkeypatch.setattr("pages.prototypes.score._PARTS", 3)
    fit = oracle.fit("smp", data)
    app = section(fit, "Score")
    sound(app.button(key="find_score").click().run())
    session_of(app).results[_TASK][1].wait(200)
    app = sound(app.run())
    best = session_of(app).results[_TASK][1].result()
    *pool, lines, risks = (one.value for one in app.dataframe)
    caption = " ".join(text.value.replace("\\", "") for text in app.caption)
    body = " ".join(text.value.replace("\\", "") for text in app.markdown)
    label = best.classes[best.outcome]
    train = fit.parts["train"]
    total, y = total_of(fit.table.frame.iloc[train], lines), fit.y[train] == label
    # Rows and outcomes of each total.
    for _, row in risks.iterrows():
        at = total == row["total"]
        assert float(row["training rows"]) == at.sum()
        assert float(row[f"of them {label}"]) == (at & y).sum()
    # The loss is that of a logistic regression on the total, its multiplier allowed.
    model = sm.Logit(y.astype(float), sm.add_constant(total)).fit(disp=0)
    loss = float(re.search(r"training rows (\d\.\d+)", caption)[1])
    if model.params[1] <= 5 / lines["points"].max():
        assert loss == pytest.approx(-model.llf / len(y), abs=5.1e-5)
    else:
        assert loss >= -model.llf / len(y) - 5.1e-5
    bound, gap = re.search(r"is below (\d\.\d+) \(gap ([\d.]+) %\)", caption).groups()
    assert float(bound) <= loss + 1e-4
    assert float(gap) == pytest.approx(100 * (1 - float(bound) / loss), abs=0.2)
    # The risk of each total is the line that is written below the table.
    line = re.search(r"slope ([\d.]+), offset (−?-?[\d.]+)", body)
    assert line or "those of the score as it is" in body
    slope, offset = line.groups() if line else (1, 0)
    z = float(offset) + float(slope) * (best.intercept + best.scale * risks["total"])
    for shown, value in zip(
        risks[f"risk of {label}"], 1 / (1 + np.exp(-z)), strict=True
    ):
        if shown not in ("below 1 %", "above 99 %"):
            assert float(shown.removesuffix(" %")) == pytest.approx(
                100 * value, abs=1.6
            )
    # Quality on validation rows.
    rows = fit.parts["validation"]
    truth = fit.y[rows] == label
    risk = best.risk(total_of(fit.table.frame.iloc[rows], lines))
    right = 100 * ((risk >= 0.5) == truth).mean()
    words = (
        f"Validation: accuracy {right:.1f} %, AUC {roc_auc_score(truth, risk):.3f}, "
        f"log-loss {log_loss(truth, risk):.3f} ({len(rows)} rows)"
    )
    assert words in body
    if pool:
        losses = np.array([one.loss for one in best.pool])
        above = 100 * (losses / losses.min() - 1)
        shown = pool[0]["loss above the best, %"]
        np.testing.assert_allclose(shown, above[: len(shown)], atol=1e-9)
