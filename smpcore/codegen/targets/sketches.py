"""Arduino sketches of a model: one that answers rows, and one that tests itself."""

from __future__ import annotations

from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.names import c_float
from smpcore.codegen.quantised import QuantModel
from smpcore.codegen.targets.c99.constant_tables import class_type, number_types
from smpcore.codegen.targets.c99.frame import head


def ask_sketch(model: CompiledModel | QuantModel, prefix: str) -> str:
    """Write the sketch that reads rows from the serial port and prints answers."""
    whole = model.is_integer
    source = model.source if whole else model
    entries = source.inputs
    number, score = number_types(model)
    middle = (c_float(_middle(entry)).rstrip("f") for entry in entries)
    answer = _VALUE if model.is_regression else _CLASS
    value = "@p@_predict(@x@)"
    if whole and model.is_regression:
        step, shift = c_float(model.step), c_float(model.shift)
        value = f"(float){value} * {step} + {shift}"
    return _filled(
        _ASK,
        model,
        prefix,
        answer=answer,
        convert=_CONVERT if whole else "",
        outside=_OUTSIDE if whole else "",
        sure=_SURE if source.band else "",
        digits="" if whole else ", 6",
        value=value,
        inputs="\n".join(_input(entry, prefix) for entry in entries),
        row=_wrapped(list(middle)),
        x="x" if whole else "values",
        number=number,
        score=score,
        index=class_type(model),
    )


def self_test_sketch(model: CompiledModel | QuantModel, prefix: str) -> str:
    """Write the sketch that tries the vectors and, of integers, the conversion."""
    tests = [("selftest", "selftest", "VECTORS")]
    if model.is_integer:
        tests.append(("conversion", "selftest_quantise", "CONVERSIONS"))
    lines = (
        f"""\
    Serial.print(F("{title}: "));
    Serial.print((unsigned)@p@_{function}());
    Serial.print(F(" of "));
    Serial.print(@M@_{total});
    Serial.println(F(" differ"));
"""
        for title, function, total in tests
    )
    return _filled(_SELF_TEST, model, prefix, tests="".join(lines))


def _middle(entry: CompiledInput) -> float:
    """A value that is certainly in the range; of whole numbers a whole one."""
    if entry.levels:
        return 0.0
    middle = (entry.low + entry.high) / 2
    return float(int(middle)) if entry.integer else middle


def _input(entry: CompiledInput, prefix: str) -> str:
    m, name = prefix.upper(), entry.identifier
    told = f"{entry.low:.6g} to {entry.high:.6g}"
    if entry.levels:
        told = f"{m}_IS_{name.upper()}_..., 0 to {len(entry.levels) - 1}; -1: unknown"
    return f" *   {name}: {told}"


def _wrapped(words: list[str]) -> str:
    """Lines of a comment; whoever copies them joins them to one."""
    lines = [" ".join(words[i : i + 8]) for i in range(0, len(words), 8)]
    return "\n".join(f" *   {line}" for line in lines)


def _filled(
    text: str, model: CompiledModel | QuantModel, prefix: str, **more: str
) -> str:
    words = {"M": prefix.upper(), "p": prefix, "head": head(model, prefix)}
    # What is put in first may itself hold words to fill.
    for word, filling in (more | words | {"begin": _BEGIN}).items():
        text = text.replace(f"@{word}@", filling)
    return text


_BEGIN = """\
    Serial.begin(9600);
    while (!Serial) {
        /* a board whose USB is its serial port takes a moment */
    }
"""

_ASK = """\
@head@/* Answers rows from the serial monitor (9600 baud, a newline ends a row).
 * A row is the numbers of all inputs in the units of the table, with spaces or commas
 * between them; nan: missing. In this order:
@inputs@
 * For instance, all on one line:
@row@
 */
#include <stdlib.h>

#include <@p@.h>

static float values[@M@_N]; /* of the row so far */
static unsigned count;      /* how many */
static char text[24];       /* the number so far */
static uint8_t length;
static bool sound = true;

void setup()
{
@begin@}

/* The number that has just ended becomes part of the row. */
static void take()
{
    char *end = text;

    if (length == 0) {
        return;
    }
    text[length] = '\\0';
    length = 0;
    const float value = (float)strtod(text, &end);
    if (*end != '\\0' || count == @M@_N) {
        sound = false;
        return;
    }
    values[count] = value;
    ++count;
}

static void answer()
{
@convert@@answer@@outside@    Serial.println();
}

void loop()
{
    if (Serial.available() == 0) {
        return;
    }
    const char c = (char)Serial.read();
    const bool ends = c == '\\n' || c == '\\r';
    if (!ends && c != ' ' && c != ',' && c != '\\t') {
        if (length + 1U < sizeof text) {
            text[length] = c;
            ++length;
        } else {
            sound = false;
        }
        return;
    }
    take();
    if (!ends || (count == 0 && sound)) {
        return;
    }
    if (sound && count == @M@_N) {
        answer();
    } else {
        Serial.print(F("A row should have "));
        Serial.print(@M@_N);
        Serial.println(F(" numbers."));
    }
    count = 0;
    sound = true;
}
"""

_CONVERT = """\
    @number@ x[@M@_N];

    @p@_quantise(values, x);
"""

_CLASS = """\
    @score@ scores[@M@_CLASSES];
    const @index@ k = @p@_predict(@x@);

    @p@_scores(@x@, scores);
    Serial.print(F("class "));
    Serial.print((unsigned)k);
    Serial.print(' ');
    Serial.print((const __FlashStringHelper *)@p@_label(k));
@sure@    Serial.print(F("; scores"));
    for (unsigned i = 0; i < @M@_CLASSES; ++i) {
        Serial.print(' ');
        Serial.print(scores[i]@digits@);
    }
"""

_SURE = """\
    if (!@p@_sure(@x@)) {
        Serial.print(F(" (not sure)"));
    }
"""

_VALUE = """\
    Serial.print(F("value "));
    Serial.print(@value@, 6);
"""

_OUTSIDE = """\
    if (@p@_saturated(x) > 0) {
        Serial.print(F("; inputs outside their range: "));
        Serial.print((unsigned)@p@_saturated(x));
    }
"""

_SELF_TEST = """\
@head@/* Tries the model on this very board: 0 is good. */
#include <@p@.h>
#include <@p@_selftest.h>

void setup()
{
@begin@    Serial.print(F(@M@_NAME " " @M@_ID " format "));
    Serial.println(@M@_FORMAT);
@tests@}

void loop()
{
}
"""
