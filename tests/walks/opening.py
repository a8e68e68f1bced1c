"""Open a download with what a person would open it with."""

from __future__ import annotations

import ast
import io
import json
import tempfile
import warnings
import zipfile
from pathlib import Path, PurePath
from xml.etree import ElementTree

import numpy as np
import openpyxl
import pandas as pd
from playwright.sync_api import Browser


def _zip(data: bytes, _: Browser) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert names, "the archive is empty"
        assert not any(n.startswith("/") or ".." in PurePath(n).parts for n in names)
        for name in names:
            assert archive.read(name), f"{name} is empty"


def _csv(data: bytes, _: Browser) -> None:
    table = pd.read_csv(io.BytesIO(data), dtype=str, keep_default_na=False)
    assert len(table), "no rows"
    texts = [*map(str, table.columns), *table.to_numpy(str).ravel()]
    formulas = [t for t in texts if t[:1] in ("=", "@", "\t", "\r")]
    assert not formulas, f"a spreadsheet would run {formulas[0]!r}"


def _parquet(data: bytes, _: Browser) -> None:
    assert len(pd.read_parquet(io.BytesIO(data))), "no rows"


def _xlsx(data: bytes, _: Browser) -> None:
    book = openpyxl.load_workbook(io.BytesIO(data))
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert any(cell.value is not None for cell in cells), "an empty workbook"
    assert not any(cell.data_type == "f" for cell in cells), "a formula"


def _html(data: bytes, browser: Browser) -> None:
    context = browser.new_context(offline=True)
    wrong: list[str] = []
    try:
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "console", lambda line: line.type == "error" and wrong.append(line.text)
        )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "download.html")
            path.write_bytes(data)
            page.goto(path.as_uri())
            assert len(page.inner_text("body").strip()) > 100, "nothing to read"
    finally:
        context.close()
    assert not wrong, wrong


def _svg(data: bytes, _: Browser) -> None:
    root = ElementTree.fromstring(data)
    assert root.tag.endswith("svg")
    assert len(list(root.iter())) > 5, "an empty picture"
    assert not [n for n in root.iter() if n.tag.endswith(("script", "foreignObject"))]


def _png(data: bytes, _: Browser) -> None:
    from PIL import Image  # comes with Streamlit

    picture = Image.open(io.BytesIO(data))
    picture.load()
    colours = picture.convert("RGB").resize((40, 40)).getcolors(1600)
    assert len(colours) > 2, "blank"


def _npz(data: bytes, _: Browser) -> None:
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        assert arrays.files
        assert all(arrays[name].size for name in arrays.files)


def _onnx(data: bytes, _: Browser) -> None:
    import onnx
    import onnxruntime

    onnx.checker.check_model(onnx.load_from_string(data))
    onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])


def _json(data: bytes, _: Browser) -> None:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    assert json.loads(data, parse_constant=refuse)


def _python(data: bytes, _: Browser) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ast.parse(data)


def _text(data: bytes, _: Browser) -> None:
    assert data.decode("utf-8").strip()


_BY_ENDING = {
    "zip": _zip,
    "csv": _csv,
    "parquet": _parquet,
    "xlsx": _xlsx,
    "html": _html,
    "svg": _svg,
    "png": _png,
    "npz": _npz,
    "onnx": _onnx,
    "json": _json,
    "py": _python,
    "txt": _text,
    "md": _text,
}


def open_download(name: str, data: bytes, browser: Browser) -> None:
    """Open a file by its ending.

    Raises
    ------
    Exception
        If it cannot be opened, or holds what it should not.
    """
    assert data, "the file is empty"
    _BY_ENDING[PurePath(name).suffix[1:].lower()](data, browser)
