"""Names of users and of models: legal everywhere, or refused."""

import re

import numpy as np
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from smpcore.codegen import TARGETS, compile_model, quantise
from smpcore.codegen import test_vectors as vectors_of
from smpcore.codegen.names import (
    HEADERS,
    KEYWORDS,
    MAX_IDENTIFIER,
    RESERVED,
    c_float,
    check_prefix,
    default_name,
    identifier,
    markdown,
    shorten,
)
from smpcore.errors import ExportError
from tests.smpcore.codegen.toolchain import bundle, run, unpack

NAMES = {"mean radius": "mean_radius", "Größe (cm²)": "groe_cm2", "0": "x_0"}
NAMES |= {"int": "x_int", "*/ #include <stdio.h>": "include_stdio_h", "😀": "x"}
NAMES |= {"": "x", "a" * 10_000: "a" * MAX_IDENTIFIER}


@pytest.mark.parametrize("name", NAMES)
def test_names_become_identifiers(name):
    assert identifier(name, set()) == NAMES[name]


@given(st.lists(st.text(max_size=60), max_size=30))
def test_identifiers_are_legal_and_different(names):
    taken = set()
    words = [identifier(name, taken) for name in names]
    assert len(set(words)) == len(names)
    for word in words:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", word)
        assert word not in KEYWORDS
        assert len(word) <= MAX_IDENTIFIER + 4


def test_same_names_are_numbered():
    taken = set()
    words = [identifier(name, taken) for name in ("a b", "a-b", "a_b_2", "a.b")]
    assert words == ["a_b", "a_b_2", "a_b_2_2", "a_b_3"]


@pytest.mark.parametrize(
    "prefix",
    ["", "a b", "a" * 15, "a\n", *"int class Mdl _a a_ a__b 2a é string print".split()],
)
def test_bad_prefixes_are_refused(prefix):
    with pytest.raises(ExportError, match=r"name=.* should be a lower-case letter"):
        check_prefix(prefix)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_nine_digits_keep_a_float(value):
    literal = c_float(value)
    assert re.fullmatch(r"-?\d+(\.\d+)?(e[+-]\d+)?f", literal)
    assert "." in literal or "e" in literal
    assert np.float32(literal[:-1]).tobytes() == np.float32(value).tobytes()


def test_markdown_shows_what_was_typed():
    assert markdown("a|b\n`c` <img>") == r"a\|b \`c\` \<img\>"
    assert markdown("\u202edecoded") == " decoded"


def test_long_names_do_not_fill_a_message():
    assert len(shorten("a" * 10_000)) < 70
    assert shorten("short") == "'short'"


#: Names that look as if they were somebody else's, of each table and of none.
TRIED = (
    "abc os test all clean printf main app reg tri module install math_1 enum_1 core fn"
    " package"
)
#: Target -> command that builds a model and runs its self-test.
COMMANDS = {
    **{key: one.selftest for key, one in TARGETS.items() if one.selftest},
    "c99": f"make && {TARGETS['c99'].selftest}",
    "verilog": "iverilog -g2005 -o sim {0}.v {0}_tb.v && vvp -n sim",
}


def _passes(packed, target, name, folder):
    """The commands of a target build a model of this name, and find nothing wrong."""
    command, workflow = COMMANDS[target].format(name), ".github/workflows/selftest.yml"
    if workflow in unpack(packed, folder):
        jobs = yaml.safe_load((folder / workflow).read_text())["jobs"]
        ((_, step),) = [job["steps"] for job in jobs.values()]
        assert command.endswith(step["run"])
    told = run("sh", "-c", command, cwd=folder).decode()
    assert "0 of 8 differ" in told or "100% tests passed" in told


@pytest.mark.parametrize("target", COMMANDS)
def test_a_name_is_refused_or_passes_its_self_test(
    tool, in_turns, random_model, target, tmp_path
):
    tool(COMMANDS[target].split()[0])
    model = quantise(compile_model(random_model(4, 2, 1, 1.0)), 8)
    names, refused = TRIED.split(), set()
    tried = in_turns(names, list(COMMANDS).index(target) % 3, 3)
    for name in names:
        try:
            packed = bundle(model, vectors_of(model, n=8), name, target)
        except ExportError as error:
            assert f"{name}_1 is free" in str(error)
            refused.add(name)
        else:
            if name in tried:
                _passes(packed, target, name, tmp_path / name)
    assert refused == {*names} & RESERVED.get(target, set())


@pytest.mark.parametrize(
    ("target", "name"),
    [("python", "abc"), ("cmake", "test"), ("verilog", "reg"), ("rust", "core")],
)
def test_what_is_refused_would_break(
    tool, random_model, tmp_path, monkeypatch, target, name
):
    """One name of each table: without the table it does not build, or fails."""
    tool(COMMANDS[target].split()[0])
    model = quantise(compile_model(random_model(4, 2, 1, 1.0)), 8)
    monkeypatch.setattr("smpcore.codegen.names.RESERVED", {})
    packed = bundle(model, vectors_of(model, n=8), name, target)
    with pytest.raises(AssertionError):
        _passes(packed, target, name, tmp_path)


#: What somebody else has, in any target.
_TAKEN = sorted(HEADERS.union(KEYWORDS, *RESERVED.values()))


@given(st.text(max_size=60) | st.sampled_from(_TAKEN))
@example("Arduino readings")
def test_the_name_of_a_table_is_never_refused(name):
    for target in TARGETS.values():
        assert check_prefix(default_name(name), target.folder)


def test_names_of_tables_stay_readable():
    names = ("Breast cancer (Wisconsin)", "a" * 50, "string", "int", "2 moons")
    wanted = ["breast_cancer", "a" * 14, "string_1", "x_int", "x_2_moons"]
    names += ("Arduino Nano, light", "arduino", "ARDUINO 2")
    wanted += ["nano_light", "model", "x_2"]
    assert list(map(default_name, names)) == wanted
