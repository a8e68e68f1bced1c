import re
import string
from dataclasses import replace

import numpy as np
import pytest

from smpcore.chips import CHIPS
from smpcore.codegen import compile_model, emit_c99, quantise
from smpcore.codegen.names import c_bytes, identifier
from smpcore.errors import ExportError
from tests.smpcore.codegen.models import changed, part
from tests.smpcore.codegen.toolchain import STRICT, run, write

#: Code with the chip's float routines, as the export page says it.
OF_CHIP = {
    f"{CHIPS[name].tools}-gcc": list(CHIPS[name].flags)
    for name in ("ATmega328P", "Cortex-M0")
}


def _hostile(n=300):
    """Names that people, and people with bad intentions, give to things."""
    known = [
        *("quote \" and ' end", "*/ int evil; /*", "// \\", "??/ ??= ??'", "a\0b"),
        *("\u202eright to left\u2066", '\n#include "evil.h"\n', "\r\n", "%s%n"),
        *("😀 👩‍👩‍👧", "int", "class", "main", "NULL", "N", "classes"),
        *("${PATH} `ls`", "<script>alert(1)</script>", "a" * 10_000, "é" * 10_000),
        *("\\" * 300, "", " ", "0", "\ud800"),
    ]
    random = np.random.default_rng(0)
    letters = [*string.printable, *"\\\"'?%*/\0\x7f\x80\u202e\U0001f600ÄÖ"]
    sizes = random.integers(1, 40, n - len(known))
    return known + ["".join(random.choice(letters, size)) for size in sizes]


@pytest.fixture(scope="module", params=["floats", "integers"])
def hostile(random_model, request):
    """300 hostile names: of columns, of classes and of levels."""
    names, taken = tuple(_hostile()), set()
    model = random_model(300, 300, 1, 0.05, feature_names=names)
    compiled = compile_model(model)
    own = tuple(identifier(name, taken) for name in names)
    levels = {"levels": names, "level_identifiers": own}
    first = replace(compiled.inputs[0], kind="category", **levels, high=299.0)
    compiled = changed(
        compiled,
        inputs=(first, *compiled.inputs[1:]),
        level=np.where(part(compiled, "input") == 0, 7, -1),
        classes=names,
    )
    return compiled if request.param == "floats" else quantise(compiled, 16)


LABELS_MAIN = """
#include <stdio.h>
#include <string.h>
#include "mdl.h"
int main(void)
{
    unsigned k;
    for (k = 0; k <= MDL_CLASSES; ++k) {
        const char *label = mdl_label((uint16_t)k);
        fwrite(label, strlen(label) + 1, 1, stdout);
    }
    return 0;
}
"""


def test_hostile_names_compile_and_labels_come_back(hostile, tool, tmp_path):
    write(tmp_path, emit_c99(hostile) | {"main.c": LABELS_MAIN.encode()})
    files = [name for name in emit_c99(hostile) if name.endswith(".c")]
    for compiler in ("g++", *OF_CHIP):
        strict = [f for f in STRICT if compiler != "g++" or f != "-std=c99"]
        strict += OF_CHIP.get(compiler, ["-x", "c++"])
        for name in files:
            run(tool(compiler), *strict, "-c", name, "-o", "m.o", cwd=tmp_path)
    for compiler in ("gcc", "clang"):
        run(tool(compiler), *STRICT, "-o", "run", "main.c", *files, cwd=tmp_path)
        told = run(tmp_path / "run").split(b"\0")
        classes = hostile.source.classes
        assert len(classes) == 300
        assert told == [c_bytes(name) for name in classes] + [b"", b""]


def test_no_name_stands_in_the_files(hostile):
    for content in emit_c99(hostile).values():
        text = content.decode("ascii")
        code = re.sub(r"static const char \w+\[\] \w+ = [^;]*;", "", text)
        assert "evil" not in code.replace("include_evil_h", "").replace("int_evil", "")
        assert "script>" not in code
        for comment in re.findall(r"/\*.*?\*/", code, re.S):
            assert re.fullmatch(r"[\w\s.,;:+*/?'()\[\]#=-]*", comment), comment


def test_sizes_beyond_the_format_are_refused(random_model):
    compiled, n = compile_model(random_model()), 70_000
    rows = {"bias": np.zeros(n), "prototype_labels": range(n), "start": np.zeros(n + 1)}
    rows |= {name: [] for name in ("input", "level", "weight")}
    many = changed(compiled, classes=tuple(range(n)), **rows)
    wide = replace(compiled, inputs=compiled.inputs * 10_000)
    for model, what in ((many, "70000 classes"), (wide, "60000 inputs")):
        with pytest.raises(ExportError, match=f"{what}, but generated C holds at most"):
            emit_c99(model)
