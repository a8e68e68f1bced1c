"""The export page without a browser: formats, ranges, boards, files."""

import json
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

from pages.export import boards, counts, formats, ranges, settings
from pages.state import table_store
from pages.state.host import resolve
from pages.ui import exports
from pages.ui.text import escape_markdown
from pages.work import tasks
from smpcore import METHODS, Dataset, compile_model, figures, quantise
from smpcore.chips import (
    CHIPS,
    ChipCosts,
    PredictionCost,
    available,
    estimate_costs,
    measure,
    measure_costs,
    needs_conversion,
)
from smpcore.codegen import NUMBERS, TARGETS, QuantModel, SensorRange
from smpcore.codegen.targets.c99.stream import state_bytes
from smpcore.live import Choice
from smpcore.readouts import number_text
from tests.app import kernels, metrics, opened, said, session_of, sound, until
from tests.smpcore.codegen.models import mixed_columns, random_linear
from tests.smpcore.codegen.test_feature_stream import featured
from tests.smpcore.codegen.test_stream import streamed
from tests.smpcore.codegen.toolchain import contents

#: In a link: whose costs are shown.
ON_AVR = {"p.export_chip": "ATmega328P"}

pytestmark = pytest.mark.usefixtures(kernels.__name__)


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """On a busy machine the comparison would otherwise go on behind a progress bar."""
    monkeypatch.setattr(settings, "QUICK_SECONDS", 60.0)


def _page(number_format="float32", data="iris", **more):
    return opened({"data": data, "p.export_format": number_format, **more}, "export.py")


def _shown(page, name):
    """A file of the zip, as the page shows it."""
    page.selectbox(key="export_file").set_value(name).run()
    return sound(page).get("code")[0].value


def _zip_button(page):
    return [button for button in page.button if button.key == "export_download"]


def _readme(page):
    return next(m.value for m in page.markdown if m.value.startswith("### A "))


def _files(made, form, target="c99", name="mdl", ranges=None):
    told = formats.as_exported(form, made)
    vectors = made.vectors(form.model, False)
    packed = made.zip(vectors, target, form.name, name, ranges, None, told)
    assert packed == made.zip(vectors, target, form.name, name, ranges, None, told)
    return contents(packed)


def _table(page):
    return page.dataframe[0].value.T


def _made(number_format, ranges=None, **choice):
    made = exports.compiled(resolve(Choice(**choice)))
    work = partial(formats.forms, made, ranges or {})
    found = work(np.zeros(1, np.int64), np.zeros(1))
    return made, found[number_format]


@pytest.mark.parametrize("number_format", NUMBERS)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_exported_or_refused_calmly_in_every_format(
    method, number_format
):
    page = _page(number_format, method=method)
    table = _table(page)
    assert list(table.index)[1:4] == list(NUMBERS)
    assert table.index[0].startswith("float64")
    assert table.index[-1] == "majority-class baseline"
    assert table["Training: right"]["float32"].endswith(" of 90)")
    refused = table["Training: right"][number_format] == "not possible"
    told = " ".join(info.value for info in page.info)
    assert ("32\\-bit floats" in told and "float32 is shown" in told) == refused
    assert not page.error
    assert "run `make`" in _readme(page)
    header = _shown(page, "iris.h")
    assert "#define IRIS_N" in header
    assert ("int8_t x[IRIS_N]" in header) == (number_format == "int8" and not refused)


def test_a_share_is_rounded_once():
    """The largest class has 28 of 82 training rows: 34.146 %."""
    table = _table(_page("float32", data="iris", validation=0.25))
    assert table["Training: right"]["majority-class baseline"] == "34.1 %"


def test_linear_integers_are_possible_and_agree():
    table = _table(_page("int8", data="breast_cancer", method="smallk", **ON_AVR))
    assert table["differ from float64"]["int16"] == "0 of 455"
    assert table["rows saturated"]["int8"].endswith(" of 455")
    proved = [float(table["proved equal"][f].split()[0]) for f in NUMBERS]
    assert proved[0] >= proved[1] >= proved[2] > 50
    cycles = table["cycles, whole numbers"].str.replace(r",| ±.*", "", regex=True)
    assert int(cycles["int8"]) < int(cycles["int16"]) < int(cycles["float32"])
    assert "Test: right" not in table


def test_a_regression_speaks_of_errors_and_differences():
    table = _table(_page("int16", data="diabetes"))
    found = table["largest difference"][list(NUMBERS)].astype(float)
    proved = table["proved bound"][list(NUMBERS)].astype(float)
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
        assert str(made.data.y[line["row"] - 1]) == line["truth"]
    page = _page("int8", data="digits", method="smp")
    assert any("predictions differ" in block.label for block in page.expander)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"low": 9.0, "high": 1.0}, "low end should be below its high end"),
        ({"low": None}, "both ends should be numbers"),
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


def test_the_unit_of_a_column_stands_beside_its_range():
    made, _ = _made("int8", data="iris", method="smallk")
    inches = {made.compiled.inputs[0].name: SensorRange(0, 10, unit="in")}
    usual = quantise(made.compiled, 16, inches)
    assert ranges._start(usual)["unit"][0] == "in"


def test_ranges_come_back_and_reach_the_files():
    page = _page("int16", data="iris", method="smallk")
    key, frame = session_of(page).results[ranges.EDITED]
    edited = frame.copy()
    edited.loc[0, ["low", "high", "whole numbers", "unit"]] = [0, 1023, True, "*mV*"]
    edited.loc[1, "low"] = 99.0
    page.switch_page("pages/guide.py").run()
    session_of(page).results[ranges.EDITED] = key, edited
    page.switch_page("pages/export.py").run()
    assert "low end should be below" in said(sound(page))
    shown = _shown(page, "iris.h")
    assert "/* value * 32, 0 to 1023, 4.3 to 7.9 in training mV */" in shown
    kept = session_of(page).results[ranges.EDITED][1]
    assert kept["unit"][0] == "*mV*"


def test_a_name_that_is_none_is_told():
    page = _page("int8")
    for name in ("int", "1a", "a b", "*/", "<b>", "ä", "a" * 40):
        page.text_input(key="export_name").set_value(name).run()
        (problem,) = sound(page).error
        assert "lower\\-case letter" in problem.value, name
        assert not _zip_button(page)


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_is_offered_and_explained(target):
    number = TARGETS[target].numbers[-1]
    page = _page(number, **{"p.export_target": target})
    if problem := [error.value for error in page.error]:
        assert target == "onnx" and "pip install onnx" in problem[0]
        pytest.skip("the library onnx is not installed")
    assert "1. Unpack" in _readme(page) or "1. In the Arduino IDE" in _readme(page)
    assert _zip_button(page)
    assert "Look into the zip" in [one.label for one in page.selectbox]


def test_series_are_exported_as_a_stream_and_tables_are_not():
    page = _page("int8", "series", **{"p.export_hop": 25})
    assert "#define SERIES_9_STREAM_HOP 25 " in _shown(page, "series_9_stream.h")
    assert "Stream: of 40 samples of 9 channels it keeps" in said(page)
    page.number_input(key="export_votes").set_value(5).run()
    page.number_input(key="export_hold").set_value(2).run()
    page.number_input(key="export_rate").set_value(100).run()
    header = _shown(sound(page), "series_9_stream.h")
    assert "#define SERIES_9_STREAM_VOTES 5\n" in header
    assert "#define SERIES_9_STREAM_HOLD 2\n" in header
    assert "is answered 50 samples (0.5 s) after" in said(page)  # 2 answers later
    page.selectbox(key="export_target").set_value("python").run()
    assert not [one for one in sound(page).number_input if one.key == "export_hop"]
    assert not [one for one in sound(_page()).number_input if one.key == "export_hop"]


def test_a_number_format_that_a_target_has_not_is_told():
    page = _page("float32", **{"p.export_target": "verilog"})
    (problem,) = [error.value for error in page.error]
    assert "choose 'int16' or 'int8'" in problem.replace("\\", "")
    assert not _zip_button(page)


def test_a_board_that_is_too_small_is_marked_and_its_name_is_data():
    small = boards._START.copy()
    small.loc[0, ["board", "flash, kB"]] = ["<img src=x> **b**", 0.01]
    small.loc[1, "MHz"] = None
    page = opened({"data": "iris"}, "guide.py")
    session_of(page).results[boards.EDITED] = "", small
    page.switch_page("pages/export.py").run()
    (warning,) = [w.value for w in sound(page).warning]
    assert "\\<img src\\=x\\> \\*\\*b\\*\\*" in warning
    assert "still be exported" in warning
    assert "left out: 1" in said(page)
    table = page.dataframe[1].value.set_index("board")
    assert table["fits"].tolist() == ["no: too little flash", "yes"]
    assert _zip_button(page)


def test_costs_are_measured_by_themselves_and_the_boards_judged_by_them(monkeypatch):
    if not available():
        pytest.skip("no compiler or simulator of a chip is installed")
    monkeypatch.setattr(boards, "available", available)
    page = _page("int8", data="breast_cancer", method="smallk", **ON_AVR)
    until(page, _is_measured)
    shown = metrics(page)
    form = _made("int8", data="breast_cancer", method="smallk")[1]
    guess = estimate_costs(form.model)["ATmega328P"]
    count = int(shown["Cycles per prediction"].replace(",", ""))
    assert 0.8 < count / guess.linked.count < 1.25
    alone = int(re.search(r"of flash, ([\d,]+) cycles", said(page))[1])
    assert 0.8 < alone / guess.alone.count < 1.25
    ram = _bytes(shown["RAM"])
    parts = re.search(r"RAM: (.*)\.", said(page))[1].split(" = ")[0]
    assert sum(map(int, re.findall(r"(\d+) B", parts))) == ram
    assert next(m.value for m in page.markdown if "open rows" in m.value).startswith(
        "Fits on **Arduino Uno** (ATmega328P): flash"
    )


def test_a_comparison_does_not_wait_behind_a_measurement(monkeypatch):
    """With one line of fits, as on two cores, it came after all its compilers."""
    began, ends = threading.Event(), threading.Event()

    def measured(*_):
        began.set()
        ends.wait(30.0)
        return {}, []

    monkeypatch.setattr(tasks, "FITS", ThreadPoolExecutor(1))
    monkeypatch.setattr(boards, "available", lambda: ["one"])
    monkeypatch.setattr(boards, "measure_costs", measured)
    monkeypatch.setattr(settings, "QUICK_SECONDS", 5.0)
    page = _page("int8", data="iris", method="smallk")
    assert began.wait(30.0)
    (column, *_) = session_of(page).results[counts.EDITED][1]["column"]
    page = _as_counts(page, {column: {"value of one count": 0.01}})
    assert "Training: right" in _table(page)
    ends.set()


def test_without_compilers_costs_are_estimated_with_their_error():
    page = _page("int8", data="breast_cancer", method="smallk", **ON_AVR)
    assert "No compiler and simulator of a chip is installed here" in said(page)
    shown = next(m.value for m in page.metric if m.label.startswith("Cycles"))
    assert re.fullmatch(r"\d[\d,]*0 ± \d+ %", shown)


def test_the_row_that_the_caller_fills_takes_memory():
    """700 floats are 2,800 bytes; an Uno has 2,048, whatever the stack takes."""
    model = compile_model(random_linear(700, 2, 1, 1.0))
    known = estimate_costs(model)
    for cost in (known[chip].linked for chip in known):
        assert cost.inputs == 4 * len(model.inputs) == 2800
        assert cost.ram == cost.inputs + cost.buffers + cost.stack + cost.static
    uno, *others = boards.lines(boards._START.to_dict("records"), known)
    assert uno["fits"] == "no: too little RAM"
    assert [one["fits"] for one in others] == ["yes", "yes"]
    told = boards.verdict([uno, *others], "ATmega328P")
    assert told.startswith("Does **not** fit on **Arduino Uno** (ATmega328P)")


def test_bars_of_memory_are_shares_of_the_boards():
    """And those of one that is too large go beyond the line."""
    cost = PredictionCost(30_000, 1900, 0, 100, 0, 100, "cycles")
    uno = boards._START.to_dict("records")[0]
    drawn = boards.memories([uno], {"ATmega328P": ChipCosts(cost, cost)})
    figure = figures.memory_bars(drawn)
    reserved, model = (trace.x for trace in figure.data)
    np.testing.assert_allclose(reserved, [100 * 2150 / 32768, 100 * 262 / 2048])
    np.testing.assert_allclose(model, [100 * 30_000 / 32768, 100 * cost.ram / 2048])
    assert reserved[1] + model[1] > 100 == figure.layout.shapes[0].x0
    assert [*figure.data[0].y] == ["Arduino Uno, flash", "Arduino Uno, RAM"]


def test_what_a_board_runs_besides_takes_memory_too():
    """Measured models: 1,900 of 2,048 bytes leave no room for Arduino's own 262."""
    uno = boards._START.to_dict("records")[0]
    cost = PredictionCost(30_000, 1500, 0, 100, 0, 100, "cycles")
    made = {"ATmega328P": ChipCosts(cost, cost)}
    (row,) = boards.lines([uno], made)
    assert row["fits"] == "yes"
    told = boards.verdict([row], "ATmega328P")
    assert "flash 91.6 % (618 B left), RAM 78.1 % (186 B left)" in told
    large = replace(cost, inputs=1807)
    (row,) = boards.lines([uno], {"ATmega328P": ChipCosts(large, large)})
    assert row["fits"] == "no: too little RAM"
    assert "RAM 93.1 % (121 B too few)" in boards.verdict([row], "ATmega328P")


@pytest.mark.parametrize("make", [featured, streamed])
def test_a_stream_keeps_up_until_an_answer_takes_a_period(tool, make):
    """The simulator's own count of the longest sample, at a board's 16 MHz."""
    model, stream = make(16, 20, 10)
    low, high = np.array([(one.low, one.high) for one in stream.samples(model)]).T
    samples = np.random.default_rng(0).uniform(low, high, (30, 3))
    tool("avr-gcc")
    longest = measure(
        model, samples, CHIPS["ATmega328P"], (), True, stream
    ).counts.max()
    known, problems = measure_costs(model, np.zeros(1), np.zeros(1), stream)
    assert not problems
    rows, most = boards._START.to_dict("records"), int(16e6 // longest)
    for rate, begin in ((most, "yes: "), (most + 1, "no: ")):
        uno, *cores = boards.lines(rows, known, rate=rate)
        share = number_text(longest * rate / 16e6)
        words = f"an answer takes {share} of a sample's time"
        assert uno["keeps up"] == f"{begin}{words}"
        assert all("takes at least" in one["keeps up"] for one in cores)
        assert boards.verdict([uno], "ATmega328P").endswith(f"keep up: {words}.") == (
            begin == "no: "
        )
    unmeasured = boards.lines(rows, estimate_costs(model, stream), rate=1)
    assert {one["keeps up"].split(":")[0] for one in unmeasured} == {"unknown"}
    assert "keeps up" not in boards.lines(rows, known)[0]


def test_the_page_says_which_boards_do_not_keep_up(monkeypatch):
    """An answer of 12,000 cycles at 16 MHz takes 750 microseconds."""
    cost = PredictionCost(3000, 100, 0, 100, 100, 12_000, "cycles", sample=300)
    measured = {"ATmega328P": ChipCosts(cost, cost)}, []
    monkeypatch.setattr(boards, "available", lambda: ["one"])
    monkeypatch.setattr(boards, "measure_costs", lambda *_: measured)
    page = _page("int8", "series", **{"p.export_hop": 25}, **ON_AVR)
    until(page, lambda page: "Measured here on simulated chips" in said(page))
    assert not [m for m in page.markdown if "keep up" in m.value]
    for rate, words in (
        (1000, "It keeps up: an answer takes 75.0 % of a sample's time."),
        (2000, "It does **not** keep up: an answer takes 150.0 % of a sample's time."),
    ):
        page.number_input(key="export_rate").set_value(rate).run()
        assert [m for m in sound(page).markdown if words in m.value]
    (late,) = [w.value for w in page.warning if "keep up" in w.value]
    assert "keep up with the samples on Arduino Uno" in late


@pytest.mark.parametrize(("make", "hop"), [(featured, 1), (streamed, 49)])
@pytest.mark.parametrize("width", [None, 16, 8])
def test_the_state_of_a_stream_takes_memory(make, hop, width):
    """Counted without a measurement; what is not counted leaves no verdict."""
    model, stream = make(width, 50, hop)
    known = estimate_costs(model, stream)
    for chip in known:
        state = state_bytes(model, stream, aligned=chip != "ATmega328P")
        assert known[chip].linked.ram > known[chip].linked.static == state
    rows = boards._START.to_dict("records")
    tiny = [row | {"RAM, kB": 0.9 * state / 1024} for row in rows]
    assert {one["fits"] for one in boards.lines(tiny, known)} == {"no: too little RAM"}
    large = [row | {"RAM, kB": 1000.0} for row in rows]
    unknown, *_ = lines = boards.lines(large, known)
    assert all(one["fits"].startswith("unknown: ") for one in lines)
    words = "Whether it fits is not known on **Arduino Uno** (ATmega328P), the code of"
    assert boards.verdict([unknown], "ATmega328P").startswith(words)
    assert unknown["of its memory"].startswith("flash ≥ ")


def test_a_chip_on_which_the_measurement_fails_holds_no_model(monkeypatch):
    """The page says so, and judges no board of it by an estimate."""
    failed = ({}, [("ATmega328P", "The linker failed.")])
    monkeypatch.setattr(boards, "available", lambda: ["one"])
    monkeypatch.setattr(boards, "measure_costs", lambda *_: failed)
    page = _page("int8", data="iris", method="smallk", **ON_AVR)
    until(page, lambda page: "The linker failed" in said(page))
    words = "Does **not** fit on **Arduino Uno** (ATmega328P), the measurement failed"
    assert any(m.value.startswith(words) for m in page.markdown)
    assert "Estimated, as it could not be measured." in said(page)


def _bytes(cell):
    return int(cell.replace(",", "").split(" B")[0])


def test_integers_from_floats_cost_their_conversion():
    page = _page("int8", data="breast_cancer", method="smallk", k="2")
    table = _table(page).loc[list(NUMBERS)]
    alone = table["flash, whole numbers"].map(_bytes)
    linked = table["flash, from floats"].map(_bytes)
    assert alone["int8"] < alone["float32"] == linked["float32"] < linked["int8"]
    (flash,) = [m.value for m in page.metric if m.label == "Flash, Cortex-M0"]
    assert _bytes(flash) == linked["int8"]
    assert "Without float code: " in said(page)
    assert "evaluated with the conversion" in said(page)
    assert "Costs are estimated, for Cortex-M0" in said(page)


def test_a_card_says_what_a_model_is_good_for():
    """Rows counted by hand, and what the page says of data and costs."""
    made, form = _made("int8", data="breast_cancer", method="smallk")
    card = json.loads(_files(made, form)["mdl_card.json"])
    assert card["data"]["digest"] == made.data.dataset.digest
    assert card["link"] == {"data": "breast_cancer", "method": "smallk"}
    assert card["classes"] == ["benign", "malignant"]
    assert card["operating_point"]["outcome"] == "malignant"
    rows = made.data.split.validation
    part = card["as_exported"]["parts"]["validation"]
    X = made.preparation.transform(made.data.dataset.frame.iloc[rows])
    answers = form.model.winners(
        form.model.quantise(made.compiled.rows(made.data.dataset.frame.iloc[rows]))
    )
    labels = np.array(card["classes"])
    assert part["hits"] == (labels[answers] == made.data.y[rows]).sum()
    equal = labels[answers] == made.model.predict(X)
    assert part["same_as_float64"] == equal.sum() >= part["proved_the_same"]
    low, high = part["interval_95"]
    assert low < part["hits"] / len(rows) < high
    cost = estimate_costs(form.model)["Cortex-M0"].linked
    told = card["estimated_costs_of_a_row"]["Cortex-M0"]
    assert [told["flash_bytes"], told["instructions"]] == [cost.flash, cost.count]
    assert card["proved"]["largest_score"] < 2 ** (card["proved"]["sum_bits"] - 1)


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
    readme = _files(made, form, ranges=ranges)["README.md"].decode()
    assert (
        "whole numbers, as they are" in readme and "mdl_quantise(values" not in readme
    )
    assert "no chip needs" in readme and "What the conversion takes" not in readme


IRIS_AS_COUNTS = {
    "sepal length (cm)": 0.01,
    "sepal width (cm)": 0.006,
    "petal length (cm)": 0.0078125,
    "petal width (cm)": 0.003,
}


def _as_counts(page, changes):
    """Fill in lines of the table of counts: column -> changes."""
    key, frame = session_of(page).results[counts.EDITED]
    edited = frame.set_index("column").astype(object)
    for column, values in changes.items():
        for name, value in values.items():
            edited.loc[column, name] = value
    page.switch_page("pages/guide.py").run()
    kept = edited.reset_index()[list(frame.columns)].astype({counts._SCALE: float})
    session_of(page).results[counts.EDITED] = key, kept
    return page.switch_page("pages/export.py").run()


@pytest.mark.parametrize("number_format", ["float32", "int16", "int8"])
def test_columns_that_come_as_counts_reach_the_files(number_format):
    page = _page(number_format, data="iris", method="smp")
    before = said(sound(page))
    columns = session_of(page).results[counts.EDITED][1]["column"].tolist()
    scales = {name: {counts._SCALE: IRIS_AS_COUNTS[name]} for name in columns}
    on_the_screen = page.dataframe[0].value.iloc[:, 0].tolist()
    page = sound(_as_counts(page, scales))
    assert page.dataframe[0].value.iloc[:, 0].tolist() == on_the_screen
    assert not page.error
    if number_format == "int16":
        assert "whole numbers, as they are" in _readme(page)
    header = _shown(page, "iris.h")
    assert header.count("counts */") == len(columns)
    if number_format == "int16":
        assert "Without float code: " in before and "instead of " in before
        assert "links no conversion" in said(page)
        spared = re.search(r"code: ([\d,]+) B.* of ([\d,]+) B", said(page)).groups()
        least, most = (int(word.replace(",", "")) for word in spared)
        assert least < most
        assert header.count("the number itself, 0 to 1023") == len(columns)
    if number_format == "int8":
        assert "macros of the C" in said(page) and "macros of the C" not in before
        assert header.count("#define IRIS_COUNT_") == len(columns)
    table = _table(page)["Training: right"]
    rights = [int(table[f].split("(")[1].split()[0]) for f in ("float32", "int16")]
    assert min(rights) > 0.9 * 90
    # Back to values: what was typed is gone from the model, not the page.
    page = _as_counts(page, {name: {counts._SCALE: None} for name in columns})
    assert "counts */" not in _shown(sound(page), "iris.h")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"value of one count": -1.0}, "the scale above 0"),
        ({"value at count 0": 2.0}, "value of one count of 'sepal length .* is empty"),
        ({"value of one count": 1.0, "lowest count": 9000}, "should be below high"),
        ({"value of one count": 1.0, "highest count": 7.5}, "should be whole numbers"),
    ],
)
def test_counts_that_are_none_are_told_and_left_out(changes, told):
    page = _page("int16", data="iris", method="smp")
    (column, *_) = session_of(page).results[counts.EDITED][1]["column"]
    page = _as_counts(page, {column: changes})
    (problem,) = [error.value.replace("\\", "") for error in page.error]
    assert re.search(told, problem) and "Until then" in problem
    assert "counts */" not in _shown(page, "iris.h")


def _is_measured(page):
    return "Measured here on simulated chips" in said(page)


@pytest.mark.parametrize("number_format", NUMBERS)
def test_the_bundle_says_how_good_these_numbers_are(number_format):
    given = {"petal length (cm)": SensorRange(0, 10, unit="cm")}
    made, form = _made(number_format, given, data="iris", method="smallk")
    files = _files(made, form, ranges=given if form.is_whole else None)
    readme = files["README.md"].decode()
    part = form.parts["validation"]
    assert f"| validation | 30 | {part.scores.hits} | " in readme
    assert number_format in readme and "The test set is closed" in readme
    content = json.loads(files["mdl.json"])
    source = content.get("source", content)
    told = source["provenance"]["as_exported"]
    assert told["format"] == number_format
    equal = told["parts"]["train"]["same_as_float64"]
    assert equal == form.parts["train"].same.n_equal


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


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("supersparse", "2 sums, one for each class, of 5 similarities to anchors"),
        ("imkpl", "Codes of at most"),
    ],
)
def test_prototypes_that_are_added_up_are_all_counted(method, words):
    page = _page(data="moons", method=method)
    model = _made("float32", data="moons", method=method)[0].estimator.model_
    assert model.n_prototypes > model.n_outputs == 2
    shown = metrics(page)
    assert shown["Prototypes"] == str(model.n_prototypes)
    assert words in _readme(page)


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


@pytest.mark.parametrize(
    ("data", "label", "name"),
    [
        ("breast_cancer", "Include probabilities", "_probability("),
        ("iris", "Include probabilities", "_probabilities("),
        ("diabetes", "Include the 90 % prediction interval", "_HALF_WIDTH_90 "),
    ],
)
def test_a_calibrated_model_is_exported_with_it_or_without(
    monkeypatch, data, label, name
):
    module = sys.modules["smpcore.evaluation.prediction_intervals"]
    monkeypatch.setattr(module, "FEW_ROWS", 10_000)  # all intervals are as wide
    # Parts of its own: other tests share calibrations of the usual ones.
    page = _page(data=data, validation="0.34")
    header = f"{data}.h"
    assert name not in _shown(page, header)
    sound(page.button(key="calibrate").click().run())
    until(
        page, lambda page: any(one.key == "export_calibration" for one in page.toggle)
    )
    assert page.toggle(key="export_calibration").label == label
    assert name in _shown(page, header)
    sound(page.toggle(key="export_calibration").set_value(False).run())
    assert name not in _shown(page, header)


def test_parameters_come_in_a_file_of_their_own_where_they_can():
    page = _page(data="iris")
    assert "iris_load" not in _shown(page, "iris.c")
    sound(page.toggle(key="export_apart").set_value(True).run())
    assert "uint8_t iris_load(" in _shown(page, "iris.c")
    page.selectbox(key="export_file").set_value("README.md").run()
    assert "`model.bin` holds the numbers of the model" in _readme(page)
    for changed in ({"p.export_target": "rust"}, {"method": "imkpl"}):
        other = _page(data="iris", **changed)
        assert not [one for one in other.toggle if one.key == "export_apart"]


def test_an_interval_that_is_wider_for_some_predictions_is_said_to_be_left_out():
    page = _page(data="diabetes", validation="0.35")
    sound(page.button(key="calibrate").click().run())
    until(page, lambda page: "prediction interval is not exported" in said(page))
    assert "_HALF_WIDTH_90 " not in _shown(page, "diabetes.h")


def test_shares_that_are_no_softmax_of_the_scores_are_said_to_be_left_out(monkeypatch):
    module = sys.modules["smpcore.evaluation.calibrate"]
    monkeypatch.setattr(module, "FEW_ROWS", 0)
    monkeypatch.setattr(module, "_log_losses", lambda *_: np.array([1.0, 1.0, 0.0]))
    page = _page(validation="0.36")
    sound(page.button(key="calibrate").click().run())
    left_out = "no softmax of the scores are not exported"
    until(page, lambda page: left_out in said(page))
    assert "_probabilities(" not in _shown(page, "iris.h")
