"""CPU of each page for each kind of data: ``python -m tests.bench.kinds [WORD ...]``.

Printed are seconds of CPU until a page and all that it began have ended (in brackets:
of its longest run alone), in one process with everything compiled before. Words
choose kinds and pages. The large table is drawn by a seed; ``--write FOLDER`` saves it
as Parquet and CSV.
"""

from __future__ import annotations

import io
import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from streamlit.testing.v1 import AppTest

from pages.work import tasks, visitors, warmup
from smpcore import METHODS
from smpcore.datasets import Dataset, make_dataset, read_table
from tests.app import APP, brought, sound
from tests.smpcore.datasets.test_time_to_event import followed

PAGES = "explore data compare tradeoff performance prototypes apply export".split()
#: A page is given up after so many seconds.
PATIENCE = 240.0


def large_table(n_rows: int = 300_000, n_columns: int = 20) -> pd.DataFrame:
    """Two classes that overlap; three columns matter."""
    draw = np.random.default_rng(64)
    X = draw.normal(size=(n_rows, n_columns)).round(3).astype(np.float32)
    score = X[:, 0] + X[:, 1] * X[:, 2] + draw.normal(scale=0.5, size=n_rows)
    frame = pd.DataFrame(X, columns=[f"sensor {i + 1}" for i in range(n_columns)])
    return frame.assign(state=np.where(score > 0, "faulty", "sound"))


def pictures(n: int = 3_000, side: int = 28) -> Dataset:
    """Digits of scikit-learn, enlarged and moved by up to two pixels."""
    digits, draw = load_digits(), np.random.default_rng(64)
    images = np.zeros((n, side, side))
    rows = draw.integers(0, len(digits.images), n)
    for image, row, move in zip(images, rows, draw.integers(0, 5, (n, 2)), strict=True):
        places = slice(move[0], move[0] + 24), slice(move[1], move[1] + 24)
        image[places] = np.kron(digits.images[row], np.ones((3, 3)))
    file = io.BytesIO()
    np.savez(file, X=images, y=digits.target[rows])
    return read_table(file.getvalue(), "pictures.npz")


#: Kind -> the link to its data.
KINDS: dict[str, Callable[[], dict[str, str]]] = {
    "two classes": lambda: {"data": "breast_cancer"},
    "many classes": lambda: {"data": "wine"},
    "regression": lambda: {"data": "diabetes"},
    "time to event": lambda: (
        brought(followed()) | {"within": '["months", "death", "1", 14.0]'}
    ),
    "series": lambda: {"data": "series"},
    "matrix": lambda: {"data": "similarities"},
    "text": lambda: {"data": "words"},
    "image": lambda: {"data": "digits"},
    "pictures": lambda: brought(pictures()),
    "large": lambda: brought(make_dataset(large_table(), "large")),
}


def _rested(app: AppTest) -> tuple[float, float, str]:
    """CPU until the page and its tasks have ended, of its longest run, what goes on."""
    began, longest, deadline = time.process_time(), 0.0, time.monotonic() + PATIENCE
    while True:
        before = time.process_time()
        sound(app.run())
        longest = max(longest, time.process_time() - before)
        running = [task for task in list(tasks._watched) if not task.done]
        for task in running:
            task.wait(max(0.0, deadline - time.monotonic()))
        left = ", ".join(type(task).__name__ for task in running if not task.done)
        if left or not running:
            tasks.end_all()
            return time.process_time() - began, longest, left


def main(words: list[str]) -> None:
    """Print a line for each kind, a page a column."""
    if "--write" in words:
        folder = Path(words[words.index("--write") + 1])
        large_table().to_parquet(folder / "large.parquet")
        large_table().to_csv(folder / "large.csv", index=False)
        return
    logging.disable(logging.WARNING)
    visitors.browser = lambda: "bench"  # whose tables are those that are brought
    AppTest.from_file(APP, default_timeout=PATIENCE).run()
    for key in METHODS:
        warmup._load(key, every_option=True)
    warmup.uncompiled.clear()
    pages = [page for page in PAGES if page in words] or PAGES
    print(f"{'':14s}" + "".join(f"{page:>18s}" for page in pages))
    for kind in [kind for kind in KINDS if kind in words] or KINDS:
        print(f"{kind:14s}", end="", flush=True)
        link = KINDS[kind]()
        for page in pages:
            app = AppTest.from_file(APP, default_timeout=PATIENCE)
            for name, value in link.items():
                app.query_params[name] = value
            if page != "explore":
                app.switch_page(f"pages/{page}.py")
            total, longest, left = _rested(app)
            print(
                f"{total:10.1f} ({longest:4.1f})" + "+ "[not left], end="", flush=True
            )
            if left:
                print(f" {left} goes on", file=sys.stderr)
        print(flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
