"""One page of HTML to take away: a model, its prototypes, what was noted on them.

It needs no network and runs no script. Every text is escaped; pictures are inline SVG.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from smpcore.datasets.columns import shorten_name
from smpcore.explain import Rule, rule_in_words
from smpcore.model import PrototypeModel

__all__ = ["Page", "report"]

_FOR, _AGAINST = (0, 114, 178), (213, 94, 0)
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
svg { max-width: 100%; height: auto }
"""


@dataclass(frozen=True)
class Page:
    """What a report says besides the model itself.

    Parameters
    ----------
    title : str
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


def report(model: PrototypeModel, page: Page) -> str:
    """Write the report.

    Parameters
    ----------
    model : PrototypeModel
    page : Page

    Returns
    -------
    str
        A whole HTML document, self-contained.
    """
    sections = [
        _table([{"": name, " ": text} for name, text in page.facts.items()]),
        f"<p>A prototype is a {escape(model.kind_of_prototype)}. "
        f"{escape(page.what)}</p>",
        "<h2>The rule</h2>",
        *([] if page.rule is None else _points(page)),
        "<details><summary>As a formula</summary>",
        f'<p class="rule">{escape(chr(10).join(rule_in_words(model)))}</p></details>',
        "<h2>Prototypes</h2>",
        _table(page.prototypes),
    ]
    shown = min(model.n_prototypes, _MOST_PROTOTYPES)
    sections += [_prototype(model, page, j) for j in range(shown)]
    if shown < model.n_prototypes:
        sections.append(f"<p>{model.n_prototypes - shown} more are not drawn.</p>")
    sections.append("<h2>Real rows in this file</h2>")
    if page.rows:
        sections.append(_table(page.rows))
    elif "real case" in model.kind_of_prototype:
        sections.append("<p>None as a table; the portraits are made of real rows.</p>")
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
            own = page.names.get(table.prototype) or f"Prototype {table.prototype + 1}"
            name = f"{own}: {name}"
        start = "" if table.start is None else f", starts at {table.start:.3g}"
        lines += [f"<h3>{escape(name + start)}</h3>", _table(table.lines)]
        if more := table.n_left_out:
            lines.append(f"<p>{more} line{'s' * (more > 1)} of less effect</p>")
    return lines


def _text(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _table(lines: Sequence[Mapping[str, Any]]) -> str:
    if not lines:
        return ""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in lines[0])
    body = "".join(
        "<tr>"
        + "".join(f"<td>{escape(_text(v))}</td>" for v in line.values())
        + "</tr>"
        for line in lines
    )
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def _prototype(model: PrototypeModel, page: Page, j: int) -> str:
    label = "the answer"
    if model.classes is not None:
        label = str(model.classes[model.owner[j]])
    name = page.names.get(j) or f"Prototype {j + 1}"
    lines = [f"<section><h3>{escape(name)}: {escape(label)}</h3>"]
    if note := page.notes.get(j):
        lines.append(f"<p>{escape(note)}</p>")
    for warning in page.warnings.get(j, ()):
        lines.append(f'<p class="warning">{escape(warning)}</p>')
    values = page.portraits[j]
    if len(page.shape) > 1:
        lines.append(_picture(values, page.shape, page.signed, name))
    else:
        spread = values if page.signed else (values - model.center) / model.scale
        lines.append(_bars(spread, values, model.feature_names, name))
    return "".join(lines) + "</section>"


def _picture(
    values: np.ndarray, shape: tuple[int, ...], signed: bool, name: str
) -> str:
    from smpcore.figures import as_image  # with plotly

    image = as_image(values, shape)
    height, width = image.shape
    side = max(1, 240 // max(height, width))
    low, high = float(np.nanmin(image)), float(np.nanmax(image))
    top = max(abs(low), abs(high)) or 1.0
    cells = []
    for y, line in enumerate(image):
        for x, value in enumerate(line):
            if np.isnan(value):
                cells.append(_cross(x * side, y * side, side))
                continue
            color = _signed_color(value / top) if signed else _grey(value, low, high)
            cells.append(
                f'<rect x="{x * side}" y="{y * side}" width="{side}" height="{side}" '
                f'fill="{color}"/>'
            )
    return _svg(width * side, height * side, f"Portrait of {name}", "".join(cells))


def _cross(x: int, y: int, side: int) -> str:
    return f'<path d="M{x} {y}l{side} {side}m0 {-side}l{-side} {side}" stroke="#777"/>'


def _signed_color(share: float) -> str:
    """White at 0, blue for, vermilion against."""
    tint = _FOR if share > 0 else _AGAINST
    mixed = [round(255 + abs(share) * (part - 255)) for part in tint]
    return f"rgb({mixed[0]},{mixed[1]},{mixed[2]})"


def _grey(value: float, low: float, high: float) -> str:
    level = round(255 * (value - low) / ((high - low) or 1.0))
    return f"rgb({level},{level},{level})"


def _bars(values: np.ndarray, told: np.ndarray, names: Sequence[str], name: str) -> str:
    """Bars by length; beside each its feature and number."""
    order = np.argsort(-np.abs(values), kind="stable")
    order = order[values[order] != 0]
    if not order.size:
        return "<p>All of it is zero.</p>"
    n_left = max(0, order.size - _MOST_BARS)
    more = f"<p>and {n_left} smaller one{'s' * (n_left > 1)}</p>" if n_left else ""
    order = order[:_MOST_BARS]
    top, lines = float(np.abs(values[order]).max()), []
    for i, f in enumerate(order):
        length = 150 * abs(values[f]) / top
        start = 150 if values[f] > 0 else 150 - length
        tint = _FOR if values[f] > 0 else _AGAINST
        label = shorten_name(names[f], 40)
        lines.append(
            f'<rect x="{start:.1f}" y="{22 * i + 3}" width="{length:.1f}" height="16" '
            f'fill="rgb{tint}"/><text x="310" y="{22 * i + 16}" font-size="14">'
            f"{escape(label)}: {told[f]:.4g}</text>"
        )
    middle = f'<path d="M150 0V{22 * len(order)}" stroke="#555"/>'
    title, body = f"Bars of {name}", middle + "".join(lines)
    return _svg(640, 22 * len(order), title, body) + more


def _svg(width: int, height: int, title: str, body: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" role="img" aria-label="{escape(title)}">{body}</svg>'
    )
