"""Apply without a browser: bring new rows, mend their columns, take the answers."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit, softmax
from sklearn.metrics import brier_score_loss, log_loss

from pages.apply.new_rows import _written
from pages.ui import explanation_sheet, files
from pages.work import visitors
from smpcore import METHODS, load_dataset, read_table
from smpcore.datasets import TABLE_WRITERS, make_dataset
from smpcore.explain import risk_score
from smpcore.readouts import Section
from tests import app
from tests.app import brought, kernels, opened, said, sound, until
from tests.app import metrics as shown
from tests.shown import oracle
from tests.shown.oracle import says

pytestmark = pytest.mark.usefixtures(kernels.__name__)


def bring(page, frame, name="new.csv"):
    data = frame if isinstance(frame, bytes) else frame.to_csv(index=False)
    return app.bring(page, data, name)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_answers_new_rows(method):
    page = opened({"data": "iris", "method": method}, "apply.py")
    assert "It should have these" in said(page)
    frame = load_dataset("iris").frame
    bring(page, moved(frame))
    assert shown(page)["Rows"] == "150"
    assert shown(page)["Correct rows"].endswith(" of 150")
    assert re.fullmatch(r"\d+\.\d %", shown(page)["Accuracy"])
    assert "These rows are not part of the data set" in said(page)
    assert len(page.dataframe[-1].value) == 150


def moved(frame):
    """Rows that no data set has: the first column is a little off."""
    return frame.assign(**{frame.columns[0]: frame.iloc[:, 0] + 1e-3})


def test_the_file_and_its_columns_stay_open_until_they_are_closed(monkeypatch):
    """On other pages and after a reload; no other browser has them."""
    monkeypatch.setattr(visitors, "browser", lambda: "this one")
    page = opened({"data": "iris"}, "apply.py")
    frame = load_dataset("iris").frame
    names = "one", frame.columns[1].upper()  # the second one is found
    frame = frame.rename(columns=dict(zip(frame.columns, names, strict=False)))
    bring(page, frame, "<b>mine</b>.csv")
    assert len(page.selectbox) == 1
    sound(page.selectbox[0].select("one").run())
    page.switch_page("pages/guide.py").run()
    sound(page.switch_page("pages/apply.py").run())
    assert "Open: <b>mine</b>.csv." in said(page)
    assert page.selectbox[0].value == "one"
    assert shown(page)["Rows"] == "150"
    reloaded = opened({"data": "iris"}, "apply.py")
    assert "Open: <b>mine</b>.csv." in said(reloaded)
    assert reloaded.selectbox[0].value == "one" and shown(reloaded)["Rows"] == "150"
    other = opened({"data": "wine"}, "apply.py")
    assert not other.metric
    bring(other, moved(load_dataset("wine").frame))
    assert shown(other)["Rows"] == "178"
    assert shown(opened({"data": "iris"}, "apply.py"))["Rows"] == "150"
    assert shown(opened({"data": "wine"}, "apply.py"))["Rows"] == "178"
    monkeypatch.setattr(visitors, "browser", lambda: "another one")
    assert not opened({"data": "iris"}, "apply.py").metric
    monkeypatch.setattr(visitors, "browser", lambda: "this one")
    page.selectbox[0].select("none: its values are missing").run()
    assert "all values count as missing" in said(page)
    assert shown(page)["Rows missing"] == "150"
    sound(page.button(key="close_new_rows").click().run())
    assert "It should have these" in said(page)
    assert not page.metric and not opened({"data": "iris"}, "apply.py").metric
    bring(page, frame.rename(columns={frame.columns[0]: "one"}))
    assert page.selectbox[0].value == "choose …"
    files.delete()
    assert "Open:" not in said(opened({"data": "iris"}, "apply.py"))


def test_points_of_a_score_stand_beside_the_answers():
    page = opened({"data": "breast_cancer"}, "apply.py")
    frame = moved(load_dataset("breast_cancer").frame)
    bring(page, frame)
    assert not page.toggle
    context = app.context_of(page)
    parts = *context.data.of("train"), context.data.preparation
    outcome = context.model().classes[context.outcome]
    score = risk_score(*parts, n_lines=3, n_parts=1, outcome=outcome)
    key = explanation_sheet.score_key(context)
    results = app.session_of(page).results
    results[explanation_sheet.SCORE] = key, (score, Section("score", ()))
    sound(page.run())
    assert "total points" not in page.dataframe[-1].value
    sound(page.toggle(key="apply_points").set_value(True).run())
    table = page.dataframe[-1].value
    X = context.data.preparation.transform(frame)
    total = score.totals(X)
    assert table["total points"].tolist() == total.tolist()
    of_lines = [name for name in table if name.startswith("points: ")]
    assert len(of_lines) == 3 and (table[of_lines].sum(axis=1) == total).all()
    risk = table[f"risk of {outcome} by points"]
    np.testing.assert_allclose(risk, score.risk(total))


def test_rows_of_the_data_set_are_said_and_test_rows_are_not_scored():
    frame = load_dataset("wine").frame
    page = bring(opened({"data": "wine"}, "apply.py"), frame)
    assert "not part of the data set" not in said(page)
    parts = "training 106, validation 36, test 36"
    assert f"Of these 178 rows, 178 equal rows of this data set ({parts})" in said(page)
    assert "The test set stays closed. No rows are left to score." in said(page)
    assert "Accuracy" not in shown(page)
    assert len(page.dataframe[-1].value) == 178
    bring(page, pd.concat([frame, moved(frame.iloc[:50])]))
    assert "The other 50 rows are scored" in said(page)
    assert shown(page)["Correct rows"].endswith(" of 50")
    page = bring(
        opened({"data": "wine", "opened": "1", "open": "1"}, "apply.py"), frame
    )
    assert shown(page)["Correct rows"].endswith(" of 36")
    assert "stays closed" not in said(page)


@pytest.fixture
def grouped():
    """A visitor's own table in which five equal rows each are of one patient."""
    bundled = load_dataset("breast_cancer")
    alike = bundled.frame.iloc[np.arange(569) // 5 * 5].reset_index(drop=True)
    frame = alike.assign(patient=np.arange(569) // 5)
    roles = {bundled.target: "target", "patient": "group"}
    dataset = make_dataset(frame, "patients", roles=roles)
    return brought(dataset), dataset.frame


def test_rows_of_a_group_count_together(grouped):
    query, frame = grouped
    page = bring(opened(query, "apply.py"), moved(frame))
    assert "rows of one group count together" in said(page)
    assert "Not used" not in said(page), "the group is used in the interval"
    label = "95 % interval"
    low, high = ends(shown(page)[label])
    bring(page, moved(frame.drop(columns="patient")))
    assert "takes these rows as independent" in said(page)
    plain_low, plain_high = ends(shown(page)[label])
    assert high - low > plain_high - plain_low
    for other in ("prototypes.py", "compare.py"):
        page.switch_page(f"pages/{other}").run()
        until(page, lambda page: "count together" in said(page))


def ends(interval):
    return [float(end) for end in interval.removesuffix(" %").split("–")]


def test_only_columns_that_the_model_uses_are_asked_for():
    query = {"data": "breast_cancer"}
    needed = shown(opened(query, "export.py"))["Inputs needed"]
    used, _, every = needed.partition(" of ")
    assert int(used) < int(every) == 30
    page = opened(query, "apply.py")
    assert f"It should have these {used} columns" in said(page)
    names = page.dataframe[0].value["column"]
    assert len(names) == int(used)
    bring(page, moved(load_dataset("breast_cancer").frame[list(names)]))
    assert not page.selectbox
    assert shown(page)["Rows"] == "569"
    assert shown(page)["Rows missing"] == "0"
    # Blood pressure 420 passed in silence where the model had no weight for it.
    frame = load_dataset("breast_cancer").frame
    idle = next(name for name in frame if name not in {*names, "class"})
    bring(page, moved(frame.iloc[:3]).assign(**{idle: [420_000.0, np.nan, 1.0]}))
    table = page.dataframe[-1].value
    assert table["not used by this model"].iloc[0].startswith(f"{idle} = 420000 (")
    assert shown(page)["Rows out of range, not used"] == "2"
    assert (table["missing"] == "").all()


@pytest.mark.parametrize(
    "data, words",
    [
        (b"", "empty"),
        (b"PK\x03\x04zip", "archive"),
        (b"a,b\n", "no rows"),
        (b"a,b\n1,2\n", "has no column"),
    ],
)
def test_a_bad_file_is_a_sentence(data, words):
    page = opened({"data": "iris"}, "apply.py")
    assert words in said(bring(page, data))


def test_a_file_is_read_as_that_of_the_data_and_what_is_left_out_is_said():
    rows = "".join(f"1.{100 + i};{i % 5},5;{'ab'[i % 2]}\n" for i in range(60))
    dataset = read_table(f"price;weight;y\n{rows}".encode(), "t.csv")
    page = opened(brought(dataset), "apply.py")
    bring(page, b"price;weight\n1.103;3\n1.104;4\n1.105;3\n\nNote: second half\n")
    assert "another table or a note (Note: second half)" in said(page).replace("'", "")
    assert "1.103 is read as 1103" in said(page)
    assert set(page.dataframe[-1].value["out of range"]) == {""}


def test_numbers_too_large_are_not_called_none_and_rows_without_labels_not_scored():
    page = opened({"data": "iris"}, "apply.py")
    frame = load_dataset("iris").frame.iloc[:5, :4]
    bring(page, frame.assign(**{frame.columns[0]: 1e300}))
    assert "5 of 5 values are none, or too large" in said(page)
    assert shown(page)["Rows"] == "5"
    assert "Accuracy" not in shown(page)


def test_ids_and_groups_are_carried_and_announced(grouped):
    query, frame = grouped
    page = opened(query, "apply.py")
    assert "Carried into the predictions, if the file has them: patient" in said(page)
    bring(page, moved(frame).assign(visit=[f"=v{i}" for i in range(569)]))
    assert page.multiselect[0].value == ["patient"]
    assert "Carried: patient. The table and all downloads have the same" in said(page)
    sound(page.multiselect[0].set_value(["visit", "patient"]).run())
    table = page.dataframe[-1].value
    assert list(table)[:4] == ["visit", "patient", "out of range", "answer"]
    assert table.index.tolist() == list(range(1, 570))
    # Sheets of private data have no training rows unless they are wanted.
    assert typed(page, "2") and "and no training rows." in said(page)
    sound(page.checkbox[0].check().run())
    assert "and the three nearest training rows." in said(page)
    # As they are written: no numbers.
    written = ["0012345", "12E5", "9007199254740993", "1e3"]
    bring(page, moved(frame).iloc[:4].assign(patient=written))
    assert page.dataframe[-1].value["patient"].tolist() == written


@pytest.mark.parametrize("title", TABLE_WRITERS)
def test_every_download_is_the_table(title):
    frame = load_dataset("iris").frame.iloc[:4].assign(id=["=1", "b", "c", "d"])
    page = bring(opened({"data": "iris"}, "apply.py"), moved(frame))
    sound(page.multiselect[0].set_value(["id"]).run())
    table = page.dataframe[-1].value
    ending, write = TABLE_WRITERS[title]
    assert any(title in b.label for b in page.button)
    content = io.BytesIO(_written(table, write))
    read = {".csv": pd.read_csv, ".parquet": pd.read_parquet, ".xlsx": pd.read_excel}
    back = read[ending](content)
    first = "'=1" if title == "CSV" else "=1"
    assert back["id"].tolist() == [first, "b", "c", "d"]
    assert back["row"].tolist() == [1, 2, 3, 4]
    assert back["answer"].tolist() == table["answer"].tolist()


def typed(page, text):
    sound(page.text_input[0].set_value(text).run())
    buttons = [b.label for b in page.button]
    return [label for label in buttons if "the sheet of" in label]


def test_rows_for_case_sheets_are_typed_or_a_sentence_says_why_not():
    page = bring(
        opened({"data": "iris"}, "apply.py"), moved(load_dataset("iris").frame)
    )
    assert typed(page, "") == []
    assert typed(page, "3, 8 – 12; 8") == ["Download the sheet of 6 rows"]
    assert typed(page, "150") == ["Download the sheet of 1 row"]
    assert "and the three nearest training rows." in said(page)
    for text, words in {
        "<b>": "Rows: '<b>' should be a row number or a range",
        "-3": "should be a row number or a range",
        "0": "no row 0 can be shown here; choose among 1 to 150",
        "151-999999999": "no row 151-999999999 can be shown",
        "1-999999999": "at most 30 cases fit into one file",
    }.items():
        assert typed(page, text) == [] and words in said(page)


def test_predictions_have_probabilities_once_the_model_is_calibrated():
    """The table was remembered from before, without them."""
    frame = load_dataset("wine").frame
    page = bring(opened({"data": "wine"}, "apply.py"), moved(frame))
    assert "probability" not in page.dataframe[-1].value
    sound(page.button(key="calibrate").click().run())
    until(page, lambda page: "probability" in page.dataframe[-1].value)
    shares = page.dataframe[-1].value.filter(like="probability of ")
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


@pytest.mark.parametrize("threshold", ["", "1.5"])
def test_probabilities_are_measured_where_the_file_has_the_outcome(threshold):
    """A threshold that was moved changes neither them nor the softmax beside them."""
    query = {"data": "breast_cancer"} | ({"threshold": threshold} if threshold else {})
    page = bring(opened(query, "apply.py"), moved(load_dataset("breast_cancer").frame))
    page = app.calibrated(page)
    (lines,) = (t.value for t in page.dataframe if "probabilities" in t.value)
    answers, context = page.dataframe[-1].value, app.context_of(page)
    dataset, model = context.data.dataset, context.fit().finished().model_
    prepared = context.data.preparation.transform(moved(dataset.frame))
    name = str(dataset.classes[context.outcome])
    truth = dataset.y == name
    plain = softmax(model.scores(prepared), axis=1)[:, context.outcome]
    p = answers[f"probability of {name}"].to_numpy()
    known = np.isfinite(p)
    for line, of in zip(lines.to_dict("records"), (p, plain), strict=True):
        of, hits = of[known], truth[known]
        says(line["Brier score"].split()[0], "#", brier_score_loss(hits, of))
        ends = oracle.recalibrated(of, hits)
        oracle.says_with_ends(line["Calibration intercept"], ends[0])
        oracle.says_with_ends(line["Calibration slope"], ends[1])
    assert f"Probability of {name}, {known.sum()} rows." in said(page)
    assert "Reliability plot, probability of" in said(page)
    assert "Decision curve, probability of" in said(page)


def mislabelled(frame):
    """New rows in which every 13th group has the other class: no rate is 100 %."""
    bundled = load_dataset("breast_cancer")
    swap = dict(zip(bundled.classes, bundled.classes[::-1], strict=True))
    labels = frame[bundled.target]
    labels = labels.mask(frame["patient"] % 13 == 0, labels.map(swap))
    return moved(frame.assign(**{bundled.target: labels}))


@pytest.mark.parametrize("has_groups", [True, False])
def test_rates_of_two_classes_are_at_the_threshold_and_of_the_groups_of_the_file(
    grouped, has_groups
):
    query, frame = grouped
    file = mislabelled(frame)
    page = opened(query | {"threshold": "1.5"}, "apply.py")
    bring(page, file if has_groups else file.drop(columns="patient"))
    groups = frame["patient"].to_numpy() if has_groups else None
    of = (t.value for t in page.dataframe if "interval by" in t.value)
    (lines,) = (table.set_index("measure") for table in of)
    answers, context = page.dataframe[-1].value, app.context_of(page)
    dataset = context.data.dataset
    name = str(dataset.classes[context.outcome])
    rest = str(dataset.classes[1 - context.outcome])
    truth = (file[dataset.target] == name).to_numpy()
    right = (answers["answer"] == name).to_numpy() == truth
    shares = {
        "Sensitivity (recall)": (right[truth], truth),
        "Specificity": (right[~truth], ~truth),
        "Accuracy": (right, truth | True),
    }
    found = {}
    for label, (hits, rows) in shares.items():
        units = None if groups is None else groups[rows]
        found[label] = oracle.share(hits, units)
        begin = lines.loc[label, "rows"].partition(" rows")[0]
        says(begin, "# of #", hits.sum(), len(hits))
    two = found["Sensitivity (recall)"], found["Specificity"]
    values = oracle.predictive(*two, truth.mean())
    words = ("Positive predictive value", "Negative predictive value")
    for label, value in (found | dict(zip(words, values, strict=True))).items():
        says(lines.loc[label, "value"], "# %", 100 * value[0])
        limits = (100 * end for end in value[1:3])
        says(lines.loc[label, "95 % interval"], "#–# %", *limits)
    margin = answers[f"score of {name}"] - answers[f"score of {rest}"]
    value, low, high = oracle.area(margin.to_numpy(), truth, groups)
    says(lines.loc["AUC", "value"], "#", value)
    says(lines.loc["AUC", "95 % interval"], "#–#", low, high)
    (groups,) = (t.value for t in page.dataframe if "all others" in t.value)
    of_bands(groups[groups["measure"] == "Accuracy"], file, right)


def of_bands(lines, file, right):
    """Accuracy of each band of the first column, beside that of all other rows."""
    values, seen = file.iloc[:, 0].to_numpy(), 0
    for line in lines.itertuples(index=False):
        limits = [float(n) for n in re.findall(r"[\d.]+", line.group)]
        low = limits[0] if "below" != line.group.split()[0] else -np.inf
        high = np.inf if line.group.endswith("or more") else limits[-1]
        inside = (values >= low) & (values < high)
        says(line.value, "# %", 100 * right[inside].mean())
        assert line.rows == str(inside.sum())
        says(line[5], "# %", 100 * right[~inside].mean())
        seen += inside.sum()
    assert seen == len(file) and len(lines) == 4


@pytest.mark.parametrize("has_groups", [True, False])
def test_recalibration_on_the_file_is_a_logistic_regression(grouped, has_groups):
    query, frame = grouped
    file = mislabelled(frame)
    page = opened(query | {"threshold": "1.5"}, "apply.py")
    page = app.calibrated(
        bring(page, file if has_groups else file.drop(columns="patient"))
    )
    (lines,) = (t.value for t in page.dataframe if "recalibration" in t.value)
    lines, context = lines.set_index("recalibration"), app.context_of(page)
    answers, dataset = page.dataframe[-1].value, context.data.dataset
    name = str(dataset.classes[context.outcome])
    probability = f"probability of {name}"
    known = answers[probability].notna().to_numpy()
    truth = (file[dataset.target] == name).to_numpy()[known] * 1.0
    p = answers[probability].to_numpy()[known]
    # At the border the other class is answered no more.
    of_outcome = (answers["answer"] == name).to_numpy()[known]
    lowest, highest = p[of_outcome].min(), p[~of_outcome].max()
    assert lowest >= highest
    lead, constant = logit(p), np.ones((len(p), 1))
    kinds = {"intercept": (constant, lead), "intercept and slope": (None, None)}
    assert set(lines.index) == {"none", "intercept"} | (
        set() if has_groups else {"intercept and slope"}
    )
    for kind in lines.index[1:]:
        X, offset = kinds[kind]
        X = np.c_[constant, lead] if X is None else X
        fitted, _ = oracle.binomial(X, truth, None, None, offset)
        values = [*fitted.params, 1.0][:2]
        line = lines.loc[kind]
        assert [line["intercept"], line["slope"]] == pytest.approx(values, abs=1e-6)
        shares = expit(values[0] + values[1] * lead)
        curves = context.model().calibration.curves
        near = {"abs": 1e-3 if curves else 1e-9}
        of = line["Brier score, apparent"], line["log-loss, apparent"]
        assert of[0] == pytest.approx(brier_score_loss(truth, shares), **near)
        assert of[1] == pytest.approx(log_loss(truth, shares), **near)
        begin = f"With the {kind}, the mean probability of {name} goes from "
        sentence = said(page).partition(begin)[2].partition(" rows change")[0]
        of_all = f"# % to # % (observed: # %), and {{}} of {len(p)}"
        count = re.search(r"and (\d+) of", sentence)[1]
        means = (100 * np.mean(one) for one in (p, shares, truth))
        says(sentence, of_all.format(count), *means)
        limit = re.search(rf"{re.escape(begin)}.*? probability, ([\d.]+) %", said(page))
        border = float(limit[1]) / 100
        assert highest - 5e-4 <= border <= lowest + 5e-4
        crossed = ((shares > border) != of_outcome).sum()
        assert abs(crossed - int(count)) <= 1  # the border is rounded
        key = "recalibration"
        sound(page.segmented_control(key=key).set_value(kind).run())
        table = page.dataframe[-1].value
        np.testing.assert_allclose(table[probability][known], shares, atol=near["abs"])
        of_answer = np.where(of_outcome, shares, 1 - shares)
        np.testing.assert_allclose(
            table["probability"][known], of_answer, atol=near["abs"]
        )
        assert "stay as fitted" in said(page)
        same = [c for c in table if not c.startswith("probability")]
        pd.testing.assert_frame_equal(table[same], answers[same])


def test_each_column_of_the_file_is_beside_that_of_training():
    bundled = load_dataset("breast_cancer")
    page = opened({"data": "breast_cancer"}, "apply.py")
    used = page.dataframe[0].value["column"].tolist()
    scale = np.linspace(0.5, 1.5, len(used))
    file = moved(bundled.frame)[used] * scale
    file.iloc[:57, 0] = np.nan
    bring(page, file)
    (lines,) = (t.value for t in page.dataframe if "difference" in t.value)
    training = bundled.frame[used].iloc[app.context_of(page).data.split.train]
    gap = file.mean() - training.mean()
    sizes = gap / np.sqrt((file.var(ddof=0) + training.var(ddof=0)) / 2)
    order = sizes.abs().sort_values(ascending=False).index[:10]
    assert lines["column"].tolist() == order.tolist()
    for line in lines.set_index("column").itertuples():
        says(line.difference.replace("+", ""), "# SD", sizes[line.Index])
        for words, table in ((line.training, training), (line.file, file)):
            column = table[line.Index]
            says(words, "# (median #)", column.mean(), column.median())
    missing = dict(zip(lines["column"], lines["missing in file"], strict=True))
    for name, share in missing.items():
        says(share, "# %", 100 * file[name].isna().mean())
    count = f"The 10 that differ most of {len(used)} columns"
    assert (count if len(used) > 10 else f"{len(used)} columns") in said(page)


def test_answers_within_the_band_are_marked_and_counted_like_all_others():
    link = {"data": "breast_cancer", "threshold": "1.5", "band": "1.2"}
    page = opened(link, "apply.py")
    frame = moved(load_dataset("breast_cancer").frame)
    bring(page, frame)
    table, model = page.dataframe[-1].value, app.context_of(page).model()
    prepared = app.context_of(page).data.preparation.transform(frame)
    margin = np.abs(np.subtract(*model.scores(prepared).T))
    marked = table["not sure"] == "within the band"
    assert marked.tolist() == (margin <= 1.2).tolist() and marked.any()
    assert f"{marked.sum()} of them not sure" in said(page)
    assert "Rows within the band are counted like all others" in said(page)
    assert "not sure" not in opened({"data": "iris"}, "apply.py").dataframe[-1].value
