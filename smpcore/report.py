"""One page of HTML to take away: a model, its prototypes, what was noted on them.

It needs no network and runs no script. Every text is escaped; pictures are inline SVG.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from smpcore.datasets import plain_number
from smpcore.explain import Rule, ScoreCard, rule_in_words
from smpcore.model import PrototypeModel, portraits
from smpcore.model.html import facts, html_table, portrait

__all__ = ["Page", "report"]

_MOST_BARS = 15
_MOST_PROTOTYPES = 60
_STYLE = """
body { font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1b1f24; background: #fff }
table { border-collapse: collapse; margin: .5rem 0 }
td, th { border: 1px solid #c5cad1; padding: .2rem .6rem; text-align: left }
section { border-top: 1px solid #c5cad1; margin-top: 1.5rem }
.rule { white-space: pre-wrap; font-family: monospace }
.warning { border-left: 4px solid #d55e00; padding-left: .6rem }
.wide { overflow-x: auto }
"""


@dataclass(frozen=True)
class Page:
    """What a report says besides the model itself.

    Parameters
    ----------
    title : str
        Heading of the report and name of the document.
    facts : mapping of str to str
        Data, split, method, accuracy, in the order shown.
    names, notes : mapping of int to str
        What an expert wrote on a prototype.
    warnings : mapping of int to sequence of str
        What to read with care about a prototype.
    prototypes : sequence of mapping
        One line of a table per prototype.
    portraits : ndarray of shape (n_prototypes, n_features)
        Weights, or values of a case. Of a picture NaN is crossed out: what stands
        there was forbidden.
    signed : bool
        Whether the portraits are weights.
    shape : tuple of int
        Of a sample: portraits of two and more dimensions are drawn as pictures.
    what : str
        What the portraits show.
    rows : sequence of mapping
        Real rows that the report quotes; empty if none.
    rule : Rule, optional
        Sentences and tables of points, before the formula.
    card : ScoreCard, optional
        The rule as points that are added by hand.
    accuracy_of_card : str
        How good the card is, in sentences.
    """

    title: str
    facts: Mapping[str, str]
    portraits: np.ndarray
    signed: bool
    shape: tuple[int, ...] = ()
    what: str = ""
    names: Mapping[int, str] = field(default_factory=dict)
    notes: Mapping[int, str] = field(default_factory=dict)
    warnings: Mapping[int, Sequence[str]] = field(default_factory=dict)
    prototypes: Sequence[Mapping[str, Any]] = ()
    rows: Sequence[Mapping[str, Any]] = ()
    rule: Rule | None = None
    card: ScoreCard | None = None
    accuracy_of_card: str = ""


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
            "Prototypes", facts(model), drawn.values, drawn.signed, shape, drawn.what
        )
    sections = [
        html_table([{"": name, " ": text} for name, text in page.facts.items()]),
        f"<p>Type of prototype: {escape(model.kind_of_prototype)}.  "
        f"{escape(page.what)}</p>",
        "<h2>Decision rule</h2>",
        *([] if page.rule is None else _points(page)),
        "<details><summary>As a formula</summary>",
        f'<p class="rule">{escape(chr(10).join(rule_in_words(model)))}</p></details>',
        *([] if page.card is None else _card(page)),
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
    # The policy keeps a browser from running or fetching anything, whatever is inside.
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(page.title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<h1>{escape(page.title)}</h1>\n" + "\n".join(sections)
    ) + "\n</body>\n</html>\n"


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
