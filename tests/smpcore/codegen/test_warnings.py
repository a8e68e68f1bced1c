"""All generated C is clean under what careful projects compile with, as C++ too."""

import pytest

from smpcore.codegen import compile_model, emit_c99, quantise
from smpcore.codegen import test_vectors as vectors_of
from smpcore.codegen.targets.c99.selftest import selftest_files
from tests.smpcore.codegen.kernel_models import coded_model, random_kernel_model
from tests.smpcore.codegen.random_models import random_linear
from tests.smpcore.codegen.toolchain import run

WARNINGS = (
    "-Wall -Wextra -pedantic -Wfloat-equal -Wconversion -Wsign-conversion -Werror"
).split()
LANGUAGES = {
    "gcc": "-std=c99 -O2",
    "g++": "-x c++ -std=c++17 -O2 -Wold-style-cast",
    "clang++": "-x c++ -std=c++17 -O2 -Wold-style-cast",
}


@pytest.fixture(scope="module")
def sources(mixed_model, tmp_path_factory):
    """Folders with the C files of models that take every branch of the emitters."""
    models = {
        "mixed": mixed_model,
        "mixed int8": quantise(mixed_model, 8),
        "linear int16": quantise(compile_model(random_linear()), 16),
        "rbf": compile_model(random_kernel_model("rbf")),
        "rbf int16": quantise(compile_model(random_kernel_model("rbf")), 16),
        "cosine": compile_model(random_kernel_model("cosine")),
        "intersection": compile_model(random_kernel_model("intersection")),
        "code": compile_model(coded_model()),
    }
    folders = {}
    for name, model in models.items():
        folders[name] = folder = tmp_path_factory.mktemp("c")
        for file, content in emit_c99(model).items():
            (folder / file).write_bytes(content)
        texts = selftest_files(model, vectors_of(model, n=8), "mdl")
        for file, text in texts.items():
            (folder / file).write_text(text)
    return folders


@pytest.mark.parametrize("compiler", LANGUAGES)
def test_no_warning(sources, tool, compiler):
    flags = LANGUAGES[compiler].split()
    for folder in sources.values():
        files = sorted(path.name for path in folder.glob("*.c"))
        command = [tool(compiler), *flags, *WARNINGS, "-fsyntax-only", *files]
        run(*command, cwd=folder)


def test_names_of_classes_can_be_left_out(sources, tool, tmp_path):
    folder = sources["mixed"]
    command = [tool("gcc"), "-std=c99", "-c", folder / "mdl.c"]
    run(*command, "-DMDL_NO_LABELS", "-o", tmp_path / "mdl.o")
    assert b"mdl_label" not in (tmp_path / "mdl.o").read_bytes()
