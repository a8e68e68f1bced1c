"""What holds of the papers, as a note: a written part, then what is measured.

The written part is ``note.md``; the rest is made from stored trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from smpcore.colors import GREY, NEGATIVE, OKABE_ITO, POSITIVE
from smpcore.methods import METHODS
from smpcore.papers.conclusions import DEPENDS, FAILS, HOLDS, IN_PART, NOT_TESTED
from smpcore.papers.experiment import Experiment
from smpcore.papers.findings import conclusions_table, differences, first_line
from smpcore.papers.readings import TableOf
from smpcore.readouts import Drawing, Section

#: Of a sentence that so many of the shuffles pass, or more, percent, it is said that it
#: can hardly fail.
HARDLY_FAILS = 80
#: Pixels: of a line, of the names, of a bar, and of the whole width.
_LINE, _NAMES, _BAR, _WIDTH = 20, 330, 200, 640
_COLORS = {
    HOLDS: POSITIVE,
    DEPENDS: OKABE_ITO[1],
    IN_PART: GREY,
    FAILS: NEGATIVE,
    NOT_TESTED: GREY,
}
_NUMBERS = (
    "Means over the data sets of a table are reproduced if two one-sided tests find "
    "them within a margin that was fixed before; they differ if another test, "
    "corrected for their number, says so; else the paper's five divisions of the rows "
    "are too few to tell. The placebo rate is how often printed means of other models "
    "that are further away than the margin would be called reproduced."
)


def note(experiments: Sequence[Experiment], table_of: TableOf) -> Section:
    """Write the note on what holds of the papers.

    Parameters
    ----------
    experiments : sequence of Experiment
        Those of all papers.
    table_of : callable
        ``table_of(experiment)`` gives its numbers.

    Returns
    -------
    Section
        The written part, then the conclusions of each paper with their verdicts, and
        what is decided of printed numbers.
    """
    title, *written = _written()
    rows = conclusions_table(experiments, table_of)
    parts = [_picture(rows)]
    for key, method in METHODS.items():
        chosen = [one for one in experiments if one.paper == key]
        names = [one.name for one in chosen]
        lines = [first_line(experiments, table_of, name) for name in names]
        mine = rows[rows["experiment"].isin(names)].to_dict("records")
        blocks = [method.reference, *filter(None, lines), *map(_concluded, mine)]
        parts.append(Section(method.title.split(":")[0], blocks))
    _, decided = differences(experiments, table_of)
    return Section(
        title.title,
        [
            *title.blocks,
            *written,
            Section("Conclusions", parts),
            Section("Printed numbers", [_NUMBERS, *decided]),
        ],
    )


def _written() -> list[Section]:
    """The part that is written by hand: its title, then its sections."""
    text = Path(__file__).with_name("note.md").read_text("utf-8")
    parts = (one.strip().split("\n\n") for one in text[2:].split("\n## "))
    return [Section(title, paragraphs) for title, *paragraphs in parts]


def hardly_fails(row: dict[str, Any]) -> str:
    """Say of a conclusion that its test can hardly fail; empty where it can.

    Parameters
    ----------
    row : dict
        A row of `smpcore.papers.conclusions_table`.

    Returns
    -------
    str
    """
    chance = row["chance"]
    if not chance or float(chance.removesuffix(" %")) < HARDLY_FAILS:
        return ""
    return (
        f"It can hardly fail: with our numbers shuffled between models it passes in "
        f"{chance} of the shuffles."
    )


def _concluded(row: dict[str, Any]) -> Section:
    """A sentence of a paper, its verdict, and what that rests on."""
    verdict = f"It {row['verdict']}"
    if row["readings"]:
        is_one = row["readings"] == "one only"
        verdict += (
            ": one reading only is measured"
            if is_one
            else f": it holds in {row['readings']} readings"
        )
    chance = f", with our numbers shuffled in {row['chance']}" if row["chance"] else ""
    counts = f"In our own reading it holds in {row['here']} comparisons"
    counts += f", printed {row['printed']}" if row["printed"] else ""
    texts = [
        f"{verdict}.",
        hardly_fails(row),
        f"Read as: {row['reading']}." if row["reading"] else "",
        f"{counts}{chance} ({row['experiment']}).",
        f"The reading that favours the paper most: {row['best']}."
        if row["best"]
        else "",
        f"Open, but not measured: {row['open']}." if row["open"] else "",
    ]
    title = f"{row['claim']} ({row['where']})"
    return Section(title, [" ".join(filter(None, texts))])


def _picture(rows: pd.DataFrame) -> Drawing:
    """The share of readings in which each conclusion holds, as bars."""
    parts = []
    for place, row in enumerate(rows.to_dict("records")):
        n, _, of = row["readings"].partition(" of ")
        share = int(n) / int(of) if of else float(row["kind"] == HOLDS)
        y, color = 14 + _LINE * place, _COLORS[row["kind"]]
        words = row["claim"].strip("“”")
        name = escape(f"{row['experiment']}: {words[:26]}…")
        count = row["readings"] or "no readings"
        parts += [
            f'<text x="{_NAMES - 8}" y="{y + 4}" text-anchor="end">{name}</text>',
            f'<rect x="{_NAMES}" y="{y - 7}" width="{_BAR}" height="14" fill="none" '
            f'stroke="{color}"/>',
            f'<rect x="{_NAMES}" y="{y - 7}" width="{_BAR * share:.1f}" height="14" '
            f'fill="{color}"/>',
            f'<text x="{_NAMES + _BAR + 8}" y="{y + 4}">{count}</text>',
        ]
    title = "Share of the measured readings in which each conclusion holds"
    return Drawing(
        title,
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} '
        f'{14 + _LINE * len(rows)}" width="{_WIDTH}" '
        f'style="max-width: 100%; height: auto" font-size="11" '
        f'font-family="sans-serif" role="img" aria-label="{title}">'
        f"{''.join(parts)}</svg>",
    )
