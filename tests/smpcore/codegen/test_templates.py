"""Templates of generated files: each is used, and none reads what a user typed."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from smpcore import codegen
from smpcore.codegen import TARGETS, Package, compile_model, quantise, templates
from smpcore.errors import ExportError
from tests.smpcore.codegen.models import coded_model, one_value, random_linear
from tests.smpcore.codegen.test_feature_stream import featured
from tests.smpcore.codegen.test_stream import streamed
from tests.smpcore.codegen.toolchain import bundle, contents

#: What would be a word of a template, or of another language of templates.
WORDS = ["@name@", "@M@", "$name", "${id}", "{name}", "%(id)s"]


def test_a_word_is_replaced_once_and_any_other_sign_stays():
    text = templates._Text("@a@ $a ${a} $$ @ @@ always @(posedge clk) me@example.com")
    assert text.substitute(a="@b@ \\1") == text.template.replace("@a@", "@b@ \\1")
    with pytest.raises(KeyError, match="other"):
        templates._Text("@other@").substitute(a="")


def test_lines_stand_only_where_their_word_does():
    text = "@if a@one\n@if b@\n@if a@two\n"
    text += "@if c@\n3\n@else@\n@a@\n@end@\n@else@\n5\n@end@\n"
    filled = {"ab": "one\ntwo\n@if b@\n", "a": "one\n5\n", "bc": "3\n", "": "5\n"}
    for there, wanted in filled.items():
        words = dict.fromkeys(there, "@if b@")
        assert templates._fill(text, words | {"d": ""}) == wanted


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_user_typed_is_no_template(random_model, target):
    model = compile_model(
        random_model(classes=np.array(WORDS[:3]), feature_names=tuple(WORDS)),
        provenance={"data": {"name": "@id@"}},
    )
    if "float32" not in TARGETS[target].numbers:
        model = quantise(model, 16)
    text = contents(bundle(model, codegen.test_vectors(model), "xyz", target))
    page = text["README.md"].decode().replace("\\", "")
    for word in (*WORDS, "@id@"):
        assert f" {word} |" in page, word
    left = re.findall(rb"@[A-Za-z_]+@", b"".join(text.values()))
    assert {*left} <= {b"@name@", b"@M@", b"@id@"}


def test_every_template_is_used(mixed_model, random_model, monkeypatch):
    read, before = set(), Path.read_text

    def spy(path, *options, **more):
        read.add(path)
        return before(path, *options, **more)

    monkeypatch.setattr(Path, "read_text", spy)
    templates._text.cache_clear()
    templates.sections.cache_clear()
    made = [
        replace(mixed_model, band=50.0),
        compile_model(one_value(random_model, 6)),
        compile_model(coded_model()),
    ]
    for model in [*made, *(quantise(one, 8) for one in made[:2])]:
        for target in TARGETS:
            try:
                bundle(model, codegen.test_vectors(model, n=8), target=target)
            except ExportError:
                continue
    for model, stream in (streamed(8, 9, 4), featured(None, 8, 8)):
        debounced = replace(stream, votes=3)
        bundle(model, codegen.test_vectors(model, n=8), stream=debounced)
    linear = compile_model(random_linear())
    block = Package(linear, codegen.test_vectors(linear, n=8), "mdl", apart=True)
    TARGETS["c99"].zip(block)
    assert {path for path in read if path.suffix == ".in"} == {
        *Path(templates.__file__).parent.rglob("*.in")
    }
