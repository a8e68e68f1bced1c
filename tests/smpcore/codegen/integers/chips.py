"""Compile integer models and ask them."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from smpcore.codegen import emit_c99
from tests.smpcore.codegen.toolchain import told, write

_RUNNER = """
#include <stdio.h>
#include "mdl.h"
#ifndef MDL_CLASSES
#define MDL_CLASSES 1
#define mdl_scores(x, scores) ((void)(*(scores) = mdl_predict(x)))
#define mdl_margin(x) 0
#define MDL_CLASS(x) 0
#else
#define MDL_CLASS(x) mdl_predict(x)
#endif
int main(void)
{
    static INPUT x[MDL_N], quantised[MDL_N];
    static SCORE scores[MDL_CLASSES];
    static float values[MDL_N];
    while (fread(x, sizeof x, 1, stdin) == 1
           && fread(values, sizeof values, 1, stdin) == 1) {
        uint32_t told[3];
        told[0] = MDL_CLASS(x);
        told[1] = (uint32_t)mdl_margin(x);
        told[2] = mdl_saturated(x);
        mdl_scores(x, scores);
        mdl_quantise(values, quantised);
        fwrite(told, sizeof told, 1, stdout);
        fwrite(scores, sizeof scores, 1, stdout);
        fwrite(quantised, sizeof quantised, 1, stdout);
    }
    return 0;
}
"""


class Answers(NamedTuple):
    """What compiled C says of each row."""

    scores: np.ndarray
    winners: np.ndarray
    margins: np.ndarray
    saturated: np.ndarray
    quantised: np.ndarray


def integer_sources(quant, main: str = "") -> dict[str, bytes]:
    """The files of an integer model, and of a program around it."""
    types = (
        f"#define INPUT int{quant.width}_t\n#define SCORE int{quant.accumulator}_t\n"
    )
    return {**emit_c99(quant), "main.c": (types + main).encode()}


def write_integers(folder, quant, main: str = "") -> Path:
    """Put an integer model, and a program around it, into a folder."""
    return write(folder, integer_sources(quant, main))


def integer_answers(quant, integers, values, compiler="gcc", flags=()) -> Answers:
    """Answers of compiled C to integer rows, and its integers of raw rows."""
    n, count = len(quant.inputs), f"i{quant.width // 8}"
    given = np.zeros(len(integers), [("x", count, (n,)), ("v", "f4", (n,))])
    given["x"], given["v"] = integers, values
    record = [
        ("told", "u4", (3,)),
        ("scores", f"i{quant.accumulator // 8}", (quant.n_outputs,)),
        ("q", count, (n,)),
    ]
    found = told(integer_sources(quant, _RUNNER), given, record, compiler, flags)
    return Answers(found["scores"], *found["told"].T, found["q"])
