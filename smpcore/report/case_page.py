"""The answers to single cases as HTML, each on a printed page of its own."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import numpy as np

from smpcore.datasets import plain_number
from smpcore.explain import Case
from smpcore.model.html import html_table

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
