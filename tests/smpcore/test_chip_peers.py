"""Measured models of other libraries: the saved table, its chart, what is level."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from smpcore import figures, list_datasets, load_dataset
from smpcore.chips import CHIPS, measured_names, measured_peers, points_of
from smpcore.chips.peers import PEERS, SCHEMA, TABLE
from smpcore.figures import MarkedModel
from smpcore.readouts import Estimate
from tests.bench.chip import at_equal_flash, entries
from tests.bench.chip_data import split_rows

BUNDLED = {info.key for info in list_datasets()} & {*measured_names()}
OWN = MarkedModel("your model", 300, Estimate(0.9, 0.8, 0.95))


def _lines() -> pd.DataFrame:
    """Two splits of two of ours and two peers, one of which does not fit."""
    models = {  # their accuracy, and the flash of both splits
        "ours, at most 128 B of flash": (0.8, (100, 120)),
        "ours, at most 256 B of flash": (0.8, (100, 120)),
        "ours, at most 512 B of flash": (0.9, (400, 500)),
        "emlearn tree": (0.8, (300, 600)),
        "m2cgen tree": (0.8, (600, np.nan)),
    }
    return pd.DataFrame(
        {
            "name": name,
            "split": split,
            "accuracy": right + split / 100,
            "flash": flash[split],
            "cycles": 2 * flash[split],
            "agrees": 1.0,
            "refused": None if flash[split] > 0 else "too large",
            "chosen": "SMP, int8" if name.startswith("ours") else None,
        }
        for name, (right, flash) in models.items()
        for split in (0, 1)
    )


def _points(lines: pd.DataFrame) -> pd.DataFrame:
    beside = at_equal_flash(lines, 75, 25)
    return pd.DataFrame(points_of(entries(lines, beside, 75, 25)))


@pytest.mark.parametrize("cost", ["flash", "cycles"])
def test_every_model_that_fits_is_drawn_with_its_own_mark(cost):
    points = _points(_lines())
    figure = figures.chip_peers(points, cost, ("x", "y"), OWN)
    drawn = {trace.name: trace for trace in figure.data}
    assert list(drawn) == ["ours", "emlearn", "m2cgen", "your model"]
    assert (points.low > 0).all() and (points.high < 1).all()
    for group, own in points.groupby("group"):
        np.testing.assert_array_equal(drawn[group].x, own[cost])
        bars = drawn[group].error_y
        np.testing.assert_allclose(drawn[group].y - bars.arrayminus, own.low)
        np.testing.assert_allclose(drawn[group].y + bars.array, own.high)
    marks = {(t.marker.color, t.marker.symbol) for t in figure.data}
    assert len(marks) == len({m[0] for m in marks}) == len({m[1] for m in marks}) == 4
    bars = drawn["your model"].error_y
    assert (*bars.array, *bars.arrayminus) == pytest.approx((0.05, 0.1))
    assert figure.layout.xaxis.type == "log"


def test_a_model_that_never_fits_is_not_drawn():
    lines = _lines()
    lines.loc[lines.name == "m2cgen tree", ["flash", "cycles"]] = np.nan
    figure = figures.chip_peers(_points(lines), "flash", ("x", "y"), None)
    assert [trace.name for trace in figure.data] == ["ours", "emlearn"]


def test_below_every_limit_the_measured_sizes_are_compared():
    lines = _lines()
    limits = "ours, at most 128 B of flash", "ours, at most 256 B of flash"
    lines = lines[~lines.name.isin(limits)]
    for least, ours in ((500, 512), (499, None)):
        lines.loc[lines.name == "emlearn tree", "flash"] = least, 600
        (line,) = at_equal_flash(lines, 75, 25).to_dict("records")
        assert line.get("ours within") == ours


@pytest.mark.parametrize("name", sorted(BUNDLED | {"iris", "wine"}))
def test_bundled_sets_are_found_by_their_content(name):
    entry = measured_peers(load_dataset(name).digest)
    assert entry["name"] == name in measured_names()
    assert {"ATmega328P"} <= {*entry["chips"]} <= {*CHIPS}
    assert measured_peers("0" * 32) is None


def test_the_saved_table_is_whole():
    whole = json.loads(TABLE.read_text("ascii"))
    assert whole["schema"] == SCHEMA
    for entry in whole["sets"].values():
        assert entry["training"] > 0 < entry["test"] and len(entry["date"]) == 10
        for models in entry["chips"].values():
            groups = {point["group"] for point in points_of(models)}
            assert groups >= {"ours", *PEERS}
            known = {model["model"]: model for model in models}
            for model in models:
                (mean, spread), (low, high) = model["accuracy"], model["interval"]
                assert 0 <= low < mean <= high <= 1 and 0 <= spread < 0.5
                assert model.get("agrees", 1.0) > 0.97
                assert 0 <= model["refused"] <= model["splits"]
                for cost in ("flash", "cycles"):
                    spans = model.get(cost, [])
                    assert spans == sorted(spans) and (spans or model["refused"])
                if "beside" in model:
                    _check_beside(model, known)


def _check_beside(model, known):
    """What is said of ours is the difference of both means, of no larger programs."""
    if not model["beside"]["points"]:
        ours = [one for name, one in known.items() if name.endswith("B of flash")]
        assert min(one["flash"][2] for one in ours) > model["flash"][0]
        return
    points, half = model["beside"]["points"]
    limit = float(re.sub("[^0-9]", "", model["beside"]["ours"]))
    ours = known.get(model["beside"]["ours"])
    size = ours["flash"][2] if ours else limit
    assert not model["refused"] and size <= model["flash"][0] and half >= 0
    if ours:
        assert size <= limit
        difference = 100 * (ours["accuracy"][0] - model["accuracy"][0])
        assert difference == pytest.approx(points, abs=0.01)


#: What a rival's name says -> the same family as scikit-learn has it.
FAMILIES = {
    "logistic": LogisticRegression(max_iter=5000),
    "SVC": SVC(),
    "forest": RandomForestClassifier(10, random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
    "MLP": MLPClassifier((10,), max_iter=3000, random_state=0),
}


@pytest.mark.parametrize("name", sorted(BUNDLED - {"digits"}))
def test_a_rival_is_as_accurate_as_scikit_learn_makes_its_family(name):
    """On the same splits; what was fitted carelessly would be far below."""
    dataset, right = load_dataset(name), {family: [] for family in FAMILIES}
    for seed in range(3):
        rows = split_rows(dataset, seed)
        for family, model in FAMILIES.items():
            made = make_pipeline(StandardScaler(), model)
            made.fit(rows.X[rows.train], rows.y[rows.train])
            right[family].append(made.score(rows.X[rows.test], rows.y[rows.test]))
    chips = measured_peers(dataset.digest)["chips"].values()
    rivals = [one for models in chips for one in models if not one["ours"]]
    assert len(rivals) > 10 * len(chips)
    for one in rivals:
        family = next(word for word in FAMILIES if word in one["model"])
        assert one["accuracy"][0] >= np.mean(right[family]) - 0.05, one["model"]
        assert one["accuracy"][1] < 0.08, one["model"]
