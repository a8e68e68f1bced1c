"""The explanation sheet: one page of HTML to print, and on which a model is tried.

It needs no network. Every text is escaped, pictures are inline SVG, and the only script
that a browser may run is the one whose hash the page's policy names. That is the module
that the JavaScript target writes, then constants, then `lead.js` and `calculator.js`,
which compute nothing of a score by themselves. The answer to each single case is on a
printed page of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from smpcore.codegen import CompiledModel, compile_model, model_id
from smpcore.codegen.lower import stored_anchors
from smpcore.codegen.program import WeightedInputs
from smpcore.codegen.targets.javascript.source import PARTS, declared, emit_javascript
from smpcore.datasets import Preparation, plain_number
from smpcore.datasets.columns import LARGEST
from smpcore.errors import ExportError
from smpcore.explain import Case, rule_in_words
from smpcore.model import PrototypeModel, portraits
from smpcore.model.html import document, facts, html_block, html_table, portrait
from smpcore.readouts import Caution, Drawing, Section
from smpcore.report.sections import numbers_section

#: Fields that a reader can fill in.
_MOST_FIELDS = 200
#: How an answer is split, as `explain.contributions` does it by default.
_RULES = {
    "input": "Weight times value, less that of the training mean.",
    "anchor": "Similarity times weight.",
    "prototype": "Activation times weight.",
}
_SCRIPTS = ("lead.js", "calculator.js")
_INTRODUCTION = (
    "Change a value: the model in this file answers at once, also without a network. "
    "It computes in 32-bit floats, as its exported code does."
)


@dataclass(frozen=True, eq=False)
class Calculator:
    """What a reader of a report can begin with to try the model.

    Parameters
    ----------
    preparation : Preparation, optional
        What turned the user's table into the model's features. Without it the features
        themselves are the inputs, and none may be missing.
    rows : DataFrame, optional
        Raw rows to begin with, their names as index: the first one is shown first. They
        become part of the file. Default: the middle of the training ranges.
    prototypes : sequence of str, optional
        Names of the prototypes, where an answer is a sum over them.
    target : str, default "Prediction"
        Name of the number that a regression predicts.
    """

    preparation: Preparation | None = None
    rows: pd.DataFrame | None = None
    prototypes: Sequence[str] = ()
    target: str = "Prediction"


def typical_row(frame: pd.DataFrame, preparation: Preparation) -> pd.DataFrame:
    """The median of each number and the most frequent level of each category."""
    values = {}
    for column in preparation.inputs:
        values[column.name] = [column.fill]
        if column.kind == "category":
            values[column.name] = frame[column.name].mode(dropna=True).head(1).to_list()
            values[column.name] = values[column.name] or [None]
    return pd.DataFrame(values, index=["Median of the training rows"])


def calculator_html(
    model: PrototypeModel, calculator: Calculator | str
) -> tuple[str, str]:
    """Write the section, and the one script of the page."""
    title = "<h2>Try the model</h2>"
    if isinstance(calculator, str):
        return f"{title}<p>{escape(calculator)}</p>", ""
    try:
        compiled = compile_model(model, calculator.preparation)
        values = constants(model, compiled, calculator)
        module = emit_javascript(compiled, number=model_id(compiled))
    except ExportError as problem:
        words = f"The model cannot be tried in this file. {problem}"
        return f"{title}<p>{escape(words)}</p>", ""
    texts = [Path(__file__).with_name(name).read_text("ascii") for name in _SCRIPTS]
    # In a block, where no name can be that of a constant of the module.
    script = "\n".join([module, "{", declared(values), *texts, "}"])
    return (
        f"{title}<p>{_INTRODUCTION}</p>"
        "<noscript><p>This needs JavaScript.</p></noscript>"
        '<div id="calculator" hidden></div>'
    ), script


def constants(
    model: PrototypeModel, compiled: CompiledModel, calculator: Calculator
) -> dict[str, Any]:
    """What the form is given besides the module."""
    if len(compiled.inputs) > _MOST_FIELDS:
        raise ExportError(
            f"It has {len(compiled.inputs):,} inputs, at most {_MOST_FIELDS} can be "
            "filled in."
        )
    part = PARTS[type(compiled.operations[-1])]
    return {
        "ROWS": _rows(compiled, calculator),
        "CAN_MISS": [e.missing is not None or bool(e.levels) for e in compiled.inputs],
        "MISSING_LEVEL": [entry.missing_level for entry in compiled.inputs],
        "LARGEST": LARGEST,
        "REFERENCE": _at_center(model, compiled, calculator.preparation),
        "NAMES": _names(model, compiled, calculator, part),
        "RULE": _RULES[part],
        "TARGET": calculator.target,
    }


def _rows(compiled: CompiledModel, calculator: Calculator) -> list[dict[str, Any]]:
    """Rows to begin with, by the inputs."""
    names = ["Middle of the training ranges"]
    values = np.array([[_middle(entry) for entry in compiled.inputs]])
    if calculator.rows is not None:
        names, values = calculator.rows.index, compiled.rows(calculator.rows)
    values = np.where(np.isnan(values), None, values)
    pairs = zip(names, values.tolist(), strict=True)
    return [{"name": str(name), "values": row} for name, row in pairs]


def _middle(entry: Any) -> float:
    """Middle of the range, the first level of a category."""
    if entry.levels:
        return 0.0
    middle = (entry.low + entry.high) / 2
    return round(middle) if entry.integer else float(f"{middle:.4g}")


def _at_center(
    model: PrototypeModel, compiled: CompiledModel, preparation: Preparation | None
) -> list[list[float]]:
    """What each input adds to each row at the model's centre, in float64.

    Contributions count from there: of a row of mean values none speaks for a class.
    Empty of a model that is no weighted sum of inputs.
    """
    rows = compiled.operations[-1]
    if not isinstance(rows, WeightedInputs):
        return []
    added = np.zeros((rows.n_rows, len(compiled.inputs)))
    for row in range(rows.n_rows):
        for place, level, weight in rows.terms(row):
            entry = compiled.inputs[place]
            feature = entry.index
            if preparation is not None:
                column = preparation.inputs[entry.index]
                level_place = column.feature_levels.index(level) if level >= 0 else 0
                feature = column.first + level_place
            middle = model.center[feature] - (entry.offset if level < 0 else 0.0)
            added[row, place] += float(weight) * middle
    return added.tolist()


def _names(
    model: PrototypeModel, compiled: CompiledModel, calculator: Calculator, part: str
) -> list[str]:
    """Names of what a score is the sum of."""
    if part == "input":
        return [entry.name for entry in compiled.inputs]
    of_prototypes = list(calculator.prototypes) or [
        f"Prototype {j + 1}" for j in range(model.n_prototypes)
    ]
    if part == "prototype":
        return of_prototypes
    anchors = stored_anchors(model, calculator.preparation)
    is_prototype = (model.mixing != 0).sum(axis=0) == 1
    if model.mixing.shape[0] != model.n_prototypes or not is_prototype.all():
        return [f"Case {i + 1}" for i in anchors]
    return [of_prototypes[int(np.abs(model.mixing[i]).argmax())] for i in anchors]


@dataclass(frozen=True)
class Page:
    """What a sheet says; what it is given nothing of is left out.

    Parameters
    ----------
    title : str
        Heading of the sheet and name of the document.
    facts : mapping of str to str
        Data, split, method, accuracy, in the order shown.
    portraits : ndarray of shape (n_prototypes, n_features), optional
        Weights, or values of a case. Of a picture NaN is crossed out: what stands
        there was forbidden. Without them, prototypes are not shown one by one.
    signed : bool
        Whether the portraits are weights.
    shape : tuple of int
        Of a sample: portraits of two and more dimensions are drawn as pictures.
    what : str
        What the portraits show.
    names, notes : mapping of int to str
        What an expert wrote on a prototype.
    warnings : mapping of int to sequence of str
        What to read with care about a prototype.
    prototypes : sequence of mapping
        One line of a table per prototype.
    rows : sequence of Section
        Real rows that the sheet quotes; empty if none.
    cases : sequence of Case
        From `CaseExplainer.explain`: each has a printed page of its own, and then
        nothing else is printed but the card.
    card : Section, optional
        Points that are added by hand, from `smpcore.explain.card_section`.
    calculator : Calculator or str, optional
        With what a reader begins to try the model in the file; a sentence: why not.
    sections : sequence of Section
        What else is told, in this order: the rule first.
    """

    title: str
    facts: Mapping[str, str]
    portraits: np.ndarray | None = None
    signed: bool = False
    shape: tuple[int, ...] = ()
    what: str = ""
    names: Mapping[int, str] = field(default_factory=dict)
    notes: Mapping[int, str] = field(default_factory=dict)
    warnings: Mapping[int, Sequence[str]] = field(default_factory=dict)
    prototypes: Sequence[Mapping[str, Any]] = ()
    rows: Sequence[Section] = ()
    cases: Sequence[Case] = ()
    card: Section | None = None
    calculator: Calculator | str | None = None
    sections: Sequence[Section] = ()


#: The longest bar, in em.
_LONGEST = 6.0


def case_html(case: Case, title: str, facts: Mapping[str, str]) -> str:
    """One case; title and facts of the document are on its page, too."""
    about = " · ".join([title, *(f"{name}: {text}" for name, text in facts.items())])
    of_row = [
        f"{escape(name)}: <b>{escape(text)}</b>" for name, text in case.facts.items()
    ]
    remarks = case.remarks or ["Nothing was missing, out of range or unseen."]
    sections = [
        f"<article><p>{escape(about)}</p>",
        f"<h1>{escape(case.title)}</h1>",
        f'<p class="answer">Prediction: <b>{escape(case.answer)}</b></p>',
        *(f'<p class="remark">{escape(remark)}</p>' for remark in remarks),
        f"<p>{' · '.join(of_row)}</p>" if of_row else "",
        "<h2>For and against</h2>",
        _parts(case),
        f"<p>{escape(case.rule)}</p>",
        "<h2>Smallest change</h2>",
        f"<p>{escape(case.change)}</p>",
        html_table(case.changes),
        html_table(case.others),
        "<h2>Nearest training cases</h2>",
        html_table(case.nearest),
        f"<p>{escape(case.nearest_note)}</p></article>",
    ]
    return "\n".join(filter(None, sections))


def _parts(case: Case) -> str:
    """Contributions as numbers with bars, on the side that they are for."""
    if not case.parts:
        return "<p>No column contributes.</p>"
    largest = float(np.abs([size for _, _, size in case.parts]).max())
    heads = ("Column", "Value", *case.sides)
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    lines = []
    for column, value, size in case.parts:
        side = "for" if size > 0 else "against"
        width = _LONGEST * abs(size) / largest
        bar = f'<span class="bar {side}" style="width:{width:.2f}em"></span>'
        text = bar + escape(plain_number(abs(size), 3))
        cells = (text, "") if size > 0 else ("", text)
        cells = (escape(column), escape(value), *cells)
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    table = f"<tr>{head}</tr>{''.join(lines)}"
    return f'<div class="wide"><table class="parts">{table}</table></div>'


_MOST_BARS = 15
_MOST_PROTOTYPES = 60
#: Longer tables are folded.
_MOST_LINES = 40
_STYLE = Path(__file__).with_name("style.css").read_text("ascii")


def report(model: PrototypeModel, page: Page | None = None) -> str:
    """Write the explanation sheet.

    Parameters
    ----------
    model : PrototypeModel
        Model to describe: its rule, prototypes and sizes.
    page : Page, optional
        What to say besides. Default: what is known of the model without its data.

    Returns
    -------
    str
        A whole HTML document, self-contained.

    Examples
    --------
    >>> from smpcore import SMPClassifier, report
    >>> model = SMPClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).model_
    >>> report(model).splitlines()[0]
    '<!doctype html>'
    """
    page = page or _without_data(model)
    trial, script = "", ""
    if page.calculator is not None:
        trial, script = calculator_html(model, page.calculator)
    head = [case_html(case, page.title, page.facts) for case in page.cases]
    if not head:
        head = [f"<h1>{escape(page.title)}</h1>", _section(summary_section(page))]
    if page.card is not None:
        head.append(f'<div class="card">{_section(page.card)}</div>')
    rest = [trial, *map(_section, [*page.sections, *prototype_sections(model, page)])]
    rest = f'<div class="{"screen" if page.cases else "rest"}">{"".join(rest)}</div>'
    return document(page.title, "\n".join([*head, rest]), _STYLE, script)


def _without_data(model: PrototypeModel) -> Page:
    """What is known of a model alone."""
    drawn = portraits(model)
    return Page(
        title="Prototypes",
        facts=facts(model),
        portraits=drawn.values,
        signed=drawn.signed,
        shape=model.sample_shape,
        what=drawn.coloured,
        calculator=Calculator(),
        sections=[
            Section("Decision rule", rule_in_words(model)),
            numbers_section(model),
        ],
    )


def summary_section(page: Page) -> Section:
    """The facts at the head of a report."""
    return Section(
        "Summary", ([{"": name, " ": text} for name, text in page.facts.items()],)
    )


def _section(section: Section, level: int = 2) -> str:
    """A heading, paragraphs, tables and sections; a long table is folded."""
    blocks = []
    for block in section.blocks:
        if isinstance(block, Section):
            blocks.append(_section(block, level + 1))
        elif isinstance(block, list | tuple) and len(block) > _MOST_LINES:
            blocks.append(_folded(f"Table of {len(block)} lines", html_table(block)))
        else:
            blocks.append(html_block(block))
    body = "\n".join(blocks)
    if section.folded:
        return _folded(section.title, body)
    body = f"<h{level}>{escape(section.title)}</h{level}>{body}"
    has_picture = any(isinstance(block, Drawing) for block in section.blocks)
    return f"<section>{body}</section>" if has_picture and level > 2 else body


def printed(section: Section, is_paged: bool = False) -> str:
    """Write a section alone, as a whole HTML document; its parts each on a page."""
    style = _STYLE
    if is_paged:
        style += "h2 ~ h2 { break-before: page }\n"
    return document(section.title, _section(section, 1), style)


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{body}</details>"


def prototype_sections(model: PrototypeModel, page: Page) -> list[Section]:
    """A table of the prototypes, each by itself, and the rows that are quoted."""
    if page.portraits is None:
        return []
    shown = min(model.n_prototypes, _MOST_PROTOTYPES)
    blocks = [
        f"Type of prototype: {model.kind_of_prototype}. {page.what}",
        page.prototypes,
        *(_prototype(model, page, j) for j in range(shown)),
    ]
    if shown < model.n_prototypes:
        blocks.append(f"{model.n_prototypes - shown} more prototypes are not shown.")
    none = "None."
    if "real case" in model.kind_of_prototype:
        none = "None as a table; the portraits are based on training rows."
    rows = Section("Training rows in this file", page.rows or (none,))
    return [Section("Prototypes", blocks), rows]


def _prototype(model: PrototypeModel, page: Page, j: int) -> Section:
    label = "the prediction"
    if model.classes is not None:
        label = f"class {model.classes[model.prototype_labels[j]]}"
    name = page.names.get(j) or f"Prototype {j + 1}"
    drawn = page.portraits[j], page.signed, name, page.shape, _MOST_BARS
    blocks = [
        *filter(None, [page.notes.get(j)]),
        *map(Caution, page.warnings.get(j, ())),
        *portrait(model, *drawn),
    ]
    return Section(f"{name}: {label}", blocks)
