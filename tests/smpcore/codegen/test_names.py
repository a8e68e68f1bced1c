import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpcore.codegen.names import (
    KEYWORDS,
    MAX_IDENTIFIER,
    c_float,
    c_string,
    check_prefix,
    identifier,
    markdown,
    shorten,
)
from smpcore.errors import ExportError


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mean radius", "mean_radius"),
        ("Größe (cm²)", "groe_cm2"),
        ("0", "x_0"),
        ("int", "x_int"),
        ("*/ #include <stdio.h>", "include_stdio_h"),
        ("😀", "x"),
        ("", "x"),
        ("a" * 10_000, "a" * MAX_IDENTIFIER),
    ],
)
def test_names_become_identifiers(name, expected):
    assert identifier(name, set()) == expected


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


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("plain text", '"plain text"'),
        ('say "hi"', r'"say \042hi\042"'),
        ("100 %d", r'"100 \045d"'),
        ("??/", r'"\077\077/"'),
        ("a\\n", r'"a\134n"'),
        ("é1", r'"\303\2511"'),
        ("cut\0here", '"cut"'),
        ("", '""'),
    ],
)
def test_labels_become_literals(text, literal):
    assert c_string(text) == literal


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
