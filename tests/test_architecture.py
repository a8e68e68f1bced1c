"""The walls: who may import whom, and no page that knows a method by name."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from smpcore import METHODS

ROOT = Path(__file__).parents[1]
SOURCES = [
    *sorted(ROOT.glob("smpcore/**/*.py")),
    *sorted(ROOT.glob("pages/**/*.py")),
    ROOT / "app.py",
]

#: Floors, bottom up: a module imports from its own floor or from those below it.
FLOORS = (
    {"solvers", "errors", "parameters", "similarity", "threads"},
    {"model", "datasets"},
    {"estimators", "codegen", "figures", "explain", "baselines"},
    {"chips"},
    {"methods"},
    {"evaluation", "report"},
    {"papers"},
)
REQUIRED = {"plotly", "numpy", "scipy", "sklearn", "numba", "pandas"}
REQUIRED |= {"pyarrow", "requests", "openml", "joblib", "tqdm", "threadpoolctl"}
#: Only who has a cluster installs it.
REQUIRED |= {"distributed"}
ALLOWED = {
    "smpcore/solvers": {"numba", "numpy", "math"},
    "smpcore/figures": {"plotly", "numpy", "pandas"},
    "smpcore/codegen": {"numpy"},
    "smpcore/chips": {"numpy"},
    "smpcore": REQUIRED,
    "pages": {"streamlit", "pandas", "numpy", "plotly", "threadpoolctl"},
    "app.py": {"streamlit"},
}
#: Besides the standard library, what a folder may take from the house.
HOUSE = {
    "smpcore/solvers": ("smpcore.solvers",),
    "smpcore/figures": (
        "smpcore.model",
        "smpcore.datasets",
        "smpcore.errors",
        "smpcore.figures",
    ),
    "smpcore/codegen": (
        "smpcore.model",
        "smpcore.datasets.cells",
        "smpcore.errors",
        "smpcore.codegen",
    ),
    "smpcore/chips": ("smpcore.codegen", "smpcore.errors", "smpcore.chips"),
    "smpcore": ("smpcore",),
    "pages": ("smpcore", "pages.shared"),
    "app.py": ("smpcore", "pages.shared"),
}
SOLVER_START = {"hashlib", "os", "pathlib", "tempfile"}


def _imports(path: Path) -> list[str]:
    names = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = path.relative_to(ROOT).parts[: -node.level] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            names += [f"{module}.{alias.name}" for alias in node.names]
    return names


def _room(path: Path) -> str:
    name = path.relative_to(ROOT).as_posix()
    return max((room for room in ALLOWED if name.startswith(room)), key=len)


def _relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", SOURCES, ids=_relative)
def test_a_room_imports_only_what_its_walls_allow(path):
    room = _room(path)
    for name in _imports(path):
        top = name.split(".")[0]
        if top in ("smpcore", "pages"):
            assert name.startswith(HOUSE[room]), f"{path} imports {name}"
        elif room == "smpcore/solvers":
            start = SOLVER_START if path.name == "__init__.py" else set()
            assert top in ALLOWED[room] | start, f"{path} imports {name}"
        else:
            known = top in sys.stdlib_module_names
            assert known or top in ALLOWED[room], f"{path} imports {name}"


@pytest.mark.parametrize("path", SOURCES, ids=_relative)
def test_pages_see_the_face_only(path):
    if _room(path) in ("pages", "app.py"):
        deep = [n for n in _imports(path) if re.match(r"smpcore\.\w+\.", n)]
        assert not deep, f"{path} reaches past the face: {deep}"


@pytest.mark.parametrize("path", SOURCES, ids=_relative)
def test_no_arrow_points_upward(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[0] != "smpcore" or parts[1] == "__init__":
        return
    floor = next(i for i, rooms in enumerate(FLOORS) if parts[1] in rooms)
    for name in _imports(path):
        module = name.split(".")
        if module[0] == "smpcore" and len(module) > 1:
            above = [i for i, rooms in enumerate(FLOORS) if module[1] in rooms]
            assert above and above[0] <= floor, f"{path} imports {name}"


@pytest.mark.parametrize(
    "path",
    [p for p in SOURCES if _room(p) in ("pages", "app.py", "smpcore/figures")],
    ids=_relative,
)
def test_no_page_or_figure_names_a_method(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant):
            assert node.value not in METHODS, f"{path}:{node.lineno}"


@pytest.mark.parametrize("path", sorted(ROOT.glob("pages/*.py")), ids=_relative)
def test_a_page_is_at_most_a_hundred_lines(path):
    assert len(path.read_text("utf-8").splitlines()) <= 100


@pytest.mark.parametrize("path", SOURCES, ids=_relative)
def test_files_and_functions_stay_small(path):
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= 400
    cap = 90 if "solvers" in path.parts else 60
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            body = node.body
            if ast.get_docstring(node):
                body = body[1:]
            lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            assert lines <= cap, f"{path}:{node.lineno} {node.name} has {lines} lines"


@pytest.mark.parametrize("path", SOURCES, ids=_relative)
def test_nothing_prints_and_only_one_file_caches(path):
    text = path.read_text("utf-8")
    if path.name != "__main__.py":  # a command
        assert not re.search(r"^\s*print\(", text, re.M)
    if path.name != "cached.py":
        assert "st.cache_" not in text


def test_the_visible_top_level_is_the_agreed_one():
    seen = {p.name for p in ROOT.iterdir() if not p.name.startswith(".")}
    agreed = {"app.py", "pages", "smpcore", "assets", "tests"}
    assert seen - {"__pycache__"} == agreed | {"requirements.txt", "README.md"}


def test_no_value_shows_itself():
    """Streamlit would print what an expression gives, an object with all methods."""
    settings = tomllib.loads((ROOT / ".streamlit/config.toml").read_text("utf-8"))
    assert settings["runner"]["magicEnabled"] is False
    for path in (ROOT / "pages").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Expr):
                kind = type(node.value)
                assert kind in (ast.Call, ast.Constant, ast.Yield), (path, node.lineno)
