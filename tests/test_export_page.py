"""The export page without a browser: formats, ranges, boards, files."""

import io
import json
import re
import zipfile
from functools import partial

import numpy as np
import pandas as pd
import pytest

from pages.export import boards, formats, ranges, settings, usage
from pages.export.settings import TARGETS
from pages.state import table_store
from pages.state.choice import Choice
from pages.state.context import resolve
from pages.ui import exports
from pages.ui.text import escape_markdown
from smpcore import METHODS, Dataset, quantise
from smpcore.chips import available, estimate_costs, needs_conversion
from smpcore.codegen import EMITTERS, PACKERS, QuantModel, SensorRange, bundle
from smpcore.evaluation import NUMBER_FORMATS
from tests.app import kernels, opened, said, session_of, sound, until
from tests.smpcore.codegen.integers.mixed_tables import mixed_columns

pytestmark = pytest.mark.usefixtures(kernels.__name__)


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """On a busy machine the comparison would otherwise go on behind a progress bar."""
    monkeypatch.setattr(settings, "QUICK_SECONDS", 60.0)


def _page(number_format="float32", data="iris", target="c99", **more):
    asked = {"p.export_format": number_format, "p.export_target": target}
    return opened({"data": data, **asked, **more}, "export.py")


def _table(page):
    return page.dataframe[0].value.T


def _made(number_format, ranges=None, **choice):
    made = exports.export(resolve(Choice(**choice)))
    work = partial(formats.forms, made, ranges or {})
    found = work(np.zeros(1, np.int64), np.zeros(1))
    return made, found[number_format]


@pytest.mark.parametrize("number_format", NUMBER_FORMATS)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_exported_or_refused_calmly_in_every_format(
    method, number_format
):
    page = _page(number_format, method=method)
    table = _table(page)
    assert list(table.index)[1:4] == list(NUMBER_FORMATS)
    assert table.index[0].startswith("float64")
    assert table.index[-1] == "majority-class baseline"
    assert table["Training: right"]["float32"].endswith(" of 90)")
    refused = table["Training: right"][number_format] == "not possible"
    told = " ".join(info.value for info in page.info)
    assert ("32\\-bit floats" in told and "float32 is shown" in told) == refused
    assert not page.error
    assert "`make`" in " ".join(line.value for line in page.markdown)
    shown = [block.value for block in page.get("code")]
    assert any("#define MDL_N" in code for code in shown)
    assert any("int8_t x[MDL_N]" in code for code in shown) == (
        number_format == "int8" and not refused
    )


def test_linear_integers_are_possible_and_agree():
    table = _table(_page("int8", data="breast_cancer", method="smallk", target="avr"))
    assert table["differ from float64"]["int16"] == "0 of 455"
    assert table["rows saturated"]["int8"].endswith(" of 455")
    proved = [float(table["proved equal"][f].split()[0]) for f in NUMBER_FORMATS]
    assert proved[0] >= proved[1] >= proved[2] > 50
    cycles = table["cycles, whole numbers"].str.replace(",", "")
    assert int(cycles["int8"]) < int(cycles["int16"]) < int(cycles["float32"])
    assert "Test: right" not in table


def test_a_regression_speaks_of_errors_and_differences():
    table = _table(_page("int16", data="diabetes"))
    found = table["largest difference"][list(NUMBER_FORMATS)].astype(float)
    proved = table["proved bound"][list(NUMBER_FORMATS)].astype(float)
    assert (found > 0).all() and (found <= proved).all()
    error = table["Validation: mean error"].astype(float)
    assert error["training-median baseline"] > error["int16"]
    assert not any("right" in name for name in table)


def test_rows_that_differ_are_listed():
    made, form = _made("int8", data="digits", method="smp")
    listed = formats.differing(made, form)
    count = sum(len(part.differ) for part in form.parts.values())
    assert len(listed) == count > 0
    for line in listed:
        assert line["float64"] != line["int8"]
        assert str(made.data.y[line["row"]]) == line["truth"]
    page = _page("int8", data="digits", method="smp")
    assert any("predictions differ" in block.label for block in page.expander)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"low": 5.0, "high": 5.0}, "low end should be below its high end"),
        ({"low": 9.0, "high": 1.0}, "low end should be below its high end"),
        ({"low": None}, "both ends should be numbers"),
        ({"high": float("nan")}, "both ends should be numbers"),
    ],
)
def test_a_range_that_is_none_is_told_and_left_out(changes, told):
    made, _ = _made("int8", data="iris", method="smallk")
    start = ranges._start(quantise(made.compiled, 16))
    edited = start.astype({"low": object, "high": object})
    for name, value in changes.items():
        edited.loc[0, name] = value
    found, problems = ranges._changed(made, start, edited)
    assert found == {}
    assert told in problems[0] and repr(start["column"][0]) in problems[0]


def test_ranges_come_back_and_reach_the_files():
    page = _page("int16", data="iris", method="smallk")
    key, frame = session_of(page).results["export_ranges.edited"]
    edited = frame.copy()
    edited.loc[0, ["low", "high", "whole numbers", "unit"]] = [0, 1023, True, "*mV*"]
    edited.loc[1, "low"] = 99.0
    page.switch_page("pages/explore.py").run()
    session_of(page).results["export_ranges.edited"] = key, edited
    page.switch_page("pages/export.py").run()
    assert "low end should be below" in said(sound(page))
    shown = " ".join(block.value for block in page.get("code"))
    assert "/* value * 32, 0 to 1023 */" in shown
    kept = session_of(page).results["export_ranges.edited"][1]
    assert kept["unit"][0] == "*mV*"


def test_settings_stay_over_pages_and_links():
    page = _page("int8", target="m4f", **{"p.export_prefix": "abc"})
    page.switch_page("pages/explore.py").run()
    page.switch_page("pages/export.py").run()
    assert sound(page).text_input(key="export_prefix").value == "abc"
    assert page.selectbox(key="export_target").value == "m4f"
    assert page.query_params["p.export_format"] == "int8"
    assert "make cortex-m4f" in " ".join(line.value for line in page.markdown)
    odd = {"p.export_format": "int4", "p.export_target": "x"}
    page = opened({"data": "iris"} | odd, "export.py")
    assert page.selectbox(key="export_target").value == "c99"


@pytest.mark.parametrize("prefix", ["int", "", "1a", "a b", "*/", "<b>", "ä", "a" * 40])
def test_a_prefix_that_is_none_is_told(prefix):
    for target in ("c99", "arduino"):
        page = _page("int8", target=target)
        page.text_input(key="export_prefix").set_value(prefix).run()
        (problem,) = sound(page).error
        assert "lower\\-case letter" in problem.value
        assert not page.get("download_button")


def test_every_target_has_files_and_a_zip():
    assert set(PACKERS) == set(EMITTERS) == {t.files for t in TARGETS.values()}


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_is_explained_in_three_lines(target):
    lines = [m.value for m in _page("int16", target=target).markdown]
    (told,) = [line for line in lines if line.startswith("1. ")]
    assert len(told.splitlines()) == 3 and "mdl_predict" in told


@pytest.mark.parametrize("number_format", NUMBER_FORMATS)
def test_an_arduino_library_is_a_target(number_format):
    page = _page(number_format, target="arduino", method="smallk")
    shown = [block.value for block in page.get("code")]
    assert any(code.startswith("name=model_mdl") for code in shown)
    assert any("void setup()" in code for code in shown)
    assert "Add .ZIP Library" in " ".join(line.value for line in page.markdown)
    assert "Flash, ATmega328P" in [metric.label for metric in page.metric]
    made, form = _made(number_format, data="iris", method="smallk")
    model = formats.as_exported(form, made)
    packed = PACKERS[TARGETS["arduino"].files](model, made.vectors(model, False), "ab")
    files = zipfile.ZipFile(io.BytesIO(packed))
    readme = files.read("model_ab/README.md").decode()
    assert f"Of this very code ({number_format})" in readme
    assert "model_ab/examples/Ask/Ask.ino" in files.namelist()


def test_a_board_that_is_too_small_is_marked_and_its_name_is_data():
    small = boards._START.copy()
    small.loc[0, ["board", "flash, kB"]] = ["<img src=x> **b**", 0.01]
    small.loc[1, "MHz"] = None
    page = opened({"data": "iris"}, "explore.py")
    session_of(page).results["export_boards.edited"] = "", small
    page.switch_page("pages/export.py").run()
    (warning,) = [w.value for w in sound(page).warning]
    assert "\\<img src\\=x\\> \\*\\*b\\*\\*".replace("\\=", "=") in warning
    assert "still be exported" in warning
    assert "left out: 1" in said(page)
    table = page.dataframe[1].value.set_index("board")
    assert table["fits"].tolist() == ["no: too little flash", "yes"]
    assert page.get("download_button")


def test_costs_are_measured_on_a_button():
    if not available():
        pytest.skip("no compiler or simulator of a chip is installed")
    page = _page("int8", data="breast_cancer", method="smallk", target="avr")
    assert "Estimated from a table" in said(page)
    until(page.button(key="measure_costs").click().run(), _is_measured)
    metrics = {metric.label: metric.value for metric in page.metric}
    form = _made("int8", data="breast_cancer", method="smallk")[1]
    guess = estimate_costs(form.model)["ATmega328P"]
    count = int(metrics["Cycles per prediction"].replace(",", ""))
    assert 0.5 < count / guess.linked.count < 2
    alone = int(re.search(r"of flash, ([\d,]+) cycles", said(page))[1])
    assert 0.5 < alone / guess.alone.count < 2


def _bytes(cell):
    return int(cell.replace(",", "").removesuffix(" B"))


def test_integers_from_floats_cost_their_conversion():
    page = _page("int8", data="breast_cancer", method="smallk", k="2", target="c99")
    table = _table(page).loc[list(NUMBER_FORMATS)]
    alone = table["flash, whole numbers"].map(_bytes)
    linked = table["flash, from floats"].map(_bytes)
    assert alone["int8"] < alone["float32"] == linked["float32"] < linked["int8"]
    (flash,) = [m.value for m in page.metric if m.label == "Flash, Cortex-M0"]
    assert _bytes(flash) == linked["int8"]
    assert f"The prediction alone: {alone['int8']} B of flash" in said(page)
    assert "evaluated with the conversion" in said(page)
    assert "Costs are estimated, for Cortex-M0" in said(page)
    steps = " ".join(line.value for line in page.markdown)
    more = linked["int8"] - alone["int8"]
    assert f"On the Cortex-M0 the conversion takes about {more:,} B" in steps


def test_a_board_is_judged_by_what_is_linked():
    form = _made("int8", data="breast_cancer", method="smallk")[1]
    board = boards._START.to_dict("records")[1]
    board["flash, kB"] = 2.0
    known = estimate_costs(form.model)
    assert known["Cortex-M0"].alone.flash < 2048 < known["Cortex-M0"].linked.flash
    assert boards.lines([board], known)[0]["fits"] == "no: too little flash"


def test_whole_numbers_need_no_conversion():
    ranges = {
        name: SensorRange(0, 100, integer=True)
        for name in resolve(Choice(data="iris")).dataset.feature_columns
    }
    made, form = _made("int8", ranges, data="iris", method="smallk")
    assert not needs_conversion(form.model)
    both = estimate_costs(form.model)["Cortex-M0"]
    assert both.alone == both.linked
    (line,) = [
        line
        for line in formats.lines(made, {"int8": form}, "Cortex-M0")
        if line["number format"] == "int8"
    ]
    assert line["flash, from floats"] == "no conversion"
    assert "links no conversion" in boards.inputs_in_words(form, both)
    told = usage.lines("m0", form.model, "mdl", 3)
    assert "quantise" not in told and "no conversion is needed" in told
    model = formats.as_exported(form, made)
    files = zipfile.ZipFile(io.BytesIO(bundle(model, made.vectors(model, False))))
    readme = files.read("README.md").decode()
    assert "no chip needs" in readme and "What the conversion takes" not in readme


def _is_measured(page):
    return "Measured on simulated chips" in said(page)


@pytest.mark.parametrize("number_format", NUMBER_FORMATS)
def test_the_bundle_says_how_good_these_numbers_are(number_format):
    given = {"petal length (cm)": SensorRange(0, 10, unit="cm")}
    made, form = _made(number_format, given, data="iris", method="smallk")
    model = formats.as_exported(form, made)
    packed = bundle(model, made.vectors(model, False))
    files = zipfile.ZipFile(io.BytesIO(packed))
    readme = files.read("README.md").decode()
    part = form.parts["validation"]
    assert f"| validation | 30 | {part.scores.hits} | " in readme
    assert number_format in readme and "The test set is closed" in readme
    content = json.loads(files.read("model.json"))
    source = content.get("source", content)
    told = source["provenance"]["as_exported"]
    assert told["format"] == number_format
    equal = told["parts"]["train"]["same_as_float64"]
    assert equal == form.parts["train"].same.n_equal
    again = bundle(formats.as_exported(form, made), made.vectors(model, False))
    assert again == packed


def test_uploads_give_no_rows_away():
    y = np.where(np.arange(60) % 2, "a", "b")
    frame = pd.DataFrame(
        np.random.default_rng(0).normal(size=(60, 2)) + (y == "a")[:, None]
    )
    frame.columns = ["p", "q"]
    roles = {"p": "feature", "q": "feature", "y": "target"}
    dataset = Dataset("mine", frame.assign(y=y), roles, "classification", private=True)
    link = {
        "data": "mine",
        "mine": table_store.keep(dataset),
        "p.export_format": "int8",
    }
    page = opened(link, "export.py")
    assert "64 test vectors, all synthetic" in said(page)


def _flags_and_floats(constant=1e30):
    """Flags, floats, and a column of one number that no chip could hold."""
    dataset = mixed_columns("flags, floats", 240)
    frame = dataset.frame.assign(constant=constant)
    roles = {**dataset.roles, "constant": "feature"}
    return Dataset("mine", frame, roles, "classification", private=True)


def test_captions_are_of_the_format_that_is_shown():
    link = {"data": "mine", "mine": table_store.keep(_flags_and_floats())}
    shown = {}
    for name in ("float32", "int8"):
        choice = {"method": "supersparse", "p.export_format": name}
        page = sound(opened({**link, **choice}, "export.py"))
        (shown[name],) = [c.value for c in page.caption if c.value.startswith(name)]
        right = _table(page)["Validation: right"][name]  # "89.6 % (43 of 48)"
        hits, rows = re.search(r"\((\d+) of (\d+)\)", right).groups()
        assert f"{hits} of {rows} rows" in shown[name]
        (needed,) = [m for m in page.metric if m.label == "Inputs needed"]
        assert needed.value == "12 of 13" and "rows\\: constant" in needed.help


def test_a_column_without_any_weight_left_is_named_and_not_needed(monkeypatch):
    form = _made("int8", data="breast_cancer", method="smallk")[1]
    name, n = form.model.inputs[0].given.name, len(form.model.inputs)
    monkeypatch.setattr(QuantModel, "zero_weights", {name: (2, 2)})
    assert form.n_inputs == n - 1
    assert f"2 of 2 of {escape_markdown(repr(name))}" in formats.proved(form)
