"""Sheets to print: the answers to single cases, each on a page of its own.

One HTML document that needs no network and runs no script. Every text is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from smpcore.datasets import plain_number
from smpcore.explain import Case
from smpcore.model.html import document, html_table

__all__ = ["case_sheet"]

_STYLE = """
article { break-after: page; border-bottom: 2px solid #1b1f24; padding-bottom: 1rem }
article:last-of-type { break-after: auto; border-bottom: 0 }
h1 { font-size: 1.4rem; margin: 1rem 0 .2rem }
h2 { font-size: 1.05rem; margin: 1rem 0 .2rem; break-after: avoid }
p { margin: .3rem 0 }
.remark { border-left: 4px solid #56b4e9; padding-left: .6rem }
.answer { font-size: 1.25rem; margin: .4rem 0 }
.bars td:nth-child(3), .bars td:nth-child(4) { width: 11rem; white-space: nowrap }
.bar { display: inline-block; height: .7em; margin-right: .4em;
  print-color-adjust: exact; -webkit-print-color-adjust: exact }
.for { background: #0072b2 }
.against { background: #d55e00 }
body { overflow-wrap: anywhere }
td, th { overflow-wrap: break-word; max-width: 20rem }
@media (max-width: 40rem) {
  .bars td:nth-child(n) { width: auto }
  .bar { max-width: 2.5em }
}
tr { break-inside: avoid }
@page { size: A4; margin: 12mm }
@media print {
  body { font-size: 9.5pt; line-height: 1.3; margin: 0; max-width: none; padding: 0 }
  article { border-bottom: 0 }
  .wide { overflow: visible }
  td, th { padding: .02rem .5rem }
}
"""
#: The longest bar, in em.
_LONGEST = 6.0


def case_sheet(
    cases: Sequence[Case], title: str, facts: Mapping[str, str] | None = None
) -> str:
    """Write one printed page per case.

    Parameters
    ----------
    cases : sequence of Case
        From `smpcore.explain.CaseExplainer.explain`.
    title : str
        Name of the document, the same on every page.
    facts : mapping of str to str, optional
        Of the model, on every page: its data, method and how good it is.

    Returns
    -------
    str
        A whole HTML document, self-contained.
    """
    about = " · ".join(f"{name}: {text}" for name, text in (facts or {}).items())
    head = f"<p>{escape(title)}{escape(f' · {about}' if about else '')}</p>"
    pages = [f"<article>{head}{_case(case)}</article>" for case in cases]
    return document(title, "\n".join(pages), _STYLE)


def _case(case: Case) -> str:
    facts = [f"{name}: <b>{escape(text)}</b>" for name, text in _escaped(case.facts)]
    remarks = case.remarks or ["Nothing was missing, out of range or unseen."]
    sections = [
        f"<h1>{escape(case.title)}</h1>",
        f'<p class="answer">Prediction: <b>{escape(case.answer)}</b></p>',
        f"<p>{' · '.join(facts)}</p>" if facts else "",
        *(f'<p class="remark">{escape(remark)}</p>' for remark in remarks),
        "<h2>For and against</h2>",
        _parts(case),
        f"<p>{escape(case.rule)}</p>",
        "<h2>Smallest change</h2>",
        f"<p>{escape(case.change)}</p>",
        html_table(case.changes),
        "<h2>Nearest training cases</h2>",
        html_table(case.nearest),
        f"<p>{escape(case.nearest_note)}</p>",
    ]
    return "\n".join(filter(None, sections))


def _escaped(facts: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(escape(name), text) for name, text in facts.items()]


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
    return f'<div class="wide"><table class="bars">{table}</table></div>'
