"""Every page without a browser: no exception, whatever data, method or URL."""

import json
import struct
import time
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import cached, startup
from smpcore import METHODS, list_datasets

ROOT = Path(__file__).parents[1]
PAGES = sorted(path.name for path in (ROOT / "pages").glob("*.py"))
CLASSIFICATION = [d.key for d in list_datasets() if d.task == "classification"]


@pytest.fixture(scope="module", autouse=True)
def kernels():
    """Compiled, and patient: on a busy machine a fit would otherwise become a job."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(startup, "BACKGROUND_SECONDS", 0.0)
        patch.setattr(cached, "QUICK_SECONDS", 30.0)
        AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
        while startup.uncompiled:
            time.sleep(0.1)
        yield


def _open(query: dict[str, str], page: str = "explore.py") -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    if page != "explore.py":
        app.switch_page(f"pages/{page}").run()
    assert not app.exception, [e.value for e in app.exception]
    return app


def _payload(app: AppTest) -> dict:
    body = app.get("bidi_component")[0].proto.bytes
    (length,) = struct.unpack_from("<I", body)
    return json.loads(body[4 : 4 + length])


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("data", CLASSIFICATION)
def test_every_page_with_every_data_set(page, data):
    _open({"data": data}, page)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_paints_a_picture(method):
    header = _payload(_open({"method": method}))
    assert header["kind"] == "full"
    assert header["picture"]["canonical"]
    path = METHODS[method].path
    scrubbed = [c["name"] for c in header["controls"] if c["scrub"]]
    assert scrubbed == ([path] if path else [])


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("data", ["moons", "iris"])
@pytest.mark.parametrize("method", METHODS)
def test_slider_ends(method, data, end):
    header = _payload(_open({"method": method, "data": data}))
    query = {"method": method, "data": data}
    for control in header["controls"]:
        if control["group"] == "method" and control["scale"] in ("log", "int"):
            query[control["name"]] = f"{control['high' if end else 'low']:.6g}"
    header = _payload(_open(query))
    assert header["picture"]["readouts"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"lam": "nan"}, "lam should be a number"),
        ({"lam": "<script>alert(1)</script>"}, "lam should be a number"),
        ({"method": "'; drop"}, "names a method that is not here"),
        ({"data": "../../etc/passwd"}, "names a data set that is not here"),
        ({"data": "mine", "mine": "x" * 500}, "not on the server"),
        ({"loss": "hinge"}, "loss should be one of"),
        ({"v.at0": "inf"}, "v.at0 in the link should be a number"),
        ({"seed": "one"}, "seed should be a number"),
        ({"validation": "0.6", "test": "0.6"}, "too few rows for training"),
    ],
)
def test_a_hostile_link_is_answered_in_words(query, words):
    header = _payload(_open(query))
    texts = " ".join(notice["text"] for notice in header["notices"])
    assert words in texts
    assert header["picture"]["canonical"]


def test_a_link_out_of_range_is_clipped():
    header = _payload(_open({"lam": "1e99", "n_prototypes": "-7"}))
    values = {c["name"]: c["value"] for c in header["controls"]}
    assert values["lam"] <= 10
    assert values["n_prototypes"] == 1


def test_the_test_set_is_closed_unless_the_data_are_toys():
    closed = _payload(_open({"data": "breast_cancer"}))
    names = [entry["name"] for entry in closed["picture"]["readouts"]]
    assert not any("Test" in name for name in names)
    toy = _payload(_open({"data": "moons"}))
    names = [entry["name"] for entry in toy["picture"]["readouts"]]
    assert any("Test" in name for name in names)
