"""Exported probabilities: near the calibration, and the same bits everywhere."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from smpcore import export
from smpcore.codegen import sample
from smpcore.codegen.probability import (
    MOST_SEGMENTS,
    ONE,
    ProbabilityTable,
    probability_table,
)
from smpcore.errors import ExportError
from smpcore.evaluation import calibrate
from smpcore.model import Calibration
from tests.smpcore.codegen.models import SOFTMAX, coded_model, groups, one_value
from tests.smpcore.codegen.toolchain import contents


def _learned(n, calibrator):
    """A calibration of n rows: isotonic where some labels are drawn by lot."""
    random = np.random.default_rng(0)
    y = (random.random(n) < 0.3).astype(int)
    lead = random.normal(size=n) + 1.5 * y
    if calibrator == "isotonic regression":
        y = np.where(random.random(n) < 0.3, random.integers(2, size=n), y)
    scores = np.column_stack([-lead, lead]) / 2
    learned = calibrate(scores, y, np.array([0, 1]))
    assert learned.calibrator == calibrator
    return learned


_SIGMOID = _learned(300, "intercept and slope")
_ISOTONIC = _learned(8000, "isotonic regression")
_POINT = np.array([[0.0], [0.8]]), np.array([[0.0], [0.4]])
CALIBRATIONS = {
    "sigmoid": _SIGMOID,
    "isotonic": _ISOTONIC,
    "threshold moved": _SIGMOID.after_shift(1, 2.5),
    "isotonic, threshold moved": _ISOTONIC.after_shift(0, 40.0),
    "as they are": Calibration(9, offsets=np.zeros(2)),
    "steep": Calibration(9, 1e6, np.array([0.0, 3.0])),
    "hardly any slope": Calibration(9, 1e-12, np.array([0.0, -3.0])),
    "no slope": Calibration(9, 0.0, np.array([0.0, -1.0])),
    "one point": Calibration(9, 1.0, np.zeros(2), _POINT),
}

#: What the table is made of, of a model: in floats, and with sums of few and many bits.
FORMATS = {
    "floats": SimpleNamespace(is_integer=False, step=1.0),
    "16 bits": SimpleNamespace(is_integer=True, step=1e-3, largest=32767),
    "32 bits": SimpleNamespace(is_integer=True, step=1e-8, largest=2**31 - 1),
    "few steps": SimpleNamespace(is_integer=True, step=0.5, largest=40),
}


def _leads(model, calibration):
    """Leads all over where the probability changes, and as far as there are any."""
    random, slope = np.random.default_rng(0), max(calibration.slope, 1e-30)
    near = np.append(np.linspace(-30, 30, 30001), 30 * random.normal(size=999))
    near = (np.subtract(*calibration.offsets) + near) / slope
    far = np.geomspace(1e-30, 1e30, 500)
    leads = np.concatenate([near, far, -far, [0.0]])
    if not model.is_integer:
        return np.sort(leads.clip(-3e38, 3e38).astype(np.float32))
    most = 2 * model.largest
    return np.unique(np.clip(np.rint(leads / model.step), -most, most).astype(np.int64))


@pytest.mark.parametrize("number", FORMATS)
@pytest.mark.parametrize("name", CALIBRATIONS)
def test_a_table_rises_and_is_as_near_as_it_says(name, number):
    model, calibration = FORMATS[number], CALIBRATIONS[name]
    table = probability_table(model, calibration)
    assert 1 <= len(table.begin) <= MOST_SEGMENTS
    leads = _leads(model, calibration)
    found = table.at(table.places(leads))
    assert (np.diff(found) >= 0).all() and 1 <= found[0] and found[-1] < ONE
    scores = np.column_stack([np.zeros(len(leads)), leads * model.step])
    real = calibration.probabilities(scores)[:, 1]
    assert np.abs(found / ONE - real).max() <= table.error
    assert table.error < (0.06 if "isotonic" in name else 0.005)


def test_scores_that_are_no_numbers():
    table = probability_table(FORMATS["floats"], CALIBRATIONS["sigmoid"])
    lowest = -np.finfo(np.float32).max
    scores = [[0, 0], [np.inf, np.inf], [lowest, lowest], [0, np.nan]]
    scores += [[np.inf, 0], [0, lowest], [-lowest, lowest]]
    scores += [[0, np.inf], [lowest, 0], [lowest, -lowest]]
    found = table.of_scores(np.float32(scores))
    at_0, low, high = np.split(found, [4, 7])
    assert set(at_0) == {table.at(table.places(np.float32([0])))[0]}
    assert low.max() < 0.002 * ONE and high.min() > 0.998 * ONE


@pytest.mark.parametrize("number", ["float32", "int8"])
def test_only_a_calibrated_model_has_probabilities(random_model, number):
    model = random_model(5, 2, 2)
    with_table = replace(model, calibration=CALIBRATIONS["sigmoid"])
    both = [export(one, None, "c99", number, "mdl") for one in (model, with_table)]
    plain, found = map(contents, both)
    assert b"_probability" not in b"".join(plain.values())
    assert b"probability(" in found["mdl.h"]
    readme = found["README.md"].decode()
    assert "## Probability" in readme and "at most 0.00" in readme
    required = {*json.loads(found["mdl.schema.json"])["required"]}
    assert {*json.loads(found["mdl.json"])} == required | {"name", "id"}
    ids = [json.loads(files["mdl.json"])["id"] for files in (plain, found)]
    assert ids[0] == ids[1]
    given = (None, "verilog", "int8", "mdl")
    assert export(model, *given) == export(with_table, *given)


def test_a_calibrated_code_has_probabilities():
    model = replace(coded_model(n_classes=2), calibration=CALIBRATIONS["sigmoid"])
    assert b"probability(" in contents(export(model, name="mdl"))["mdl.h"]


def test_shares_of_more_classes_are_as_near_as_is_said():
    """To the softmax in float64, on 10,000 rows of each structure."""
    calibrated = groups()["calibrated"].items()
    for model in (model for name, model in calibrated if "softmax" in name):
        rows = sample(model.source, 10_000).astype(np.float32)
        scores = model.scores(model.to_inputs(rows))
        shares = model.probability.of_scores(scores) / ONE
        real = SOFTMAX.probabilities(scores.astype(np.float64) * model.step)
        off, room = np.abs(shares - real).max(), 1e-5 * (not model.is_integer)
        assert off <= model.probability.error + room and off < 0.005
        assert np.abs(shares.sum(axis=1) - 1).max() < model.n_outputs / ONE
        assert np.ptp(real.argmax(axis=1)) and real.max() > 0.9


def test_a_softmax_that_is_no_table_is_left_out(random_model):
    model = random_model(5, 3, 2)
    curve = np.array([[-1.0, 1.0], [0.1, 0.9]])
    for slope, curves in ((1.0, (curve,) * 3), (0.0, ())):
        none = replace(model, calibration=Calibration(9, slope, np.zeros(3), curves))
        found = export(none, None, "c99", "int8", "mdl")
        assert found == export(model, None, "c99", "int8", "mdl")


@pytest.mark.parametrize("number", ["float32", "int16"])
@pytest.mark.parametrize("target", ["c99", "python", "javascript", "rust"])
def test_an_interval_is_a_constant(random_model, target, number):
    widths = np.append(np.linspace(0.1, 3.0, 95), [np.inf] * 4)
    model, texts = one_value(random_model, 6), []
    for half_widths in (widths, widths * np.inf):
        one = replace(model, calibration=Calibration(500, half_widths=half_widths))
        texts.append(contents(export(one, None, target, number, "mdl")))
    found, few = texts
    assert b"HALF_WIDTH_90" not in b"".join(few.values())
    told = (".md", ".d.mts")  # about the code
    code = b"\n".join(t for name, t in found.items() if not name.endswith(told))
    line = next(x for x in code.decode().splitlines() if "HALF_WIDTH_90" in x)
    value = float(line.split()[-1].rstrip("fL;"))
    if number == "int16" and target == "c99":
        value *= json.loads(found["mdl.json"])["step"]
    assert widths[89] <= value < widths[89] * 1.001
    assert "## Interval" in found["README.md"].decode()
    # A width that differs from row to row is not the constant of the code.
    spread = np.array([[0.0, 1.0], [0.5, 2.0], [0.5, 2.0]])
    learned = Calibration(500, half_widths=widths, spread=spread)
    scaled = replace(model, calibration=learned)
    assert contents(export(scaled, None, target, number, "mdl")) == few


@pytest.mark.parametrize(
    "wrong",
    [
        {"begin": [1], "value": [1], "slope": [0]},
        {"begin": [0, 5], "value": [9, 8], "slope": [0, 0]},
        {"begin": [0, 5], "value": [9, 10], "slope": [1 << 15, 0]},
        {"begin": [0], "value": [0], "slope": [0]},
        {"begin": [0], "value": [1], "slope": [1 << 25]},
        {"begin": [], "value": [], "slope": []},
        {"begin": range(17), "value": range(1, 18), "slope": [0] * 17},
    ],
)
def test_a_table_that_could_fall_or_overflow_is_refused(wrong):
    ProbabilityTable(below=9, above=9, begin=[0], value=[1], slope=[1 << 15])
    with pytest.raises(ExportError, match="never fall"):
        ProbabilityTable(below=500, above=500, **wrong)
