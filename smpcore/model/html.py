"""A model as HTML: tables and inline SVG, every text escaped, nothing that runs."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from smpcore.colors import NEGATIVE, POSITIVE, blend
from smpcore.datasets.display_names import plain_number, shorten_name
from smpcore.model.portraits import as_image, portraits, value_range
from smpcore.model.prototype_model import PrototypeModel
from smpcore.readouts import READOUTS, Caution, Drawing

#: Where bars begin, in percent of the width; text stands from twice that on.
_MIDDLE = 15
#: Portraits of a summary, and bars and classes of each.
_MOST_PORTRAITS, _FEW_BARS, _MOST_CLASSES = 12, 5, 10


def summary(model: PrototypeModel) -> str:
    """A small table of facts, and portraits, as a notebook shows them."""
    rows, drawn = portraits(model), []
    width = 8 if len(model.sample_shape) > 1 else 32
    figure = f'<figure style="margin: .5rem; width: {width}rem">'
    for j, values in enumerate(rows.values[:_MOST_PORTRAITS]):
        title = f"Prototype {j + 1}"
        if model.classes is not None:
            title += (
                f" (class {shorten_name(model.classes[model.prototype_labels[j]], 40)})"
            )
        shape = model.sample_shape
        blocks = portrait(model, values, rows.signed, title, shape, _FEW_BARS)
        picture = "".join(map(html_block, blocks))
        drawn.append(f"{figure}<figcaption>{escape(title)}</figcaption>{picture}")
    more = model.n_prototypes - len(drawn)
    return (
        html_table([{"Model": name, "": text} for name, text in facts(model).items()])
        + f"<p>{escape(rows.coloured)}</p>"
        + '<div style="display: flex; flex-wrap: wrap">'
        + "".join(f"{one}</figure>" for one in drawn)
        + "</div>"
        + (f"<p>{more} more prototypes are not drawn.</p>" if more > 0 else "")
    )


def facts(model: PrototypeModel) -> dict[str, str]:
    """What can be said of a model without any data."""
    predicts = "a number"
    if model.classes is not None:
        names = [shorten_name(label, 40) for label in model.classes[:_MOST_CLASSES]]
        predicts = f"{len(model.classes)} classes: {', '.join(names)}"
        predicts += ", …" if len(model.classes) > _MOST_CLASSES else ""
    n, kind = model.n_prototypes, model.kind_of_prototype
    return {
        "Predicts": predicts,
        READOUTS["n_prototypes"].label: f"{n}, each a {kind}",
        "Similarity": model.similarity.kind,
        "Features used": f"{np.count_nonzero(model.support)} of {model.n_features}",
        READOUTS["n_nonzeros"].label: f"{model.n_nonzeros:,}",
        "Fit": f"{model.history.status_text}, {model.history.n_iter:,} iterations",
    }


#: Characters of a cell that begins with a number and is not broken.
_LINE = 20
#: How every document looks.
_STYLE = f":root {{ --positive: {POSITIVE}; --negative: {NEGATIVE} }}"
_STYLE += """
body { font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1b1f24; background: #fff }
table { border-collapse: collapse; margin: .5rem 0 }
td, th { border: 1px solid #c5cad1; padding: .2rem .6rem; text-align: left }
.wide { overflow-x: auto }
.n { white-space: nowrap }
"""
#: It keeps a browser from running or fetching anything, whatever is inside.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)


def document(title: str, body: str, style: str = "", script: str = "") -> str:
    """A whole HTML document that needs no network."""
    policy = _POLICY
    if script:
        script = f"\n{script}"
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy += f"; script-src 'sha256-{digest}'"
        body += f'\n<script type="module">{script}</script>'
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}{style}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def html_block(block: str | Caution | Drawing | Sequence[Mapping[str, Any]]) -> str:
    """A paragraph, a picture or a table of a section."""
    if isinstance(block, Drawing):
        return block.svg
    if isinstance(block, Caution):
        return f'<p class="warning">{escape(block.text)}</p>'
    if isinstance(block, str):
        return f"<p>{escape(block)}</p>"
    return html_table(block)


def html_table(lines: Sequence[Mapping[str, Any]]) -> str:
    """A table with the keys of its first line as headings, if they are not blank."""
    if not lines:
        return ""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in lines[0])
    head = f"<tr>{head}</tr>"
    kind = ""
    if not any(str(name).strip() for name in lines[0]):
        head, kind = "", ' class="plain"'
    body = "".join(
        "<tr>" + "".join(map(_cell, line.values())) + "</tr>" for line in lines
    )
    return f'<div class="wide"><table{kind}>{head}{body}</table></div>'


def _cell(value: Any) -> str:
    """A cell; a few numbers with their unit stay on one line."""
    text = cell_text(value)
    is_short = len(text) <= _LINE and text.lstrip("-±")[:1].isdecimal()
    kind = ' class="n"' if is_short else ""
    return f"<td{kind}>{escape(text)}</td>"


def cell_text(value: Any) -> str:
    """What every file writes into a cell of a table."""
    return plain_number(value, 5) if isinstance(value, float) else str(value)


def portrait(
    model: PrototypeModel,
    values: np.ndarray,
    signed: bool,
    name: str,
    shape: tuple[int, ...],
    most_bars: int,
) -> list[str | Drawing]:
    """Draw one prototype: as a picture where samples are, else as its longest bars."""
    if len(shape) > 1:
        limits = None if signed else value_range(model)
        return [Drawing(f"Portrait of {name}", _picture(values, shape, limits, name))]
    spread = values if signed else (values - model.center) / model.scale
    return _bars(spread, values, model.feature_names, name, most_bars)


def _picture(
    values: np.ndarray,
    shape: tuple[int, ...],
    limits: tuple[float, float] | None,
    name: str,
) -> str:
    """Values from black to white within limits; without them, signed weights."""
    image = as_image(values, shape)
    height, width = image.shape
    side = max(1, 240 // max(height, width))
    top = float(np.nanmax(np.abs(image))) or 1.0
    cells = []
    for y, line in enumerate(image):
        for x, value in enumerate(line):
            if np.isnan(value):
                cells.append(_cross(x * side, y * side, side))
                continue
            color = _grey(value, *limits) if limits else _signed_color(value / top)
            cells.append(
                f'<rect x="{x * side}" y="{y * side}" width="{side}" height="{side}" '
                f'fill="{color}"/>'
            )
    frame = f"M0 0H{width * side}V{height * side}H0z"
    cells.append(f'<path d="{frame}" fill="none" stroke="#c5cad1"/>')
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {width * side} {height * side}" '
        f'width="{width * side}" style="max-width: 100%; height: auto" '
        f'role="img" aria-label="Portrait of {escape(name)}">{"".join(cells)}</svg>'
    )


def _cross(x: int, y: int, side: int) -> str:
    return f'<path d="M{x} {y}l{side} {side}m0 {-side}l{-side} {side}" stroke="#777"/>'


def _signed_color(share: float) -> str:
    """White at 0, teal for, crimson against."""
    return blend(POSITIVE if share > 0 else NEGATIVE, (255,) * 3, 1 - abs(share))


def _grey(value: float, low: float, high: float) -> str:
    level = round(255 * min(max((value - low) / ((high - low) or 1.0), 0.0), 1.0))
    return f"rgb({level},{level},{level})"


def _bars(
    values: np.ndarray,
    texts: np.ndarray,
    names: Sequence[str],
    name: str,
    most: int,
) -> list[str | Drawing]:
    """Bars by length; beside each its feature and number."""
    order = np.argsort(-np.abs(values), kind="stable")
    order = order[values[order] != 0]
    if not order.size:
        return ["All of it is zero."]
    n_left = max(0, order.size - most)
    more = [f"and {n_left} smaller one{'' if n_left == 1 else 's'}"] * bool(n_left)
    order = order[:most]
    top, lines = float(np.abs(values[order]).max()), []
    for i, f in enumerate(order):
        length = _MIDDLE * abs(values[f]) / top
        start = _MIDDLE if values[f] > 0 else _MIDDLE - length
        tint = POSITIVE if values[f] > 0 else NEGATIVE
        label = shorten_name(names[f], 40)
        # The number stands first: what a small screen cuts off is the end of a name.
        lines.append(
            f'<rect x="{start:.2f}%" y="{22 * i + 3}" width="{length:.2f}%" '
            f'height="16" fill="{tint}"/><text x="{2 * _MIDDLE + 1}%" '
            f'y="{22 * i + 16}" font-size="14" fill="currentColor">'
            f"{plain_number(texts[f])} {escape(label)}</text>"
        )
    height = 22 * len(order)
    middle = f'<line x1="{_MIDDLE}%" x2="{_MIDDLE}%" y2="{height}" stroke="#555"/>'
    # Without a viewBox letters keep their size, however small the screen.
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="100%" height="{height}" '
        'font-family="sans-serif" style="max-width: 640px" role="img" '
        f'aria-label="Bars of {escape(name)}">{middle}{"".join(lines)}</svg>'
    )
    return [Drawing(f"Bars of {name}", svg), *more]
