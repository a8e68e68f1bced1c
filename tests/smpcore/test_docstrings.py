"""What a public name takes, gives, raises and learns stands in its docstring."""

import ast
import importlib
import inspect
import pkgutil
import re
import textwrap
from pathlib import Path

import pytest

import smpcore
from smpcore import METHODS
from smpcore.solvers import kernel_files

ROOT = Path(smpcore.__file__).parents[1]
#: Pages make figures and sections of the report, and hosts figures that live; they
#: have no help to show.
OF_PAGES_ONLY = {"figures", "live", "report"}
PACKAGES = [smpcore.__name__] + [
    f"smpcore.{found.name}"
    for found in pkgutil.iter_modules(smpcore.__path__)
    if not found.name.startswith("_") and found.name not in OF_PAGES_ONLY
]
ESTIMATORS = [e for method in METHODS.values() for e in method.estimators.values()]
#: A description of a parameter that is shorter says nothing.
SHORTEST = 15
HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)


def sections(text):
    """Heading -> text of each section of a numpydoc docstring."""
    parts = HEADING.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def described(section):
    """Name -> description of each entry of a section."""
    entries, names = {}, []
    # A backslash continues the names of an entry on the next line.
    for line in re.sub(r"\\\n\s*", "", section).splitlines():
        if line and not line.startswith(" "):
            names = [name.strip(" *") for name in line.split(" : ")[0].split(",")]
            entries |= dict.fromkeys(names, "")
        for name in names if line.startswith(" ") else ():
            entries[name] = f"{entries[name]} {line.strip()}".strip()
    return entries


def methods_of(owner):
    """Public methods that a class itself defines."""
    for name, value in vars(owner).items():
        value = getattr(value, "__func__", value)
        if inspect.isfunction(value) and not name.startswith("_"):
            yield f"{owner.__name__}.{name}", value


def offered(module):
    """Names of `__all__`; without one, what the face of a package imports."""
    if hasattr(module, "__all__") or not hasattr(module, "__path__"):
        return getattr(module, "__all__", ())
    return [
        name
        for name, value in vars(module).items()
        if name[0] != "_" and not inspect.ismodule(value)
        if getattr(value, "__module__", "") != module.__name__
    ]


def public():
    """Label -> class or function that is offered; methods of the face's classes."""
    found = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in offered(module):
            value = inspect.unwrap(getattr(module, name))
            if not getattr(value, "__module__", "").startswith("smpcore"):
                continue
            if inspect.isclass(value):
                found[f"{value.__module__}.{name}"] = value
                if name in smpcore.__all__:
                    for label, method in methods_of(value):
                        found[f"{value.__module__}.{label}"] = method
            elif inspect.isfunction(value):
                found[f"{value.__module__}.{name}"] = value
    return found


PUBLIC = public()


def parameters(value):
    """Names of the parameters that a caller gives."""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return []
    names = [*inspect.signature(value).parameters]
    return [n for n in names if n not in ("self", "cls") and not n.startswith("_")]


def body(function):
    """Statements of a function, without those of functions inside it."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    waiting = [*tree.body]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            yield node
            waiting += ast.iter_child_nodes(node)


def entries_of(value):
    """Described parameters of a function, or of a class and its bases."""
    owners = value.__mro__[::-1] if inspect.isclass(value) else [value]
    entries = {}
    for owner in owners:
        parts = sections(inspect.cleandoc(owner.__doc__ or ""))
        # A record of fields lists them as attributes, which are its parameters.
        entries |= described(parts.get("Attributes", ""))
        entries |= described(parts.get("Parameters", ""))
    return entries


def missing(value):
    """Sentences about what a docstring lacks."""
    text = inspect.getdoc(value) or ""
    parts, entries = sections(text), entries_of(value)
    for name in parameters(value):
        if len(entries.get(name, "")) < SHORTEST:
            yield f"parameter {name}: {entries.get(name, 'absent')!r}"
    if not inspect.isfunction(value):
        return
    statements = [*body(value)]
    gives = any(isinstance(n, ast.Return) and n.value for n in statements)
    gives |= any(isinstance(n, ast.Yield | ast.YieldFrom) for n in statements)
    if gives and not {"Returns", "Yields"} & {*parts}:
        yield "no Returns"
    raising = [n for n in statements if isinstance(n, ast.Raise) and n.exc]
    if raising and "Raises" not in parts:
        yield "no Raises"


def test_a_docstring_describes_what_goes_in_and_what_comes_out():
    assert len(PUBLIC) > 200
    lacking = {label: [*missing(value)] for label, value in PUBLIC.items()}
    assert {label: lacks for label, lacks in lacking.items() if lacks} == {}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_an_estimator_says_what_it_learns_where_it_is_from_and_how_it_is_used(
    estimator,
):
    parts = sections(inspect.getdoc(estimator))
    assert {"Parameters", "Attributes", "References", "Examples"} <= {*parts}
    assert ">>> " in parts["Examples"]
    described_ones = described(parts["Attributes"])
    for name in ("model_", "objective_", "gap_", "n_iter_", "history_"):
        assert described_ones.get(name), name


#: Names that the field has a word for. Not here are codes, owner and tell, which are
#: such words elsewhere: codes of pandas and of a sparse code, owner of a descriptor,
#: tell of a file.
INVENTED = {*Path(__file__).with_name("invented_names.txt").read_text("utf-8").split()}
#: Of these, and of the next, what pandas and the pages name so, or what they are given.
OF_PAGES = {"how", "lesson", "owners", "asked", "given"}
#: Names that only these rooms still have.
LEFT = {
    "smpcore/chips": {"told", "said", "given", "asked"},
    "smpcore/codegen": {"told", "given", "own", "found", "kept", "ends"},
    "smpcore/methods/supersparse": {"found"},
    "smpcore/solvers": {"found", "own", "kept"},
}
KERNELS = {*kernel_files()}
SOURCES = [ROOT / "app.py", *ROOT.glob("pages/**/*.py"), *ROOT.glob("smpcore/**/*.py")]


def room(path):
    """Folder whose names a file may use."""
    if path in KERNELS:
        return "smpcore/solvers"
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[: 3 if parts[1] == "methods" else 2])


def banned(path):
    """Names that a file may not use."""
    if path.relative_to(ROOT).parts[:2] == ("pages", "data"):
        return INVENTED - OF_PAGES
    if path.relative_to(ROOT).parts[0] != "smpcore":
        return INVENTED.union(*LEFT.values()) - OF_PAGES
    return INVENTED.union(*LEFT.values()) - LEFT.get(room(path), set())


def identifiers(tree):
    """Every name that the code of a module defines or uses."""
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name", "asname", "module"):
            name = getattr(node, field, None)
            if isinstance(name, str):
                yield from name.split(".")


def test_a_name_is_one_that_the_field_has():
    used = {path: {*identifiers(ast.parse(path.read_text()))} for path in SOURCES}
    assert {path: bad for path in SOURCES if (bad := banned(path) & used[path])} == {}


def variables(tree):
    """Every variable and parameter of the functions of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            for inner in ast.walk(node):
                if isinstance(inner, ast.arg):
                    yield inner.arg
                elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    yield inner.id


#: Names that say nothing of what a variable holds.
EMPTY = {"own", "found", "kept", "told", "said", "came", "given", "ends", "how", "of"}


@pytest.mark.parametrize(
    "path",
    [path for path in SOURCES if path.relative_to(ROOT).parts[0] != "smpcore"],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_a_variable_of_a_page_is_named_after_what_it_holds(path):
    if path.parent.name != "data":
        assert not EMPTY.intersection(variables(ast.parse(path.read_text())))
