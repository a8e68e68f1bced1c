"""A static site of figures, for any host: ``python -m smpcore.gallery OUT``."""

from __future__ import annotations

import argparse
import html
import logging
import sys
import time
import warnings
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from smpcore.datasets import list_datasets
from smpcore.errors import Caution, SmpcoreError
from smpcore.live.alone import bundled_table, host_of
from smpcore.live.choice import Choice
from smpcore.live.context import resolve
from smpcore.live.page_file import FOLDER, saved_page

log = logging.getLogger(__name__)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sparse Prototype Explorer</title>
<style>{style}</style>
</head>
<body>
<h1>Sparse Prototype Explorer</h1>
<p>Each page is one figure that is dragged, played and pointed at without a server.</p>
{body}
</body>
</html>
"""


def write_gallery(out: Path, data: list[str] | None = None) -> list[Path]:
    """Write a page for each bundled data set and method, and an index of them.

    Parameters
    ----------
    out : Path
        Folder, made if it is not there.
    data : list of str, optional
        Keys of data sets; all of them if not given.

    Returns
    -------
    list of Path
        The pages of figures. Where even a few values of the main control would take
        minutes there is none, and the index says so.
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
    style = (FOLDER / "saved.css").read_text("utf-8")
    index = _PAGE.format(style=style, body="\n".join(lines))
    (out / "index.html").write_text(index, "utf-8")
    return pages


def main() -> None:
    """Write the gallery that a command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m smpcore.gallery")
    parser.add_argument("out", type=Path, help="folder")
    parser.add_argument("--data", nargs="*", help="keys of data sets; all if not given")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", Caution)
    warnings.simplefilter("ignore", ConvergenceWarning)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    pages = write_gallery(arguments.out, arguments.data)
    size = sum(path.stat().st_size for path in pages)
    log.info("%d pages, %.1f MB", len(pages), size / 1e6)


if __name__ == "__main__":
    main()
