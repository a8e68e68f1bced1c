"""Models as zips: one call, an identity, and files that a stranger can use."""

import json
import re
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from smpcore import (
    METHODS,
    SMaLLClassifier,
    SMPClassifier,
    codegen,
    export,
    load_dataset,
    prepare,
    split,
)
from smpcore.codegen import (
    NUMBERS,
    TARGETS,
    Counts,
    Package,
    SensorRange,
    compile_model,
    model_id,
    quantise,
)
from smpcore.codegen.inputs import in_counts, table_in_counts
from smpcore.errors import ExportError
from tests.smpcore.codegen.models import changed, every_kind, part
from tests.smpcore.codegen.test_feature_stream import featured
from tests.smpcore.codegen.test_stream import streamed
from tests.smpcore.codegen.toolchain import (
    CommandFailed,
    bundle,
    contents,
    run,
    unpack,
    write,
)

PETAL = "petal length (cm)"


@pytest.fixture(scope="module")
def iris():
    """A fitted model of iris, its preparation, and the raw training rows."""
    dataset = load_dataset("iris")
    parts = split(dataset)
    preparation = prepare(dataset, parts.train)
    X = preparation.transform(dataset.frame)[parts.train]
    model = SMPClassifier().fit(X, dataset.y[parts.train]).model_
    return model, preparation, dataset.frame.iloc[parts.train]


@pytest.mark.parametrize("target", sorted({*TARGETS} - {"onnx"}))  # has its own tests
def test_one_call_gives_a_zip_for_every_target(iris, target):
    model, preparation, _ = iris
    for number in TARGETS[target].numbers:
        packed = export(model, preparation, target, number)
        assert packed == export(model, preparation, target, number, "iris")
        files = contents(packed)
        readme = files["README.md"].decode()
        assert [name for name in files if f"`{name}`" not in readme] == []
        assert "weights in all, 3 classes" in readme  # inputs are in the title
        compiled, width = compile_model(model, preparation), NUMBERS[number]
        number_of = model_id(quantise(compiled, width) if width else compiled)
        assert f"ID `{number_of}`" in readme
        (data,) = (n for n in files if n.endswith("iris.json"))
        told = json.loads(files[data])
        assert (told["name"], told["id"]) == ("iris", number_of)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"target": "fortran"}, "target='fortran' should be one of 'c99', 'arduino'"),
        ({"number": "int4"}, "number='int4' should be one of 'float32', 'int16'"),
        ({"target": "verilog"}, "'float32' is no .* choose 'int16' or 'int8'"),
        ({"target": "onnx", "number": "int16"}, "no format of ONNX; choose 'float32'"),
        ({"name": "Iris"}, "name='Iris' should be a lower-case letter"),
        ({"name": "stdio"}, "no header of C or Arduino"),
        ({"target": "arduino", "name": "arduino_x"}, "should not begin with 'arduino'"),
        ({"vectors": 65}, "n=65 should be from 1 to 64"),
        ({"vectors": 0}, "n=0 should be from 1 to 64"),
        ({"ranges": {"x": SensorRange(0, 1)}, "number": "int8"}, "has no input 'x'"),
        ({"counts": {"x": Counts(1.0)}}, "counts names 'x', which is no number of"),
        ({"counts": {PETAL: Counts(-1.0)}}, r"scale=-1.0 .* above 0; where a larger"),
        ({"counts": {PETAL: Counts(1.0, low=5, high=5)}}, "low=5 .* below high=5"),
    ],
)
def test_what_cannot_be_exported_is_said(iris, changes, told):
    with pytest.raises(ExportError, match=told):
        export(*iris[:2], **changes)


def test_an_estimator_is_no_model():
    with pytest.raises(ExportError, match="the model_ of a fitted"):
        export(SMPClassifier())


def test_the_name_comes_from_the_data_set(iris):
    model, preparation, rows = iris
    assert "iris.h" in contents(export(model, preparation))
    assert "model.h" in contents(export(model))
    told = {"data": {"name": "Größe, in cm (2026)"}}
    assert "groe_in_cm.h" in contents(export(model, preparation, provenance=told))
    files = contents(export(model, preparation, real_rows=rows))
    assert "11 real rows of Iris" in files["README.md"].decode()


def test_an_id_is_that_of_all_that_decides():
    ids = [model_id(model) for model in every_kind().values()]
    assert len({*ids}) == len(ids)
    assert all(re.fullmatch("[0-9a-f]{8}", number) for number in ids)
    model = every_kind()["linear", "float32"]
    told = replace(model, provenance={"data": {"name": "other"}})
    assert model_id(told) == model_id(model)
    filled = replace(model.inputs[0], missing=1.0), *model.inputs[1:]
    others = [changed(model, bias=part(model, "bias") + np.float32(2.0**-10))]
    others += [changed(model, weight=part(model, "weight") + np.float32(2.0**-10))]
    others += [replace(model, tie=0.5), replace(model, fallback=1)]
    others += [replace(model, classes=model.classes[::-1])]
    others += [replace(model, inputs=filled)]
    assert len({model_id(one) for one in (model, *others)}) == len(others) + 1


def test_the_identity_is_in_every_file(tmp_path):
    for place, ((kind, number), model) in enumerate(every_kind().items()):
        folder = tmp_path / str(place)
        unpack(bundle(model, codegen.test_vectors(model), "abc"), folder)
        told = f"/* Model abc, ID {model_id(model)}, {number}, format 2. */"
        for file in folder.glob("*.[ch]"):
            assert told in file.read_text(), (kind, file)
        header = (folder / "abc.h").read_text()
        for line in (f'ID "{model_id(model)}"', 'NAME "abc"', "FORMAT 2"):
            assert f"#define ABC_{line}" in header
        assert not re.search(r"\bMDL|\bmdl|MODEL_H", header)


def test_two_models_of_each_kind_live_in_one_program_of_cpp(tool, tmp_path):
    """No two names are equal, and every model still passes its own self-test."""
    units, calls = defaultdict(str), []
    for place, model in enumerate(every_kind().values()):
        for name in (f"a{place}", f"b_{place}"):
            package = Package(model, codegen.test_vectors(model, n=8), name)
            files = package.sources | package.tests
            write(tmp_path, {path: text.encode() for path, text in files.items()})
            for path in files:  # a unit for all files that are named alike
                units[path.removeprefix(name)] += f'#include "{path}"\n'
            calls += [f"{name}_selftest()"]
            calls += [f"{name}_selftest_quantise()"] * model.is_integer
    main = f"int main(void)\n{{\n    return {' + '.join(calls)};\n}}\n"
    units["main.c"] = units[".h"] + units["_selftest.h"] + main
    sources = [f"all{end}" for end in units if end.endswith(".c")]
    assert len(sources) > 4
    write(tmp_path, {f"all{end}": text.encode() for end, text in units.items()})
    command = [tool("g++"), "-x", "c++", "-std=c++98", "-ffp-contract=off", "-o", "all"]
    run(*command, *sources, cwd=tmp_path)
    run(tmp_path / "all")


def test_a_namespace_of_cpp_has_every_function_of_a_header(tool, tmp_path):
    streams = {
        f"s{k}": Package(model, codegen.test_vectors(model, n=4), f"s{k}", stream)
        for k, (model, stream) in enumerate([streamed(None, 7, 3), featured(8, 8, 8)])
    }
    for place, model in enumerate(every_kind().values()):
        name = f"a{place}"
        streams[name] = Package(model, codegen.test_vectors(model, n=4), name)
    lines, flags = (
        [],
        "-std=c++11 -Wall -Wextra -pedantic -Werror -fsyntax-only".split(),
    )
    for name, package in streams.items():
        files = package.sources
        write(tmp_path, {path: text.encode() for path, text in files.items()})
        headers = [
            path for path in files if re.fullmatch(rf"{name}(_stream)?\.h", path)
        ]
        text = "".join(map(files.get, headers))
        called = {*re.findall(rf"\b{name}_(\w+)\([^()]*\);", text)}
        assert {"predict", "check"} <= called
        lines += [f'#include "{name}.hpp"']
        lines += [f'static_assert(&{name}::{f} == &{name}_{f}, "");' for f in called]
    lines.append("static s0::stream one; int main() { s0::stream_start(&one); }")
    (tmp_path / "all.cpp").write_text("\n".join(lines))
    run(tool("g++"), *flags, "all.cpp", cwd=tmp_path)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("target", ["c99", "javascript", "python"])
def test_units_are_in_the_files_and_not_in_the_id(iris, target, number):
    plain, files = (
        contents(export(*iris[:2], target, number, ranges={PETAL: one}))
        for one in (SensorRange(0.5, 7.5), SensorRange(0.5, 7.5, unit="*/ m%"))
    )
    for name in {"README.md", "iris.json", "iris.mjs"} & set(files):
        assert b"m%" in files[name] and b"m%" not in plain[name]
    if target == "c99":
        (line,) = [x for x in files["iris.h"].splitlines() if b"_IN_PETAL_LENGTH" in x]
        assert b"1 to 6.7" in line and line.endswith(b"/ m% */")
    told = [json.loads(found["iris.json"]) for found in (plain, files)]
    assert told[0]["id"] == told[1]["id"] and told[0] != told[1]
    with pytest.raises(ExportError, match="has no input 'nothing'"):
        export(*iris[:2], target, number, ranges={"nothing": SensorRange(0, 1)})


def _cmake(tool, folder, lists, main, target):
    """Build a project of its own around the model in its folder, and run it."""
    (folder / "main.c").write_text(main)
    (folder / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.10)\nproject(user C)\n{lists}"
    )
    run(tool("cmake"), "-B", "own", cwd=folder)
    run(tool("cmake"), "--build", "own", cwd=folder)
    run(folder / "own" / target)


def test_a_cmake_project_takes_a_model_in(tool, tmp_path):
    model = every_kind()["linear", "int8"]
    unpack(bundle(model, codegen.test_vectors(model), target="cmake"), tmp_path / "mdl")
    lists = "add_subdirectory(mdl)\nadd_executable(user main.c)\n"
    lists += "target_link_libraries(user PRIVATE mdl::mdl)\n"
    main = "#include <mdl.h>\nint main(void) { return MDL_FORMAT != 2; }\n"
    _cmake(tool, tmp_path, lists, main, "user")


#: What a build of Zephyr offers to a module, as plain CMake.
_ZEPHYR = """
set(CONFIG_MDL_MODEL y)
set(CONFIG_MDL_MODEL_SELFTEST {selftest})
function(zephyr_include_directories)
  include_directories(${{ARGV}})
  set_property(GLOBAL PROPERTY included ${{CMAKE_CURRENT_SOURCE_DIR}}/${{ARGV}})
endfunction()
function(zephyr_library)
  add_library(model STATIC)
endfunction()
function(zephyr_library_compile_options)
  target_compile_options(model PRIVATE ${{ARGV}})
endfunction()
function(zephyr_library_sources)
  target_sources(model PRIVATE ${{ARGV}})
endfunction()
function(zephyr_library_sources_ifdef option)
  if(${{option}})
    target_sources(model PRIVATE ${{ARGN}})
  endif()
endfunction()
add_subdirectory(mdl/zephyr)
get_property(included GLOBAL PROPERTY included)
target_include_directories(model PUBLIC ${{included}})
add_executable(app main.c)
target_link_libraries(app model)
"""


@pytest.mark.parametrize("number", ["float32", "int8"])
def test_a_zephyr_module_has_what_a_build_looks_for(tool, tmp_path, number):
    model = every_kind()["linear", number]
    packed = bundle(model, codegen.test_vectors(model), target="zephyr")
    files = [tmp_path / "mdl" / name for name in unpack(packed, tmp_path / "mdl")]
    texts = {path.name: path.read_text() for path in files if "zephyr/" in str(path)}
    wanted = "name: mdl\nbuild:\n  cmake: zephyr\n  kconfig: zephyr/Kconfig\n"
    assert texts["module.yml"] == wanted
    known = re.findall(r"^config (\w+)$", texts["Kconfig"], re.M)
    assert known == ["MDL_MODEL", "MDL_MODEL_SELFTEST"]
    assert {*re.findall(r"CONFIG_(\w+)", texts["CMakeLists.txt"])} == {*known}
    main = "#include <mdl_selftest.h>\nint main(void) { return mdl_selftest(); }\n"
    _cmake(tool, tmp_path, _ZEPHYR.format(selftest="y"), main, "app")
    with pytest.raises(CommandFailed, match="mdl_selftest"):
        _cmake(tool, tmp_path, _ZEPHYR.format(selftest="n"), main, "app")


def test_the_self_test_of_python_reads_decimals_exactly():
    """By integers: where floats have 32 bits, `float` need not give the nearest."""
    model = every_kind()["linear", "float32"]
    files = contents(bundle(model, codegen.test_vectors(model), target="python"))
    text = files["mdl_selftest.py"].decode().replace("import mdl as module", "")
    module = {}
    exec(text[: text.index("wrong = count")], module)
    random = np.random.default_rng(0)
    bits = random.integers(0, 2**32, 3000, dtype=np.uint32)
    ends = [0, 1 << 31, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x3F800000, 0x3F7FFFFF]
    values = np.concatenate([bits, np.array(ends, np.uint32)]).view(np.float32)
    values = values[np.isfinite(values)]
    read = np.array([module["number"](f"{v:.9g}") for v in values.tolist()])
    np.testing.assert_array_equal(read.astype(np.float32).view("u4"), values.view("u4"))
    assert np.isnan(module["number"]("nan")) and module["number"]("-inf") == -np.inf


#: A converter of 10 bits for each column of iris.
ADC = {
    "sepal length (cm)": Counts(0.01, 0.0),
    "sepal width (cm)": Counts(0.02, -1.5),
    PETAL: Counts(0.0078125, -0.25),
    "petal width (cm)": Counts(0.003, 0.05),
}


@pytest.mark.parametrize("method", ["smallk", "supersparse"])
def test_counts_of_a_converter_give_the_same_answers(method):
    dataset = load_dataset("iris")
    preparation = prepare(dataset, np.arange(dataset.n_samples))
    X = preparation.transform(dataset.frame)
    model = METHODS[method].estimators["classification"]().fit(X, dataset.y).model_
    counted, prepared, ranges = in_counts(model, preparation, ADC)
    counts = np.column_stack([ADC[n].of(dataset.frame[n]) for n in ADC])
    np.testing.assert_allclose(counted.scores(counts), model.scores(X), atol=1e-9)
    compiled = compile_model(counted, prepared)
    rows = compiled.rows(table_in_counts(dataset.frame, ADC))
    kept = [list(ADC).index(entry.name) for entry in compiled.inputs]
    np.testing.assert_allclose(rows, counts[:, kept], atol=0.5 + 1e-9)
    assert (rows == np.rint(rows)).all() and (rows >= 0).all() and (rows <= 1023).all()
    quant = quantise(compiled, 16, {e.name: ranges[e.name] for e in compiled.inputs})
    assert all(one.exact for one in quant.inputs)
    assert (quant.predict(rows) == dataset.y).mean() > 0.9


def test_counts_of_a_column_that_is_not_used_are_left_out(iris):
    _, preparation, rows = iris
    X = preparation.transform(rows)
    model = SMaLLClassifier(k=1).fit(X, X[:, 2] > 3).model_
    files = contents(export(model, preparation, number="int16", counts=ADC))
    assert files["iris.h"].count(b"_IN_") < 4


def test_a_chip_with_counts_links_no_float(iris, tool, tmp_path):
    model, preparation, rows = iris
    options = {"number": "int16", "counts": ADC, "real_rows": rows}
    unpack(export(model, preparation, **options), tmp_path)
    readme = (tmp_path / "README.md").read_text()
    assert "whole numbers, as they are" in readme and "no chip needs" in readme
    assert "| counts, petal length (cm) | -0.25 + 0.0078125 \\* count |" in readme
    header = (tmp_path / "iris.h").read_text()
    assert "/* the number itself, 0 to 1023, 160 to 890 in training counts */" in header
    assert b"selftest: 0 of" in run(tool("make"), "CC=" + tool("gcc"), cwd=tmp_path)
    vectors = pd.read_csv(tmp_path / "iris_test_vectors.csv")
    real = vectors[vectors["kind"] == "real"]
    assert len(real) == 11 and real["petal_length_cm"].between(160, 890).all()
    flags = ["-mcpu=cortex-m0", "-mthumb", "-Os", "-c", "iris.c", "-o", "m.o"]
    run(tool("arm-none-eabi-gcc"), *flags, cwd=tmp_path)
    assert b"aeabi_f" not in run(tool("arm-none-eabi-nm"), "m.o", cwd=tmp_path)
