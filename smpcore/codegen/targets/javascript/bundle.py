"""The files of a JavaScript model, and how they are used."""

from __future__ import annotations

from typing import Any

from smpcore.codegen.package import Files, Package
from smpcore.codegen.target import Target
from smpcore.codegen.targets.javascript.source import PARTS, emit_javascript


def javascript(package: Package) -> Files:
    """The module, its self-test, and the model for programs."""
    name, model = package.name, package.model
    answers = "[model.predict(x)]"
    if not model.is_regression:
        answers = "[model.predict(x), ...model.scores(x)]"
    if model.probability:
        answers = answers.replace("]", ", model.probability(x)]")
    test = _SELFTEST.replace("@name@", name).replace("@answers@", answers)
    return {
        **package.documents,
        f"{name}.mjs": emit_javascript(model, name, package.id),
        f"{name}_selftest.mjs": test.replace(
            "@round@", "Number" if package.is_whole else "Math.fround"
        ),
    }


def use_of_javascript(package: Package) -> str:
    """How a JavaScript module is tried and used."""
    name, model, n = package.name, package.model, len(package.source.inputs)
    names, answer = ["label", "predict"], "label(predict(x))"
    if model.is_regression:
        names, answer = ["value"], "value(x)"
    given = f"const x = new Array({n}).fill(0); // in the units of the table\nx[0] = 1;"
    precision = "Each score has the bits of the C code in 32-bit floats."
    if package.is_whole:
        names.append("quantise")
        given = given.replace("const x", "const values").replace("x[0]", "values[0]")
        given += "\nconst x = quantise(values);"
        precision = (
            "Integers only but for `quantise`: each score is that of the C code.\n"
        )
        precision += "`saturated(x)` tells how many inputs are outside their range."
    more = [] if model.is_regression else _MORE[: 1 + _has_band(model)]
    part, _ = PARTS[type(model.operations[-1])]
    more = [*more, _OF_CONTRIBUTIONS.replace("@part@", part)]
    return f"""\
1. Unpack the zip. In the folder `{name}`, run `node {name}_selftest.mjs`: it prints
   `{name} {package.id} selftest: 0 of {len(package.vectors.rows)} differ`.
2. In a web page, inside `<script type="module">`, or in Node:

```js
import {{ {", ".join(sorted(names))} }} from "./{name}.mjs";

{given}
console.log({answer});
```

Browsers load modules from a web server only, which has to send `.mjs` files as
`text/javascript`.

The inputs are in the order of the table below and of `INPUTS`: numbers as they are,
`NaN` for a missing one, the index of a category's level, -1 for none. What is not of
the type number counts as missing.
{precision}
{"".join(more)}"""


def _has_band(model: Any) -> bool:
    return model.not_sure >= 0 if model.is_integer else bool(model.band)


_MORE = (
    """\
`scores(x)` gives the score of each class, `margin(x)` how far the best one is above
the next.
""",
    """
**Not sure.** This model was set to abstain near its threshold: where `sure(x)` is
false, leave the row to a person or to another test.
""",
)

_OF_CONTRIBUTIONS = """\
`contributions(x)` tells how much each @part@ adds to each row of `rowScores(x)`.
"""


_SELFTEST = """\
// SPDX-License-Identifier: 0BSD. This generated code is yours.
// Tries the test vectors: every answer and every score has to be equal.
import { readFileSync } from "node:fs";
import * as model from "./@name@.mjs";

const table = new URL("./@name@_test_vectors.csv", import.meta.url);
const lines = readFileSync(table, "utf8").trim().split("\\n").slice(1);
const number = (cell) => @round@(cell.replace("inf", "Infinity"));
const wrong = lines.filter((line) => {
  const cells = line.split(",").slice(1).map(number);
  const x = cells.slice(0, model.INPUTS.length);
  const wanted = cells.slice(x.length);
  const answers = @answers@;
  return !wanted.every((cell, k) => Object.is(cell, answers[k]));
});
const found = `${wrong.length} of ${lines.length} differ`;
console.log(`${model.NAME} ${model.ID} selftest: ${found}`);
process.exitCode = Number(wrong.length > 0);
"""

JAVASCRIPT = Target("JavaScript", javascript, use_of_javascript, in_c=False)
