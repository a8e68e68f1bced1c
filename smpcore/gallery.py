"""A static site of figures, for any host: ``python -m smpcore.gallery OUT``.

Beside them it has a reference of the public names, where pdoc is installed, the pages
of a guide in Markdown, where a folder is named, and the lessons of an app.
"""

from __future__ import annotations

import argparse
import base64
import html
import importlib
import inspect
import logging
import re
import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from smpcore.datasets import list_datasets
from smpcore.errors import Caution, SmpcoreError
from smpcore.live.alone import bundled_table, host_of
from smpcore.live.choice import Choice
from smpcore.live.context import resolve
from smpcore.live.page_file import FOLDER, saved_page

log = logging.getLogger(__name__)
#: Packages whose names are public.
ROOMS = (
    *("methods", "datasets", "evaluation", "explain", "report", "figures", "model"),
    *("codegen", "chips", "live"),
)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""
_START = """<h1>Sparse Prototype Explorer</h1>
<p>Each page is one figure that is dragged, played and pointed at without a server.</p>
"""


def write_gallery(
    out: Path,
    data: list[str] | None = None,
    guide: Path | None = None,
    lessons: Iterable[tuple[str, str, bytes]] = (),
) -> list[Path]:
    """Write a page for each bundled data set and method, and an index of them.

    Parameters
    ----------
    out : Path
        Folder, made if it is not there.
    data : list of str, optional
        Keys of data sets; all of them if not given.
    guide : Path, optional
        Folder of pages in Markdown, which are written beside the figures.
    lessons : iterable of (str, str, bytes)
        Name, title and page of each lesson.

    Returns
    -------
    list of Path
        The pages of figures and lessons. Where even a few values of the main control
        would take minutes there is none, and the index says so.
    """
    out.mkdir(parents=True, exist_ok=True)
    host, pages, lines = host_of(bundled_table), [], []
    for info in list_datasets():
        if data and info.key not in data:
            continue
        lines.append(f"<h2>{html.escape(info.title)}</h2>\n<ul>")
        for method in resolve(Choice(data=info.key), host=host).methods.values():
            context = resolve(Choice(data=info.key, method=method.key), host=host)
            title = html.escape(method.title)
            path = out / f"{info.key}-{method.key}.html"
            started = time.perf_counter()
            try:
                query = f"?data={info.key}&method={method.key}"
                path.write_bytes(saved_page(context, query))
            except SmpcoreError as error:
                why = html.escape(str(error))
                lines.append(f"<li>{title}: not written, {why}</li>")
                continue
            pages.append(path)
            lines.append(f'<li><a href="{path.name}">{title}</a></li>')
            size, seconds = path.stat().st_size, time.perf_counter() - started
            log.info("%s: %d kB, %.1f s", path.name, size // 1000, seconds)
        lines.append("</ul>")
    written = [_write_lesson(out, *entry) for entry in lessons]
    pages += [path for path, _ in written]
    if written:
        items = "\n".join(line for _, line in written)
        lines.append(f"<h2>Lessons</h2>\n<ul>{items}</ul>")
    lines += [*_write_guide(out, guide), *_write_reference(out)]
    style = (FOLDER / "saved.css").read_text("utf-8")
    title, body = "Sparse Prototype Explorer", _START + "\n".join(lines)
    index = _PAGE.format(title=title, style=style, body=body)
    (out / "index.html").write_text(index, "utf-8")
    return pages


def _write_lesson(out: Path, name: str, title: str, page: bytes) -> tuple[Path, str]:
    """Write a lesson; its file, and its line of the index."""
    path = out / f"lesson-{name}.html"
    path.write_bytes(page)
    log.info("%s: %d kB", path.name, len(page) // 1000)
    return path, f'<li><a href="{path.name}">{html.escape(title)}</a></li>'


def _write_reference(out: Path) -> list[str]:
    """Document the public names; lines of the index."""
    try:
        import pdoc
    except ImportError:
        log.info("no reference of the names: pdoc is not installed (smpcore[gallery])")
        return []
    pdoc.render.configure(docformat="numpy")
    rooms = [f"smpcore.{room}" for room in ROOMS]
    for room in map(importlib.import_module, rooms):
        # What a package offers is defined in its modules, which are not described.
        names = [name for name, value in vars(room).items() if _is_ours(name, value)]
        room.__dict__.setdefault("__all__", names)
    with warnings.catch_warnings():  # a module is named by two rooms
        warnings.simplefilter("ignore")
        deeper = r"!smpcore\.[^.]+\..*"
        pdoc.pdoc("smpcore", *rooms, deeper, output_directory=out / "reference")
    return ['<h2><a href="reference/index.html">Names of the library</a></h2>']


def _is_ours(name: str, value: object) -> bool:
    module = inspect.getmodule(value)
    is_ours = module is not None and module.__name__.startswith("smpcore")
    return is_ours and not (name.startswith("_") or inspect.ismodule(value))


#: A picture of Markdown: what it means, and its file.
_PICTURE = re.compile(r"!\[([^]]*)\]\(([^)]+)\)")


def _write_guide(out: Path, guide: Path | None) -> list[str]:
    """Write the pages of a guide; lines of the index."""
    if guide is None:
        return []
    from markdown2 import markdown  # it comes with pdoc

    def picture(match: re.Match[str]) -> str:
        data = base64.b64encode((guide / match[2]).read_bytes()).decode()
        source = f"data:image/svg+xml;base64,{data}"
        return f'<img alt="{html.escape(match[1])}" src="{source}">'

    style = (FOLDER / "saved.css").read_text("utf-8")
    (out / "guide").mkdir(exist_ok=True)
    lines = ["<h2>Guide</h2>\n<ul>"]
    for path in sorted(guide.glob("*.md")):
        text = path.read_text("utf-8")
        body = markdown(
            _PICTURE.sub(picture, text), extras=["fenced-code-blocks", "tables"]
        )
        page = _PAGE.format(title=_title(text), style=style, body=body)
        (out / "guide" / f"{path.stem}.html").write_text(page, "utf-8")
        lines.append(f'<li><a href="guide/{path.stem}.html">{_title(text)}</a></li>')
    return [*lines, "</ul>"]


def _title(text: str) -> str:
    return html.escape(text.split("\n", 1)[0].removeprefix("# "))


def main() -> None:
    """Write the gallery that a command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m smpcore.gallery")
    parser.add_argument("out", type=Path, help="folder")
    parser.add_argument("--guide", type=Path, help="folder of pages in Markdown")
    help = "MODULE:FUNCTION that yields name, title and page of each lesson"
    parser.add_argument("--lessons", help=help)
    parser.add_argument("--data", nargs="*", help="keys of data sets; all if not given")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", Caution)
    warnings.simplefilter("ignore", ConvergenceWarning)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    lessons = ()
    if arguments.lessons:
        module, _, function = arguments.lessons.partition(":")
        lessons = getattr(importlib.import_module(module), function)()
    pages = write_gallery(arguments.out, arguments.data, arguments.guide, lessons)
    size = sum(path.stat().st_size for path in pages)
    log.info("%d pages, %.1f MB", len(pages), size / 1e6)


if __name__ == "__main__":
    main()
