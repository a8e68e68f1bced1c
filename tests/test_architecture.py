"""The walls: who may import whom, and no page that knows a method by name."""

import ast
import importlib
import re
import sys
import tomllib
from dataclasses import fields
from graphlib import TopologicalSorter
from pathlib import Path

import streamlit

from smpcore import METHODS
from smpcore.methods.shared.base import PrototypeEstimator
from smpcore.methods.shared.problem import Fitted
from tests.smpcore.test_docstrings import offered

ROOT = Path(__file__).parents[1]
SOURCES = [
    *sorted(ROOT.glob("smpcore/**/*.py")),
    *sorted(ROOT.glob("pages/**/*.py")),
    ROOT / "app.py",
]

#: Floors, bottom up: a module imports from its own floor or from those below it.
FLOORS = (
    {"solvers", "colors", "errors", "parameters", "similarity", "threads"},
    {"model", "datasets", "readouts"},
    {"codegen", "figures", "methods/shared"},
    {"methods/<key>"},
    {"explain", "baselines"},
    {"chips"},
    {"methods"},
    {"evaluation", "report"},
    {"live"},
    {"gallery", "notebooks", "papers"},
)
REQUIRED = {"plotly", "numpy", "scipy", "sklearn", "numba", "pandas"}
REQUIRED |= {
    "pyarrow",
    "requests",
    "openml",
    "joblib",
    "tqdm",
    "threadpoolctl",
    "charset_normalizer",
    "openpyxl",
    "PIL",  # pillow
    "python_calamine",
    "pyreadstat",
}
#: Only who has a cluster, or writes a site of figures, installs them.
REQUIRED |= {"dask", "distributed", "pdoc", "markdown2"}
ALLOWED = {
    "smpcore/solvers": {"numba", "numpy", "math", "collections", "typing"},
    "smpcore/solvers/similarities": {"numpy", "scipy"},
    "smpcore/figures": {"plotly", "numpy", "pandas", "scipy", "openTSNE"},
    "smpcore/codegen": {"numpy", "pandas"},
    "smpcore/codegen/targets/onnx": {"numpy", "onnx"},
    "smpcore/chips": {"numpy"},
    "smpcore/live": {"numpy", "pandas", "msgspec", "anywidget", "traitlets"},
    "smpcore": REQUIRED,
    "pages": {
        "streamlit",
        "pandas",
        "numpy",
        "plotly",
        "threadpoolctl",
        "msgspec",
        "pyarrow",
        "segno",
        "cryptography",
        "starlette",  # what Streamlit's server is built on, and comes with it
        "google",  # its messages: protobuf
    },
    "app.py": {"streamlit"},
}
#: Besides the standard library, what a folder may take from the house.
HOUSE = {
    "smpcore/solvers": ("smpcore.solvers",),
    "smpcore/solvers/similarities": ("smpcore.solvers",),
    "smpcore/figures": (
        "smpcore.model",
        "smpcore.colors",
        "smpcore.datasets",
        "smpcore.errors",
        "smpcore.readouts",
        "smpcore.figures",
    ),
    "smpcore/codegen": (
        "smpcore.model",
        "smpcore.datasets.cells",
        "smpcore.datasets.columns",
        "smpcore.datasets.biquads",
        "smpcore.datasets.series_features",
        "smpcore.datasets.spectrum",
        "smpcore.errors",
        "smpcore.similarity",
        "smpcore.codegen",
    ),
    "smpcore/codegen/targets/onnx": ("smpcore.errors", "smpcore.codegen"),
    "smpcore/chips": ("smpcore.codegen", "smpcore.errors", "smpcore.chips"),
    "smpcore/live": ("smpcore",),
    "smpcore": ("smpcore",),
    "pages": ("smpcore", "pages"),
    "app.py": ("smpcore", "pages.work", "pages.state", "pages.ui"),
}
MOST_ARGUMENTS = 7
#: Rooms that several pages share, bottom up; every other room is of one page.
SHARED_ROOMS = ("work", "state", "ui")
#: Rooms of the library that the picture of the architecture names.
LIBRARY = ("evaluation", "methods", "chips", "explain", "methods/<key>", "codegen")
LIBRARY += ("datasets", "solvers", "live")
#: A file of compiled code in a method's folder: behind the wall of the solvers.
KERNELS = re.compile(r"smpcore[/.]methods[/.](\w+)[/.]kernel(_\w+)?\.")
SOLVER_START = {"contextlib", "hashlib", "logging", "os", "pathlib", "tempfile"}
SOLVER_START |= {"re", "shutil", "sys", "time"}


def _relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


#: Every file's text and tree, read once.
TEXTS = {_relative(path): path.read_text("utf-8") for path in SOURCES}
TREES = {name: ast.parse(text) for name, text in TEXTS.items()}


def _imports(name: str) -> list[str]:
    """Modules and names that a file imports, written in full."""
    names = []
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = name.split("/")[: -node.level] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            names += [f"{module}.{alias.name}" for alias in node.names]
    return names


ARROWS = [(name, target) for name in TREES for target in _imports(name)]


def _wall(name: str) -> str:
    if KERNELS.match(name):
        return "smpcore/solvers"
    return max((wall for wall in ALLOWED if name.startswith(wall)), key=len)


def _is_app(name: str) -> bool:
    return _wall(name) in ("pages", "app.py")


def test_the_walls_are_of_the_house():
    """A misspelt wall, or no file read, would let everything pass."""
    assert len(ARROWS) > 1000
    assert {_wall(name) for name in TREES} == set(ALLOWED)


def test_a_room_imports_only_what_its_walls_allow():
    def is_allowed(name: str, target: str) -> bool:
        wall, top = _wall(name), target.split(".")[0]
        if top in ("smpcore", "pages"):
            called, caller = KERNELS.match(target), KERNELS.match(name)
            beside = called and caller and called[1] == caller[1]
            return bool(beside) or target.startswith(HOUSE[wall])
        if wall == "smpcore/solvers":
            start = SOLVER_START if name.endswith("__init__.py") else set()
            return top in ALLOWED[wall] | start
        return top in sys.stdlib_module_names or top in ALLOWED[wall]

    assert [arrow for arrow in ARROWS if not is_allowed(*arrow)] == []


#: The face and the rooms that notebooks and pages import from, with their names.
PUBLIC = {
    room: offered(importlib.import_module(room))
    for name in TREES
    if re.fullmatch(r"smpcore/(?!solvers|threads)\w+(/__init__)?\.py", name)
    for room in [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")]
}


def _attributes_of_rooms(name: str) -> list[str]:
    """What a file takes from packages that it imported as such: ``figures.roc``."""
    rooms = {target for target in _imports(name) if target in PUBLIC}
    return [
        f"smpcore.{node.value.id}.{node.attr}"
        for node in ast.walk(TREES[name])
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if f"smpcore.{node.value.id}" in rooms
    ]


def test_the_face_is_what_a_notebook_needs_first():
    face = {*PUBLIC["smpcore"]}
    tuners = {name for name in face if name.endswith("CV")}
    assert {name.removesuffix("CV") for name in tuners} <= face
    assert len(face - tuners) <= 28
    assert face <= {name for room in {*PUBLIC} - {"smpcore"} for name in PUBLIC[room]}


def test_pages_see_public_names_only():
    """Those of the face, the packages, and what a package offers."""
    public = {*PUBLIC}
    public |= {f"{room}.{name}" for room, names in PUBLIC.items() for name in names}
    for name in filter(_is_app, TREES):
        for target in [*_imports(name), *_attributes_of_rooms(name)]:
            assert not target.startswith("smpcore") or target in public, (name, target)


def test_no_arrow_points_upward():
    def floor(parts: list[str]) -> int:
        room = parts[1]
        if room == "methods" and parts[2:] and ROOT.joinpath(*parts[:3]).is_dir():
            room = "methods/shared" if parts[2] == "shared" else "methods/<key>"
        return next(i for i, rooms in enumerate(FLOORS) if room in rooms)

    for name, target in ARROWS:
        parts, module = name.removesuffix(".py").split("/"), target.split(".")
        if name.startswith("smpcore") and parts[1] != "__init__":
            inside = module[0] == "smpcore" and len(module) > 1
            assert not inside or floor(module) <= floor(parts), (name, target)


def _module(name: str) -> str:
    """Dotted name of a file."""
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def test_no_imports_go_round_in_a_circle():
    """Those inside functions and for types alone count too: they only hide a circle.

    What a visit remembers is typed by the modules that put it there.
    """
    modules = {*map(_module, TREES)}
    record = "pages/state/session.py"
    for_types = [node for node in TREES[record].body if isinstance(node, ast.If)]
    typed = {
        f"{node.module}.{alias.name}"
        for block in for_types
        for node in block.body
        for alias in node.names
    }
    assert ast.unparse(for_types[0].test) == "TYPE_CHECKING" and len(for_types) == 1
    imported: dict[str, set[str]] = {module: set() for module in modules}
    for name, target in ARROWS:
        # A name of a package that is no module of its own comes from the package.
        found = target if target in modules else target.rpartition(".")[0]
        if found in modules and not (name == record and target in typed):
            imported[_module(name)].add(found)
    TopologicalSorter(imported).prepare()  # its error names the modules of a circle


def test_a_method_takes_nothing_from_another_ones_folder():
    for name, target in ARROWS:
        own = re.match(r"smpcore/methods/(\w+)/", name)
        other = re.match(r"smpcore\.methods\.(\w+)\.", target)
        if own and other:
            assert other[1] in (own[1], "shared"), (name, target)


def test_a_page_takes_from_its_own_room_and_from_shared_ones_below():
    for name, target in ARROWS:
        if not (name.startswith("pages/") and target.startswith("pages.")):
            continue
        room = name.split("/")[1].removesuffix(".py")
        below = SHARED_ROOMS
        if room in SHARED_ROOMS:
            below = SHARED_ROOMS[: SHARED_ROOMS.index(room)]
        assert target.split(".")[1] in (room, *below), (name, target)


def test_the_picture_names_the_floors_in_their_order():
    text = (ROOT / ".github/ARCHITECTURE.md").read_text("utf-8")
    picture = text.split("## Floors")[1].split("```")[1]
    shared = [picture.index(f"pages/{room}/") for room in SHARED_ROOMS]
    assert shared == sorted(shared, reverse=True)
    library = picture[picture.index("evaluation") :]
    found = [min(map(library.index, floor & {*LIBRARY})) for floor in FLOORS[:8]]
    assert found == sorted(found, reverse=True)


def test_one_file_takes_what_streamlit_does_not_document():
    def is_deep(target: str) -> bool:
        return target.startswith(("streamlit.", "starlette", "google"))

    deep = {name for name, target in ARROWS if is_deep(target)}
    assert deep == {"pages/work/visitors.py"}
    version = tuple(map(int, streamlit.__version__.split(".")[:2]))
    assert (1, 67) <= version < (1, 70), "try a closed tab and a first visit of /data"


def test_no_page_or_figure_names_a_method():
    for name, tree in TREES.items():
        if _is_app(name) or _wall(name) == "smpcore/figures":
            for node in ast.walk(tree):
                named = isinstance(node, ast.Constant) and node.value in METHODS
                assert not named, f"{name}:{node.lineno}"


def test_the_parts_of_the_figure_do_not_hold_it():
    """They take what they need; only the transport knows Streamlit."""
    scripts = {path.name: path.read_text() for path in ROOT.glob("assets/canvas/*.js")}
    page = scripts.pop("streamlit.js")
    assert "setTriggerValue" in page and "st-key-" in page
    imports = re.findall(r'from "(\S+)"', scripts.pop("index.js"))
    assert imports == ["./notebook.js", "./saved.js", "./streamlit.js"]
    held = re.compile(r"setTriggerValue|st-key-|globalThis\.spe|\./streamlit\.js")
    assert [name for name, text in scripts.items() if held.search(text)] == []
    assert not re.search(r"new \w+\((.*, )?this[,)]", scripts.pop("figure.js"))
    # The other transports, and what stands around a figure.
    del scripts["saved.js"], scripts["notebook.js"], scripts["lesson_page.js"]
    held = re.compile(r"\bapp\b|\./figure\.js|\bstate(\.\w+)+ \W?=[^=]")
    assert [name for name, text in scripts.items() if held.search(text)] == []


def test_functions_stay_small():
    """A file may have any length, as long as it holds one idea."""
    for name in TEXTS:
        cap = 40 if _is_app(name) else 90 if _wall(name) == "smpcore/solvers" else 60
        for node in ast.walk(TREES[name]):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
                assert lines <= cap, f"{name}:{node.lineno} has {lines} lines"


def _arguments(node: ast.FunctionDef) -> list[ast.arg]:
    listed = node.args
    return [*listed.posonlyargs, *listed.args, *listed.kwonlyargs]


def test_a_function_of_the_library_has_few_arguments():
    """But for kernels, scikit-learn's constructors, and what a user types once."""
    many = [
        (name, node.name)
        for name, tree in TREES.items()
        if name.startswith("smpcore/") and _wall(name) != "smpcore/solvers"
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        if node.name not in ("__init__", "export")
        if len(_arguments(node)) > MOST_ARGUMENTS
    ]
    assert many == []


def test_what_is_no_control_is_a_field_of_the_session():
    """Text between brackets is the key of a control that a page draws."""
    drawn = "".join(text for name, text in TEXTS.items() if _is_app(name))
    used = 0
    for name, text in TEXTS.items():
        if not _is_app(name) or name == "pages/state/session.py":
            continue
        assert "session_state.setdefault" not in text, name
        pattern = r"session_state(?:\.(?:get|pop)\(|\[)\s*\"(\w+)\""
        for key in re.findall(pattern, text):
            assert f'key="{key}"' in drawn, f"{name}: {key}"
            used += 1
    assert used > 3


def test_a_result_of_the_session_has_a_slot_of_its_own():
    """Its type is that of the slot, and no two pages have the same name for one."""
    names = []
    for name, text in TEXTS.items():
        if _is_app(name) and name != "pages/state/session.py":
            names += re.findall(r"Slot\[[^()]*\]\(\s*\"([^\"]+)\"", text)
            assert not re.search(r"\.results\[|\.results\.", text), name
    assert len(names) > 40 and len(names) == len({*names})


def test_nobody_asks_an_estimator_whether_it_has_an_attribute():
    """All have what the contract says; None where it has no meaning."""
    names = {f"{field.name}_" for field in fields(Fitted)}
    names |= {"objective_", "gap_", "history_", "n_iter_", *vars(PrototypeEstimator)}
    families = {
        row.__name__
        for method in METHODS.values()
        for row in method.estimators.values()
    }
    for name, tree in TREES.items():
        if re.match(r"smpcore/methods/\w+/(?!row|method)", name):
            continue  # an estimator's own files
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                words = {n.value for n in node.args if isinstance(n, ast.Constant)}
                words |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                asked = names if node.func.id in ("getattr", "hasattr") else set()
                asked = families if node.func.id == "isinstance" else asked
                assert not words & asked, (name, node.lineno)


def test_nothing_prints_and_only_one_file_caches():
    for name, text in TEXTS.items():
        if not name.endswith(("__main__.py", "/command.py")):
            called = (n.func for n in ast.walk(TREES[name]) if isinstance(n, ast.Call))
            assert "print" not in [getattr(one, "id", "") for one in called], name
        if name != "pages/work/cache.py":
            assert "st.cache_" not in text, name


#: Writes tables as files; and a command, for a terminal.
WRITERS = {"smpcore/datasets/writers.py", "smpcore/papers/__main__.py"}


def test_tables_leave_through_one_writer():
    """It sees to it that no text of a table is a formula where it is opened."""
    names = {"to_csv", "to_excel", "writer", "DictWriter", "Workbook"}
    calls = {
        (name, node.lineno)
        for name in {*TREES} - WRITERS
        for node in ast.walk(TREES[name])
        if isinstance(node, ast.Attribute | ast.Name)
        if getattr(node, "attr", getattr(node, "id", "")) in names
    }
    assert calls == set()
    shown = tomllib.loads((ROOT / ".streamlit/config.toml").read_text("utf-8"))
    assert shown["client"]["disableDataExport"] is True


def test_files_are_given_to_the_browser_in_one_way():
    """Streamlit's own button loses what is made on a click: see `elements.download`."""
    for name, text in TEXTS.items():
        assert "download_button" not in text, name


def test_what_opens_has_a_key():
    """Without one it shuts as soon as something above it comes or goes."""
    opening = {"expander", "popover"}
    # Opens anew with what there is to clean.
    for name in {*TREES} - {"pages/data/cleaning.py"}:
        tree = TREES[name]
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in opening:
                assert "key" in {one.arg for one in node.keywords}, (name, node.lineno)


def test_the_visible_top_level_is_the_agreed_one():
    seen = {p.name for p in ROOT.iterdir() if not p.name.startswith(".")}
    agreed = {"app.py", "pages", "smpcore", "assets", "tests"}
    assert seen - {"__pycache__"} == agreed | {"requirements.txt", "README.md"}


def test_no_value_shows_itself():
    """Streamlit would print what an expression gives, an object with all methods."""
    settings = tomllib.loads((ROOT / ".streamlit/config.toml").read_text("utf-8"))
    assert settings["runner"]["magicEnabled"] is False
    for name in filter(_is_app, TREES):
        for node in ast.walk(TREES[name]):
            if isinstance(node, ast.Expr):
                kind = type(node.value)
                assert kind in (ast.Call, ast.Constant, ast.Yield, ast.Await), (
                    name,
                    node.lineno,
                )


def test_texts_write_numbers_in_one_way():
    """1745 and not 1.74e+03: `plain_number`; rounding a value is another thing."""
    rooms = ("pages/", "smpcore/explain/", "smpcore/model/", "smpcore/report")
    pattern = re.compile(r"(?<!float\(f\")\{[^{}]*:[,+]?\.[3-6]g\}")
    for name in filter(lambda name: name.startswith(rooms), TEXTS):
        for line in TEXTS[name].splitlines():
            assert not pattern.search(line), (name, line)


def _have_reasons(pattern, reasons, rooms):
    """Each line of the rooms that a pattern finds has a reason, and each reason one."""
    used = set()
    for name in filter(lambda name: name.startswith(rooms), TEXTS):
        for line in filter(pattern.search, TEXTS[name].splitlines()):
            here = [key for key in reasons if name.endswith(key[0]) and key[1] in line]
            assert here, (name, line)
            used.update(here)
    assert used == {*reasons}


#: A share that is written where it is computed.
_BY_HAND = re.compile(r"\{100 \* [^{}]*:[+]?\.\d[fg]\}")
#: File and a part of the line -> why no `Shown` and no `number_text` stands there.
_WRITTEN = {
    ("smpcore/readouts.py", "100 * COVERAGE"): "a name",
    ("smpcore/report/sections.py", "one.coverage"): "a name",
    ("smpcore/evaluation/new_rows.py", "100 * COVERAGE"): "a name",
    ("smpcore/model/calibration.py", "above 99 %"): "a chance, in words",
    ("pages/ui/elements.py", "100 * done"): "how far work is",
    ("smpcore/live/scene.py", "100 * share"): "how far work is",
    ("pages/papers/experiments.py", "100 * share"): "how far work is",
    ("smpcore/chips/costs.py", "error"): "how far off an estimate may be",
}


def test_shares_and_intervals_are_written_in_one_place():
    """So that a number, its interval and whose it is are the same on every page."""
    shown = (
        "pages/",
        "smpcore/live",
        "smpcore/report",
        "smpcore/explain",
        "smpcore/evaluation",
    )
    shown += ("smpcore/methods", "smpcore/model", "smpcore/chips", "smpcore/readouts")
    _have_reasons(_BY_HAND, _WRITTEN, shown)


#: How a class of two is named by its place, in what shows things.
_BY_PLACE = re.compile(
    r"(?:classes_?|labels|names)\[(?:0|1|-1)\]|\[:, ?[01]\]"
    r"|\b(?:y|y_encoded|truth|codes|answers|predicted|positive|outcome) == [01]\b"
)
#: File and a part of the line -> why the outcome does not decide there.
_PLACES = {
    ("state/links.py", "classes, context"): "a link of before has the second class",
    ("ui/outcome.py", "label is None"): "an estimator's own default",
    ("performance/confusion.py", "matrix.names[0]"): "the outcome is first",
    ("performance/confusion.py", "matrix.truth == 0"): "the outcome is first",
    ("prototypes/detail.py", "score of {names[1]}"): "the outcome is last",
    ("evaluation/operating.py", "_direction(model)"): "here it is turned, once",
    ("evaluation/recalibrate.py", "clipped_log_odds("): "the table turns it, once",
    **{
        (name, part): "a regression has one output"
        for name, part in (
            ("performance/errors.py", "rows.scores[:, 0]"),
            ("report/sections.py", '"weight": model.votes[:, 0]'),
            ("explain/contributions.py", "model.votes[:, 0], float"),
            ("explain/prototypes.py", "return model.votes[:, 0]"),
            ("explain/points.py", "side = (model.votes[:, 0] < 0)"),
            ("evaluation/new_rows.py", "scores[:, 0]"),
            ("evaluation/calibrate.py", "learn_intervals(scores[:, 0]"),
        )
    },
    **{
        (name, part): "these are no classes"
        for name, part in (
            ("live/points.py", "points[:, 1] if upright"),
            ("live/scene.py", "self.xy[:, "),
            ("state/undo.py", "labels[0] if labels"),
            ("live/lines.py", "names[0]"),
            ("data/tabs.py", "names[0]"),
            ("data/uploads.py", "names[0]"),
            ("explain/case.py", "cKDTree(rows)"),
            ("figures/portraits.py", "values[:, 0]"),
            ("figures/views.py", "xy[:, 1] = y"),
            ("figures/views.py", "edges(points[:, 0])"),
            ("figures/embedding.py", "tree.query"),
            ("figures/embedding.py", "edges(at[:, "),
            ("evaluation/new_rows.py", "two_best[:, 1]"),
            ("evaluation/folds.py", "shown(labels[0])"),
            ("evaluation/calibrate.py", "pairs[:, 0]"),
        )
    },
}


def test_no_class_of_two_is_named_by_its_place_in_what_is_shown():
    """Which one is the event is chosen once: `outcome` of a model and of a choice."""
    shown = (
        "pages",
        "smpcore/live",
        "smpcore/report",
        "smpcore/explain",
        "smpcore/figures",
    )
    shown += ("smpcore/evaluation", "smpcore/chips", "smpcore/readouts.py")
    _have_reasons(_BY_PLACE, _PLACES, shown)
