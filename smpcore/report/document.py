"""One page of HTML to take away: a model, its prototypes, what was noted on them.

It needs no network. Every text is escaped, pictures are inline SVG, and the only script
that a browser may run is the one whose hash the page's policy names.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from smpcore.datasets import plain_number
from smpcore.explain import rule_in_words
from smpcore.model import PrototypeModel, portraits
from smpcore.model.html import document, facts, html_table, portrait
from smpcore.report.calculator import Calculator, calculator_html
from smpcore.report.page import Page, Section

_MOST_BARS = 15
_MOST_PROTOTYPES = 60
#: Longer tables are folded.
_MOST_LINES = 40
_STYLE = Path(__file__).with_name("style.css").read_text("ascii")


def report(model: PrototypeModel, page: Page | None = None) -> str:
    """Write the report.

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
    if page is None:
        drawn, shape = portraits(model), model.sample_shape
        page = Page(
            title="Prototypes",
            facts=facts(model),
            portraits=drawn.values,
            signed=drawn.signed,
            shape=shape,
            what=drawn.what,
            calculator=Calculator(),
        )
    trial, script = "", ""
    if page.calculator is not None:
        trial, script = calculator_html(model, page.calculator)
    sections = [
        html_table([{"": name, " ": text} for name, text in page.facts.items()]),
        trial,
        f"<p>Type of prototype: {escape(model.kind_of_prototype)}.  "
        f"{escape(page.what)}</p>",
        "<h2>Decision rule</h2>",
        *([] if page.rule is None else _points(page)),
        "<details><summary>As a formula</summary>",
        f'<p class="rule">{escape(chr(10).join(rule_in_words(model)))}</p></details>',
        *([] if page.card is None else _card(page)),
        *map(_section, page.sections),
        "<h2>Prototypes</h2>",
        html_table(page.prototypes),
    ]
    shown = min(model.n_prototypes, _MOST_PROTOTYPES)
    sections += [_prototype(model, page, j) for j in range(shown)]
    if shown < model.n_prototypes:
        sections.append(
            f"<p>{model.n_prototypes - shown} more prototypes are not shown.</p>"
        )
    sections.append("<h2>Training rows in this file</h2>")
    if page.rows:
        sections.append(html_table(page.rows))
    elif "real case" in model.kind_of_prototype:
        sections.append(
            "<p>None as a table; the portraits are based on training rows.</p>"
        )
    else:
        sections.append("<p>None.</p>")
    body = "\n".join([f"<h1>{escape(page.title)}</h1>", *sections])
    return document(page.title, body, _STYLE, script)


def _section(section: Section) -> str:
    """A heading, paragraphs and tables; a long table is folded."""
    blocks = []
    for block in section.blocks:
        html = (
            f"<p>{escape(block)}</p>" if isinstance(block, str) else html_table(block)
        )
        if not isinstance(block, str) and len(block) > _MOST_LINES:
            lines = f"<summary>Table of {len(block)} lines</summary>"
            html = f"<details>{lines}{html}</details>"
        blocks.append(html)
    return f"<h2>{escape(section.title)}</h2>" + "".join(blocks)


def _points(page: Page) -> list[str]:
    """Sentences of the rule, and its tables."""
    lines = [f"<p>{escape(words)}</p>" for words in page.rule.sentences]
    for table in page.rule.tables[:_MOST_PROTOTYPES]:
        name = table.title
        if table.prototype is not None:
            title = (
                page.names.get(table.prototype) or f"Prototype {table.prototype + 1}"
            )
            name = f"{title}: {name}"
        start = (
            "" if table.start is None else f", constant {plain_number(table.start, 3)}"
        )
        lines += [f"<h3>{escape(name + start)}</h3>", html_table(table.lines)]
        if more := table.n_left_out:
            lines.append(
                f"<p>{more} line{'s' * (more > 1)} with smaller effects omitted</p>"
            )
    return lines


def _card(page: Page) -> list[str]:
    """The score card: a table, the rule, and how good it is."""
    return [
        "<h2>Score card</h2>",
        html_table(page.card.to_frame().to_dict("records")),
        f"<p>{escape(page.card.rule)} A star marks the line of a missing number. "
        f"{escape(page.accuracy_of_card)}</p>",
    ]


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
