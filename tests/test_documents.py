"""Pages for maintainers name files and names that exist, and every mechanism."""

from __future__ import annotations

import ast
import re

import pytest

from smpcore import METHODS
from tests.guide import ROOT
from tests.test_architecture import TREES

PAGES = {
    name: (ROOT / ".github" / name).read_text("utf-8")
    for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "LOOKS.md")
}
_TOPS = ("app.py", "pages/", "smpcore/", "assets/", "tests/", ".github/")


def _mentions(page: str) -> list[tuple[str, str]]:
    """Path and name of each file in backticks; for `<key>` those of every method."""
    found = []
    for text in re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", page, flags=re.S)):
        path, _, name = text.partition(": ")
        keys = METHODS if "<key>" in path else ("",)
        for one in (path.replace("<key>", key) for key in keys):
            if one.startswith(_TOPS) and not {" ", "<", "*"} & {*one}:
                found.append((one, name))
    return found


MENTIONS = [(page, *of) for page, text in PAGES.items() for of in _mentions(text)]


def _names_of_python(body: list[ast.stmt], before: str = "") -> set[str]:
    names = set()
    for node in body:
        if isinstance(node, ast.ClassDef):
            names |= _names_of_python(node.body, f"{before}{node.name}.")
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(before + node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {before + t.id for t in targets if isinstance(t, ast.Name)}
    return names


def _names(path: str) -> set[str]:
    """What a file defines: functions, classes with their methods, constants."""
    text = (ROOT / path).read_text("utf-8")
    if path.endswith(".py"):
        return _names_of_python(ast.parse(text).body)
    words = r"^(?:export )?(?:function|class|const) (\w+)|^  (\w+)\(.*\{$"
    return {a or b for a, b in re.findall(words, text, re.MULTILINE)}


def test_there_is_something_to_look_up():
    assert len(MENTIONS) > 100
    assert len([name for _, _, name in MENTIONS if name]) > 60


@pytest.mark.parametrize("page", PAGES)
def test_every_file_and_name_exists(page):
    of_page = {(path, name) for where, path, name in MENTIONS if where == page}
    assert [path for path, _ in of_page if not (ROOT / path).exists()] == []
    named = [(path, name) for path, name in of_page if name]
    assert [pair for pair in named if pair[1] not in _names(pair[0])] == []


def test_it_is_short_and_has_twelve_concepts_and_eight_recipes():
    page = PAGES["ARCHITECTURE.md"]
    concepts = page.split("## Twelve concepts")[1].split("\n## ")[0]
    assert len(re.findall(r"^\| `", concepts, re.MULTILINE)) == 12
    recipes = page.split("## Where a change goes")[1].split("\n## ")[0]
    assert len(re.findall(r"^\*\*", recipes, re.MULTILINE)) == 8
    assert len(page.split()) < 2000


def test_a_new_similarity_is_a_file_and_two_examples():
    recipe = PAGES["ARCHITECTURE.md"].split("**A similarity.**")[1].split("\n\n")[0]
    assert len({path for path, _ in _mentions(recipe)}) <= 4


#: Who calls one of these starts a thread or a process, or keeps what it has computed.
_BY_HAND = {"Thread", "Timer", "ThreadPoolExecutor", "ProcessPoolExecutor", "Popen"}
_BY_HAND |= {"Condition", "LRUCache", "TTLCache", "cache_resource", "memmap"}
#: A command, which starts what the standard library has and nothing of its own.
_COMMANDS = "__main__.py"


def test_every_mechanism_by_hand_is_in_the_table():
    table = PAGES["ARCHITECTURE.md"].split("## Mechanisms of our own")[1]
    listed = {path for path, _ in _mentions(table)}
    found = {
        name
        for name, tree in TREES.items()
        if not name.endswith(_COMMANDS)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call | ast.ClassDef)
        for part in ([node.func] if isinstance(node, ast.Call) else node.bases)
        if getattr(part, "attr", getattr(part, "id", "")) in _BY_HAND
    }
    assert len(found) > 10
    assert found - listed == set()
