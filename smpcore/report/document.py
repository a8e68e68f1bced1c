"""The explanation sheet: one page of HTML to print, and on which a model is tried.

It needs no network. Every text is escaped, pictures are inline SVG, and the only script
that a browser may run is the one whose hash the page's policy names.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from smpcore.explain import Section, rule_in_words
from smpcore.model import PrototypeModel, portraits
from smpcore.model.html import document, facts, html_table, portrait
from smpcore.report.calculator import Calculator, calculator_html
from smpcore.report.case_page import case_html
from smpcore.report.page import Page

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
        lines = [{"": name, " ": text} for name, text in page.facts.items()]
        head = [f"<h1>{escape(page.title)}</h1>", html_table(lines)]
    if page.card is not None:
        head.append(f'<div class="card">{_section(page.card)}</div>')
    rest = [trial, *map(_section, page.sections), *_prototypes(model, page)]
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
        what=drawn.what,
        calculator=Calculator(),
        sections=[Section("Decision rule", rule_in_words(model))],
    )


def _section(section: Section, level: int = 2) -> str:
    """A heading, paragraphs, tables and sections; a long table is folded."""
    blocks = []
    for block in section.blocks:
        if isinstance(block, str):
            blocks.append(f"<p>{escape(block)}</p>")
        elif isinstance(block, Section):
            blocks.append(_section(block, level + 1))
        elif len(block) > _MOST_LINES:
            blocks.append(_folded(f"Table of {len(block)} lines", html_table(block)))
        else:
            blocks.append(html_table(block))
    body = "\n".join(blocks)
    if section.folded:
        return _folded(section.title, body)
    return f"<h{level}>{escape(section.title)}</h{level}>{body}"


def printed(section: Section) -> str:
    """Write a section alone, as a whole HTML document."""
    return document(section.title, _section(section, 1), _STYLE)


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{body}</details>"


def _prototypes(model: PrototypeModel, page: Page) -> list[str]:
    """A table of the prototypes, each by itself, and the rows that are quoted."""
    if page.portraits is None:
        return []
    shown = min(model.n_prototypes, _MOST_PROTOTYPES)
    parts = [
        f"<h2>Prototypes</h2><p>Type of prototype: {escape(model.kind_of_prototype)}. "
        f"{escape(page.what)}</p>",
        html_table(page.prototypes),
        *(_prototype(model, page, j) for j in range(shown)),
    ]
    if shown < model.n_prototypes:
        parts.append(
            f"<p>{model.n_prototypes - shown} more prototypes are not shown.</p>"
        )
    none = "None."
    if "real case" in model.kind_of_prototype:
        none = "None as a table; the portraits are based on training rows."
    rows = html_table(page.rows) or f"<p>{none}</p>"
    return [*parts, f"<h2>Training rows in this file</h2>{rows}"]


def _prototype(model: PrototypeModel, page: Page, j: int) -> str:
    label = "the prediction"
    if model.classes is not None:
        label = f"class {model.classes[model.prototype_labels[j]]}"
    name = page.names.get(j) or f"Prototype {j + 1}"
    lines = [f"<section><h3>{escape(name)}: {escape(label)}</h3>"]
    if note := page.notes.get(j):
        lines.append(f"<p>{escape(note)}</p>")
    for warning in page.warnings.get(j, ()):
        lines.append(f'<p class="warning">{escape(warning)}</p>')
    values = page.portraits[j]
    lines.append(portrait(model, values, page.signed, name, page.shape, _MOST_BARS))
    return "".join(lines) + "</section>"
