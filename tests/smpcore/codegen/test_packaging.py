"""Libraries keep the rules of those who take them in: Arduino, PlatformIO, Zephyr.

None of their tools is needed. The rules are those of arduino-lint (names of its rule
functions), of PlatformIO Core 6.2 and of Zephyr's module metadata.
"""

import json
import re

import pytest

from smpcore import codegen
from smpcore.codegen import quantise
from tests.smpcore.codegen.models import groups
from tests.smpcore.codegen.toolchain import bundle, run, unpack

#: Longest names: of a model, and the default for a long name of a data set.
NAMES = ["mdl", "iris_2", "a" * 14]


@pytest.fixture(params=["float32", "int8"])
def model(mixed_model, request):
    return mixed_model if request.param == "float32" else quantise(mixed_model, 8)


def _library(model, folder, target, name="mdl"):
    unpack(bundle(model, codegen.test_vectors(model, n=8), name, target), folder / name)
    return folder / name


#: A version of semver.org: another model is another version.
_VERSION = r"1\.0\.0\+[0-9a-f]{8}"
#: Entry of library.properties -> what arduino-lint takes; no word of its own in a name.
PROPERTIES = {
    "name": r"(?i)(?!.*(arduino|library))[a-z0-9][a-z0-9_.-]{0,15}",
    "version": _VERSION,
    "author": ".+",
    "maintainer": r"(?i)(?!arduino)[^@]+",
    "sentence": ".+",
    "paragraph": ".+",
    "category": "Data Processing",
    "url": r"https://(?!example)[a-z.]+/\S+",
    "architectures": r"\*",
    "includes": r"\w+\.h",
}


@pytest.mark.parametrize("name", NAMES)
def test_an_arduino_library_keeps_the_rules(model, tmp_path, name):
    library = _library(model, tmp_path, "arduino", name)
    text = (library / "library.properties").read_text()
    told = dict(line.split("=", 1) for line in text.splitlines())
    assert told.keys() == PROPERTIES.keys()
    for field, pattern in PROPERTIES.items():
        assert re.fullmatch(pattern, told[field]), field
    assert told["sentence"] not in told["paragraph"]
    assert told["name"] == name and told["includes"] == f"{name}.h"
    assert codegen.model_id(model) in told["version"]
    assert (library / f"src/{name}.h").is_file()
    files = [path for path in library.rglob("*") if path.is_file()]
    paths = [path.relative_to(library).parts for path in files]
    top = {"LICENSE", "README.md", "keywords.txt", "library.properties"}
    assert {one[0] for one in paths} == {*top, "src", "extras", "examples"}
    assert {one[0] for one in paths if len(one) == 1} == top
    # A sketch is named as its folder.
    sketches = [one[1:] for one in paths if one[0] == "examples"]
    assert sketches and all(file == f"{folder}.ino" for folder, file in sketches)
    wrong = r"#include [<\"](?!Arduino\.h)(?i:arduino\.h)"
    assert not re.search(wrong, "".join(path.read_text() for path in files))


@pytest.mark.parametrize("name", NAMES)
def test_a_manifest_is_as_platformio_validates_it(model, tmp_path, name):
    library = _library(model, tmp_path, "platformio", name)
    told = json.loads((library / "library.json").read_text())
    assert re.fullmatch(r"[^:;/,@<>]{1,100}", told.pop("name"))
    version = told.pop("version")
    assert re.fullmatch(_VERSION, version) and codegen.model_id(model) in version
    assert 1 <= len(told.pop("description")) <= 1000
    assert told.pop("license") == "0BSD"  # of the SPDX list, which it downloads
    for word in told.pop("keywords").split(","):
        assert re.fullmatch(r"[a-z\d\-_+. ]{1,50}", word.strip())
    for field in ("platforms", "frameworks"):
        assert re.fullmatch(r"([a-z\d\-_]+|\*){1,50}", told.pop(field))
    sources = library / told.pop("build")["srcDir"]
    assert (sources / told.pop("headers")).is_file()
    assert not told


@pytest.mark.parametrize("group", groups())
def test_a_crate_is_clean_for_clippy_and_rustfmt(tool, tmp_path, group):
    """As they come, with all lints that clippy warns of by itself."""
    models = [*groups()[group].values()]
    clippy = [tool("clippy-driver"), "--edition", "2021", "--emit", "metadata"]
    for place, model in enumerate((models[0], models[len(models) // 2], models[-1])):
        crate = _library(model, tmp_path, "rust", f"m{place}")
        for more in (["--crate-type", "lib"], ["--test"]):
            run(*clippy, *more, "-D", "warnings", "src/lib.rs", cwd=crate)
        sources = sorted(crate.rglob("*.rs"))
        run(tool("rustfmt"), "--edition", "2021", "--check", *sources)


#: Uses all that every module has, by the types that its `.d.mts` declares.
_TYPESCRIPT = """
import * as model from "./mdl.mjs";
const x: number[] = model.INPUTS.map((one) => (one.low + one.high) / 2);
const answer: number = model.predict(x);
const rows: number[] = model.rowScores(x);
const parts: number[][] = model.contributions(x);
const about: string = `${model.NAME} ${model.ID} ${model.FORMAT} ${model.PART}`;
export { answer, rows, parts, about };
"""
#: Names and kinds of what a module exports, and of what its functions give.
_EXPORTS = """
import * as model from "./mdl.mjs";
const row = model.INPUTS.map((one) => (one.low + one.high) / 2);
const x = model.quantise ? model.quantise(row) : row;
const kind = (one) => (Array.isArray(one) ? `${kind(one[0])}[]` : typeof one);
for (const [name, one] of Object.entries(model)) {
  const found = typeof one === "function" ? one(name === "label" ? 0 : x) : one;
  console.log(typeof one === "function" ? `${name}()` : name, kind(found));
}
"""


def test_modules_have_the_types_that_they_declare(tool, tmp_path):
    """By TypeScript's compiler, and by what the modules give when they run."""
    groups_of_models = [[*models.values()] for models in groups().values()]
    models = [one for group in groups_of_models for one in (group[0], group[-1])]
    for place, model in enumerate(models):
        folder, vectors = tmp_path / str(place), codegen.test_vectors(model, n=8)
        unpack(bundle(model, vectors, "mdl", "javascript"), folder)
        (folder / "use.mts").write_text(_TYPESCRIPT)
        (folder / "exports.mjs").write_text(_EXPORTS)
        given = run(tool("node"), "exports.mjs", cwd=folder).decode()
        found = dict(line.split() for line in given.splitlines())
        if not model.labels:
            found["CLASSES"] = "string[]"  # of which there are none
        declared = (folder / "mdl.d.mts").read_text()
        lines = re.findall(
            r"export (?:const|function) (\w+)(.*): (.+);$", declared, re.M
        )
        told = {f"{name}{'()' if x else ''}": kind for name, x, kind in lines}
        told |= {"PART": "string", "INPUTS": "object[]"}
        assert told == found
        package = json.loads((folder / "package.json").read_text())
        assert re.fullmatch(_VERSION, package["version"])
        assert re.fullmatch(r"[a-z][a-z0-9_]{0,213}", package["name"])
        assert package["type"] == "module" and package["license"] == "0BSD"
        used = [*package["files"], *package["exports"]["."].values()]
        assert all((folder / path).is_file() for path in used)
    assert b"selftest: 0 of 8 differ" in run(tool("npm"), "test", cwd=folder)
    strict = "--noEmit --strict --module node16 --target es2020".split()
    run(tool("tsc"), *strict, *sorted(tmp_path.glob("*/use.mts")))
