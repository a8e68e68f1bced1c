"""The figure as a file: what stands in it, and what does not."""

import base64
import gzip
import hashlib
import html
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pages.state import table_store
from pages.state.host import resolve
from smpcore import METHODS, SmpcoreError
from smpcore.datasets import make_dataset
from smpcore.explain import contributions
from smpcore.figures.views import grid
from smpcore.live import MINE, Choice, page_file, saved_page
from tests.app import laid_out, opened, session_of, swept
from tests.test_live import unpacked

ROOT = Path(__file__).parents[1]
BAD = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module", autouse=True)
def kernels():
    for method in METHODS.values():
        method.warm_up()


def parts_of(page: bytes) -> dict[str, str]:
    """Scripts and styles of a page, by their ids or tags."""
    text = page.decode()
    found = re.findall(r"<(style|script)([^>]*)>(.*?)</\1>", text, re.DOTALL)
    return {re.sub('.*id=|type=|"', "", a).strip() or tag: t for tag, a, t in found}


def payload_of(page: bytes) -> dict:
    packed = base64.b64decode(parts_of(page)["saved-payload"])
    return unpacked(gzip.decompress(packed))


def own_table():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {BAD: rng.normal(size=60).round(5), "b": rng.normal(size=60).round(5)}
    )
    frame["y"] = np.where(frame[BAD] + frame["b"] > 0, BAD, "no")
    data = make_dataset(frame, BAD, roles={"y": "target"})
    return table_store.keep(replace(data, private=True)), data


@pytest.mark.parametrize(
    ("data", "method", "megabytes"),
    [
        ("moons", "smp", 1.0),
        ("moons", "smallk", 1.0),
        ("breast_cancer", "smp", 1.0),
        ("iris", "imkpl", 1.0),
        ("wine", "mprotsvm", 1.0),
        ("diabetes", "supersparse", 4.0),
    ],
)
def test_each_value_is_what_a_fit_of_its_own_gives(data, method, megabytes):
    context = resolve(Choice(data=data, method=method))
    page = saved_page(context, "")
    assert len(page) <= megabytes * 1e6
    header = payload_of(page)
    param, values = header["path"]["param"], header["path"]["values"]
    assert len(values) == len(header["knots"]) >= min(12, context.data.X.shape[1])
    place = len(values) // 2
    row = METHODS[method]
    clean = row.param(param).clean(values[place])
    off_path = (
        row.off_path(context.values, context.task) if row.path else context.values
    )
    fit = row.estimator({**off_path, param: clean}, context.task)
    model = fit.fit(*context.data.of("train")).model_
    shown = header["knots"][place]
    assert shown["value"] == values[place] and shown["knot"] == place
    points = header["scene"]["points"]
    predicted = model.predict(context.data.X[points["row"]])
    if context.task == "regression":
        np.testing.assert_allclose(shown["predicted"], predicted, rtol=1e-4)
    else:
        classes = np.array(header["scene"]["classes"])
        assert (classes[shown["predicted"]] == predicted.astype(str)).mean() > 0.99
    assert "editable" in header["scene"] and not header["scene"]["editable"]


@pytest.fixture
def models(monkeypatch):
    """Models of a page, in the order of its values."""
    painted = []

    def picture(estimator, *others, **more):
        painted.append(estimator.model_)
        return page_file_picture(estimator, *others, **more)

    page_file_picture = page_file.picture
    monkeypatch.setattr(page_file, "picture", picture)
    return painted


def computed_in(node, page, path, places, rows):
    """What the file's own script answers at places of its window, and for rows."""
    path.write_bytes(page)
    script = ROOT / "tests" / "javascript" / "saved_answers.mjs"
    asked = json.dumps({"places": places, "rows": rows})
    command = [node, script, path]
    done = subprocess.run(command, input=asked, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("data", "method", "kind", "megabytes"),
    [
        ("moons", "smp", "axes", 1.0),
        ("moons", "supersparse", "axes", 1.0),
        ("breast_cancer", "smp", "pca", 1.0),
        ("digits", "smp", "map", 4.0),
        ("diabetes", "supersparse", "curve", 4.0),
        ("iris", "imkpl", "pca", 1.0),
    ],
)
def test_scores_and_contributions_in_the_file_are_the_librarys(
    data, method, kind, megabytes, models, tool, tmp_path
):
    context = resolve(Choice(data=data, method=method, view={"kind": kind}))
    studies = context.host.studies
    if kind == "map":
        laid_out(context.data)
    view = studies.view(context.data, context.view)
    page = saved_page(context, "")
    assert len(page) <= megabytes * 1e6
    assert (b"sparse code may be another one" in page) == (method == "imkpl")
    header = payload_of(page)
    assert (kind == "map") == ("nodes" in header["answers"])
    n_nodes = len(header["answers"].get("nodes", range(100)))
    nodes, at = view.nodes(n_nodes), grid(view.x, view.y, n_nodes)
    rng, n_knots = np.random.default_rng(0), len(header["knots"])
    places = rng.integers((n_knots, n_nodes**2), size=(2000, 2))
    inputs = context.data.X[header["scene"]["points"]["row"]]
    rows = rng.integers((n_knots, len(inputs)), size=(50, 2)).tolist()
    asked = [[knot, *at[node]] for knot, node in places.tolist()]
    answers = computed_in(tool("node"), page, tmp_path / "page.html", asked, rows)
    for knot in range(n_knots):
        here = np.flatnonzero(places[:, 0] == knot)
        scores = models[knot].scores(nodes[places[here, 1]])
        found = [answers["places"][i]["scores"] for i in here]
        # A sum of 32-bit floats is as exact as the largest of its terms.
        size = 1e-5 * np.abs(models[knot].scores(nodes)).max()
        np.testing.assert_allclose(found, scores, rtol=0, atol=size)
        if context.task == "classification":
            winners = [answers["places"][i]["winner"] for i in here]
            assert winners == models[knot].decide(scores).tolist()
    for (knot, row), parts in zip(rows, answers["rows"], strict=True):
        by = inputs[row], "column", context.data.preparation
        expected = contributions(models[knot], *by).parts
        if method == "imkpl":  # its parts are not computed in a file
            assert parts is None
        else:
            size = 1e-4 * np.abs(expected).max()
            np.testing.assert_allclose(parts, expected, rtol=0, atol=size)


@pytest.mark.parametrize(
    ("data", "method", "other", "megabytes"),
    [
        ("moons", "smp", "mu", 1.0),
        ("breast_cancer", "smallk", "lam", 1.0),
    ],
)
def test_a_second_slider_has_each_pair_of_values(data, method, other, megabytes):
    context = resolve(Choice(data=data, method=method))
    page = saved_page(context, "", second=True)
    assert len(page) <= megabytes * 1e6
    header = payload_of(page)
    second, path = header["second"], header["path"]
    assert second["param"] == other and len(second["values"]) == 6
    assert second["values"][second["at"]] == context.values[other]
    assert [row["name"] for row in header["controls"]] == [path["param"], other]
    row, column = (second["at"] + 2) % 6, len(path["values"]) // 2
    values = {path["param"]: path["values"][column], other: second["values"][row]}
    params = METHODS[method].param
    clean = {name: params(name).clean(value) for name, value in values.items()}
    unfitted = METHODS[method].estimator({**context.values, **clean}, context.task)
    model = unfitted.fit(*context.data.of("train")).model_
    shown = second["knots"][row][column]
    assert shown["value"] == values[path["param"]]
    predicted = model.predict(context.data.X[header["scene"]["points"]["row"]])
    classes = np.array(header["scene"]["classes"])
    assert (classes[shown["predicted"]] == predicted.astype(str)).mean() > 0.99
    chains = {p["chain"] for knots in second["knots"] for p in knots}
    assert len(chains) == 5 and header["knots"][0]["chain"] not in chains


def test_only_its_own_script_may_run_and_names_stay_text():
    token, _ = own_table()
    page = saved_page(resolve(Choice(data=MINE, token=token, method="smp")), "")
    text, parts = page.decode(), parts_of(page)
    assert "<img" not in text and html.escape(BAD) in text
    (policy,) = re.findall('Content-Security-Policy" content="([^"]*)"', text)
    hashes = re.findall("'sha256-([^']+)'", policy)
    owners = [parts[name] for name in ("saved-programs", "module", "style")]
    owners.append(parts["saved-style"])
    digests = [hashlib.sha256(one.encode()).digest() for one in owners]
    assert hashes == [base64.b64encode(digest).decode() for digest in digests]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    assert BAD in payload_of(page)["scene"]["classes"]
    table_store.delete(token)


def test_rows_of_a_table_are_in_the_file_only_if_wanted():
    token, data = own_table()
    context = resolve(Choice(data=MINE, token=token, method="smp"))
    with_rows = payload_of(saved_page(context, ""))
    x = with_rows["scene"]["points"]["x"]
    assert np.isin(x, data.frame[BAD].to_numpy(np.float32)).all() and len(x) > 40
    header = payload_of(saved_page(context, "", with_rows=False))
    assert {len(a) for a in header["scene"]["points"].values()} == {0}
    assert header["scene"]["behind"] is None and header["answers"]["rows"] is None
    for picture in (header["picture"], *header["knots"]):
        assert len(picture["predicted"]) == len(picture["hollow"]) == 0
        assert picture["readouts"] == with_rows["picture"]["readouts"] or (
            picture is not header["picture"]
        )
    table_store.delete(token)


@pytest.mark.parametrize("name", ["prototypes.py", "tradeoff.py"])
def test_other_pages_save_the_model_that_they_show(name):
    swept_alone = {"p.sweep_folds": "2", "p.sweep_methods_classification": "smp"}
    query = {"data": "moons", "method": "smp", "mu": "0.02"} | swept_alone
    page = opened(query, name)
    expected = "0.02"
    if name == "tradeoff.py":
        page = swept(page)
        *_, last = page.selectbox(key="point").options
        page.selectbox(key="point").select(last).run()
        page.button(key="use_point").click().run()
        expected = last.rpartition(" = ")[2]
    page.button(key="save_page_file").click().run()
    file = session_of(page).file.content.partition(b"\n")[2]
    context = resolve(session_of(page).choice)
    assert f"{context.values['mu']:.6g}" == expected
    shown = payload_of(file)["picture"]
    predicted = context.fit().finished().model_.predict(context.data.X)
    rows = payload_of(file)["scene"]["points"]["row"]
    classes = context.model().classes
    assert (classes[shown["predicted"]] == predicted[rows]).all()


def test_what_would_take_minutes_is_refused_in_a_sentence(monkeypatch):
    context = resolve(Choice(data="moons", method="smp"))
    monkeypatch.setattr(page_file, "MOST_SECONDS", 0.0)
    with pytest.raises(SmpcoreError, match="12 values of its slider takes about"):
        saved_page(context, "")


def test_the_way_back_to_the_app_stands_in_it():
    context = resolve(Choice(data="moons", method="smp"))
    assert (
        '<a href="https://x.org/?a=1&amp;b=2">'
        in saved_page(context, "https://x.org/?a=1&b=2").decode()
    )
    assert "<code>?a=&lt;1</code> behind" in saved_page(context, "?a=<1").decode()
