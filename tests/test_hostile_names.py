"""Names that a page, a sheet or a program could take for more than names."""

import io
import json
import re
import zipfile
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from pages.state import links
from pages.state.host import resolve
from pages.ui.text import as_written, escape_markdown
from smpcore import METHODS, Dataset, export, figures, prepare, split
from smpcore.codegen import TARGETS
from smpcore.codegen.names import markdown
from smpcore.live import BUNDLED, Choice
from tests.app import brought, kernels, opened, said

pytestmark = pytest.mark.usefixtures(kernels.__name__)

NAMES = (
    "=HYPERLINK(1)",
    "@SUM(1)",
    "a\x00b",
    "\u202egnp",
    "<img src=x onerror=alert(1)>",
    '"; system("x',
    "*/",
    "two\nlines",
    "n" * 5000,
    "__proto__",
    "\N{GRINNING FACE}",
    "$x$",
    "[a](javascript:1)",
    "??/\n#error",
)
CLASSES = "@SUM(1)\n*/ int x;", '<img src=x onerror=alert(1)>"\\'
SECTIONS = {
    "prototypes": (
        *("All", "One by one", "Rule in words", "Score", "Why this prediction"),
    ),
    "performance": (
        *("Threshold", "Probabilities", "Subgroups", "Sites and periods", "Optimism"),
    ),
}


@pytest.fixture(scope="module")
def table():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(90, len(NAMES))))
    frame.columns = NAMES
    target = np.where(frame["@SUM(1)"] + frame["*/"] > 0, *CLASSES)
    frame["*/"] = np.where(frame["*/"] > 0, "=1+1", "\u202e<b>*/\n")
    frame.loc[3, "a\x00b"] = np.nan
    roles = {**dict.fromkeys(NAMES, "feature"), "</script>": "target"}
    return Dataset(
        name='=HYPERLINK("x")\n</script>*/',
        frame=frame.assign(**{"</script>": target}),
        roles=roles,
        task="classification",
        private=True,
    )


@pytest.mark.parametrize("page", ["explore", *SECTIONS, "data", "apply", "compare"])
def test_a_page_shows_them_as_text(page, table):
    query = brought(table)
    for section in SECTIONS.get(page, ("",)):
        more = {f"p.{page}_section": section} if section else {}
        shown = opened(query | more, f"{page}.py")
        assert not shown.error, said(shown)
        for one in (*shown.markdown, *shown.caption, *shown.warning, *shown.info):
            assert not re.search(r"(?<!\\)(<img|\[a\]\()", one.value)
        for chart in shown.get("plotly_chart"):
            assert "<img" not in chart.proto.spec


@pytest.mark.parametrize("name", ["-> b", "x <-", "a >= <= b", ":material/a:", ":a_b:"])
def test_streamlit_makes_no_signs_of_a_name(name):
    """It looks for them once escapes are read, and again in the text of an icon."""
    for text in (escape_markdown(name), as_written(markdown(name))):
        shown = text.replace("\\", "")
        assert shown.replace("\N{WORD JOINER}", "") == name
        assert not re.search(r"(^|\s)(<?->?|[<>]=)(\s|$)|:(material/|\w+:)", shown)


def test_titles_and_levels_on_a_card_are_texts(table):
    """All columns, of which the page shows the largest; Plotly obeys tags in texts."""
    preparation = prepare(table, np.arange(90))
    X, inputs = preparation.transform(table.frame), preparation.inputs
    figure = json.loads(figures.columns_beside(inputs, {"won": X, "all": X}).to_json())
    text = json.dumps(figure, ensure_ascii=False)
    assert not re.search(r"<[a-z/]", text)
    assert "&lt;img src=x" in text and "&lt;b>" in text
    titles = [name for name in figure["layout"] if name.startswith("xaxis")]
    assert len(titles) == len(NAMES)


def test_every_target_holds_them(table):
    division = split(table)
    preparation = prepare(table, division.train)
    X = preparation.transform(table.frame.iloc[division.train])
    model = (
        METHODS["mprotsvm"]
        .estimator_for(table, {})
        .fit(
            pd.DataFrame(X, columns=preparation.feature_names), table.y[division.train]
        )
    )
    for target, emitter in TARGETS.items():
        if target == "onnx" and find_spec("onnx") is None:
            continue
        packed = export(model.model_, preparation, target, emitter.numbers[-1])
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            for name in archive.namelist():
                assert re.fullmatch(r"[\w./-]+", name) and ".." not in name
                _check(name, archive.read(name))


def _check(name, content):
    """Code holds identifiers, or texts in quotes; JSON holds the names themselves."""
    if name.endswith("hyperlink_x.json"):
        texts = json.dumps(json.loads(content))
        assert all(json.dumps(name) in texts for name in NAMES)
    if name.endswith((".c", ".h", ".ino", ".v", ".cpp")):
        text = content.decode("ascii")
        for line in re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).splitlines():
            bare = re.sub(r'"(\\.|[^"\\])*"', "", line)
            assert not re.search(r"HYPERLINK[(]|<img|[(]javascript|system[(]", bare), (
                line
            )
        assert len(max(text.splitlines(), key=len)) < 400


JUNK = (
    "", "-1", "1e308", "nan", "-inf", "9" * 5000, "[[[[", "[" * 3000, "null", "{}",
    "true", "\uff11", "\xb2", "<script>", "\x00", "\ud800", "a" * 100_000,
    '["a", null]', '["a", "b", "1", 1e999]', '["a", "b", "1", NaN]',
)  # fmt: skip


LINK_NAMES = {
    *("data", "mine", "two", "within", "without", "method", "validation", "test"),
    *("seed", "opened", "open", "threshold", "band", "v.kind", "v.first", "v.second"),
    *("v.at0", "v.at-1", "p.way", "junk", "d.", "v.", "p."),
}


@pytest.mark.parametrize("junk", JUNK, ids=range(len(JUNK)))
def test_a_forged_link_is_read_to_its_end(junk):
    """Every parameter alone, and all of them at once."""
    names = {param.name for param in resolve(Choice(data="moons")).params} | LINK_NAMES
    names |= {f"d.{param.name}" for param in BUNDLED["moons"].params}
    forged = [{"data": "moons", name: junk} for name in names]
    for query in [*forged, dict.fromkeys(names, junk)]:
        choice, notices = links.read_url(query)
        assert all(len(text) < 600 for text in notices)
        assert sum(map(len, links.read_controls(query).values())) < 40 * 400
        assert choice.method in METHODS
        written = links.write_url(choice)
        again, notices = links.read_url(written)
        assert (links.write_url(again), notices) == (written, [])


@pytest.mark.parametrize(
    "query",
    [
        {"v.kind": "axes", "v.first": "99999", "v.second": "99998"},
        {"v.kind": "axes", "v.at0": "-1e14", "v.at9999": "3"},
        {"d.n_samples": "1e308", "d.noise": "1e308", "data": "moons"},
        {"threshold": "1e9", "band": "1e9", "opened": "999", "open": "1"},
        {"lesson": "../../x", "step": "-9"},
        {"lesson": "02-fusion.json", "step": "9" * 300},
        {"class": "x" * 5000, "present": "1"},
        {"p.prototypes_section": "a" * 10_000, "p.way": "nan"},
    ],
)
def test_a_forged_link_opens_a_page(query):
    for page in ("explore.py", "prototypes.py"):
        assert not opened({"data": "iris"} | query, page).error
