"""The figure in real notebooks, from a wheel outside the checkout."""

import json
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect

from tests import attempts
from tests.bench.classroom import free_port

pytestmark = pytest.mark.exhaustive
ROOT = Path(__file__).parents[2]
FIRST = """import smpcore
from sklearn.datasets import make_moons
X, y = make_moons(100, noise=0.3, random_state=0)
figure = smpcore.explore(X, y, "smp")
figure"""
SECOND = """f"Now {figure.model_} of {len(figure._figure.tables)} tables" """
MARIMO = """import marimo
app = marimo.App()

@app.cell
def _():
    {first}
    return (figure,)

@app.cell
def _(figure):
    import marimo
    again = marimo.ui.button(label="Read")
    again
    return (again,)

@app.cell
def _(again, figure):
    again.value
    {second}
"""


@pytest.fixture(scope="module")
def venv(tmp_path_factory):
    """An environment with the wheel, JupyterLab and marimo."""
    folder = tmp_path_factory.mktemp("notebook")
    copy = shutil.copytree(ROOT / "smpcore", folder / "smpcore")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    pip = [folder / "venv/bin/python", "-m", "pip", "install", "-q"]
    subprocess.run([*pip, f"{copy}[notebook]", "jupyterlab", "marimo"], check=True)
    return folder / "venv/bin"


@contextmanager
def server(command, folder, port):
    """The address of a program of notebooks, once it answers."""
    address = f"http://127.0.0.1:{port}"
    with subprocess.Popen(command, cwd=folder) as program:
        for _ in attempts(0.5):
            try:
                urlopen(address).close()
                break
            except URLError:
                continue
        yield address
        program.terminate()


def changed(page):
    """Drag λ to its end and add a point, once all of the path is there."""
    canvas = page.locator("canvas[data-knots]")
    expect(canvas).to_have_attribute("data-knots", "51", timeout=120_000)
    slider = page.get_by_role("slider", name="Merge prototypes (λ)", exact=True)
    slider.focus()
    slider.press("End")
    expect(canvas).to_have_attribute("data-canonical", "1")
    expect(canvas).to_have_attribute("data-knot", "")
    canvas.click(position={"x": 120, "y": 60})
    page.get_by_role("button", name="Add", exact=False).first.click()
    canvas.click(position={"x": 160, "y": 120})
    expect(page.get_by_role("button", name="Undo", exact=False)).to_be_enabled()
    expect(page.get_by_role("link", name="Take the tour")).to_be_hidden()


def test_it_lives_in_jupyterlab(venv, chromium, tmp_path):
    empty = {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
    }
    cells = [empty | {"source": source} for source in (FIRST, SECOND)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = {"nbformat": 4, "nbformat_minor": 4, "metadata": kernel, "cells": cells}
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook))
    port = free_port()
    command = [venv / "jupyter-lab", "--no-browser", "--allow-root", f"--port={port}"]
    command += ["--ServerApp.token=", "--ServerApp.password="]
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    with server(command, tmp_path, port) as address:
        page = context.new_page()
        page.goto(f"{address}/lab/tree/a.ipynb")
        cells = page.locator(".jp-Notebook .jp-CodeCell")
        cells.first.click(timeout=90_000)
        page.keyboard.press("Shift+Enter")
        changed(page)
        cells.nth(1).click()
        page.keyboard.press("Shift+Enter")
        said = page.locator(".jp-OutputArea-output").last
        expect(said).to_contain_text("Now SMPClassifier(lam=0.4")
        expect(said).to_contain_text("of 2 tables")
    context.close()


def test_it_lives_in_marimo(venv, chromium, tmp_path):
    text = MARIMO.format(first=FIRST.replace("\n", "\n    "), second=SECOND)
    (tmp_path / "a.py").write_text(text)
    port = free_port()
    command = [venv / "marimo", "run", "a.py", "--headless", "--no-token"]
    command += ["--port", str(port)]
    context = chromium.new_context(color_scheme="dark")
    with server(command, tmp_path, port) as address:
        page = context.new_page()
        page.goto(address)
        changed(page)
        page.get_by_role("button", name="Read").click()
        expect(page.get_by_text("of 2 tables")).to_contain_text("SMPClassifier(lam=0.4")
    context.close()
