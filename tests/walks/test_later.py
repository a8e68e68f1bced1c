"""Walks of minutes, and of what changes rarely: `tests/run --all` takes them."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

from smpcore import METHODS, load_dataset
from smpcore.codegen import NUMBERS, TARGETS
from smpcore.papers import EXPERIMENTS, Place, missing_data
from smpcore.papers.trial_files import MEASURED_HERE, path_of
from tests.bench.classroom import ROOT
from tests.walks.tables import (
    clinic,
    followed,
    german_csv,
    give_role,
    numbers,
    read_as,
    regression,
    series,
    upload,
)
from tests.walks.visit import Visit

pytestmark = pytest.mark.exhaustive

# Tables of every kind, from the upload to what can be taken away.

SECTIONS = ("One by one", "Rule in words", "Why this prediction", "Stability", "Report")
ACCURACY = re.compile(r"Validation accuracy\s+([\d.]+) %:?\s+(\d+) of (\d+) rows")


def whole_accuracy(visit: Visit, name: str) -> None:
    """The share that is shown is that of the rows beside it, and the same elsewhere."""
    share, right, rows = visit.go("Explore").finish().reads(ACCURACY).groups()
    assert share == f"{100 * int(right) / int(rows):.1f}"
    for page in ("Prototypes", "Performance"):
        assert visit.go(page).reads(ACCURACY).groups() == (share, right, rows)
        visit.reads(f"trained on {name}")


def read_prototypes(visit: Visit) -> None:
    """Each section of Prototypes."""
    visit.go("Prototypes")
    for section in SECTIONS:
        visit.click("radio", section)


def applied(visit: Visit, name: str, data: bytes) -> pd.DataFrame:
    """Answers to new rows, as they are downloaded."""
    visit.go("Apply").upload("New rows", name, data)
    return pd.read_csv(io.BytesIO(visit.take("All predictions as CSV")))


def test_a_number_is_predicted(visit):
    regression(visit)
    visit.go("Explore").reads("Validation error")
    read_prototypes(visit)
    visit.go("Performance").reads("predicted = actual")
    visit.click("radio", "Intervals").click("button", "Calibrate intervals")
    visit.reads("coverage is measured, not guaranteed")
    visit.click("radio", "Subgroups").take("Download all measures as CSV")
    new = numbers(n=60, seed=5)
    table = applied(visit, "neu.csv", german_csv(new))
    error = float(np.abs(table["answer"] - new["Alter"]).mean())
    shown = visit.reads(re.compile(r"Mean absolute error\s+([\d.]+)")).group(1)
    assert abs(float(shown) - error) <= 0.5 * 10 ** -len(shown.partition(".")[2])
    visit.go("Export").take("Download the zip")


def test_an_event_within_a_time(visit):
    followed(visit)
    visit.go("Explore").reads("shares weighted for censoring")
    asked = visit.page.url
    visit.slider(re.compile("death within")).press("ArrowRight")
    expect(visit.page).not_to_have_url(asked)
    read_prototypes(visit)
    visit.take("Download the report")
    visit.go("Performance").reads("trained on ")
    visit.go("Export").take("Download the zip")


def test_series_are_compared(visit):
    series(visit)
    whole_accuracy(visit, "motion")
    read_prototypes(visit)
    visit.go("Export").take("Download the zip")


def test_texts_are_compared_letter_by_letter(visit):
    words = load_dataset("words").frame
    data = words.to_csv(index=False).encode()
    visit.open("data").unfold("Upload data").upload("Your table", "worte.csv", data)
    read_as(give_role(visit, 0, "feature"), 0, "text")
    whole_accuracy(visit, "worte")
    read_prototypes(visit)
    visit.reads("There is no report about texts")
    new = words.head(40).assign(word=lambda table: table["word"].str[::-1])
    table = applied(visit, "new.csv", new.to_csv(index=False).encode())
    hits = int((table["answer"] == new["class"]).sum())
    visit.reads(re.compile(rf"Correct rows\s+{hits} of 40\b"))
    visit.go("Export").reads("cannot be exported")


def similarities(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Of points of two classes to 60 samples, and their classes."""

    def points(n: int, seed: int) -> np.ndarray:
        drawn = np.random.default_rng(seed).normal(size=(n, 2))
        return drawn + np.repeat([[-1], [1]], n // 2, 0)

    apart = ((points(n, seed)[:, None] - points(60, 0)) ** 2).sum(axis=2)
    return np.exp(-apart / 4), np.repeat(["a", "b"], n // 2)


def npz(**arrays: np.ndarray) -> bytes:
    """A file of matrices."""
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def test_matrices_of_similarities_are_learned_from(visit):
    near, y = similarities(60, 0)
    upload(visit, "my.npz", npz(near=near, y=y))
    visit.reads("A smallest eigenvalue of 0")
    whole_accuracy(visit, "my")
    read_prototypes(visit)
    near, y = similarities(20, 1)
    table = applied(visit, "new.npz", npz(near=near, y=y))
    hits = int((table["answer"] == y).sum())
    visit.reads(re.compile(rf"Correct rows\s+{hits} of 20\b"))


# An engineer takes the model of an own table to every target, and runs what came.

#: A command in a README; a block of code is none.
COMMAND = re.compile(r"(?<!`)`((?:make|cmake|cargo|python|node|iverilog)\b[^`]*)`")
#: What a self-test ends with.
PASSED = re.compile(r"\b0 of \d+ differ|100% tests passed")
#: What these take is a board or an IDE: their sources are compiled.
COMPILERS = {
    "arduino": "avr-gcc -mmcu=atmega328p -std=gnu99",
    "platformio": "arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb -std=c99",
    "zephyr": "gcc -std=c99",
}
FORMATS = {title: list(TARGETS[title].numbers) for title in TARGETS}


def run(words: str, folder) -> str:
    """Run a line of a README in its folder."""
    tool = words.split()[0]
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    words = re.sub(r"^python\b", sys.executable, words)
    done = subprocess.run(
        words, cwd=folder, shell=True, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def test_each_target_and_format_that_is_downloaded_runs(visit, tmp_path):
    clinic(visit)
    visit.go("Export")
    for turn, target in enumerate(TARGETS):
        offered = TARGETS[target].numbers
        number = offered[turn % len(offered)]
        visit.choose("Target", TARGETS[target].title).click("radio", number)
        visit.rest()
        data = visit.take("Download the zip")
        folder = tmp_path / target
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            archive.extractall(folder)
        (model,) = folder.iterdir()
        readme = (model / "README.md").read_text("utf-8")
        assert number in readme or TARGETS[target].title in readme
        if target in COMPILERS:
            command = f"{COMPILERS[target]} -Wall -Wextra -Werror -Isrc -c src/*.c"
            run(command, model)
        else:
            command = COMMAND.search(readme[readme.index("## Use") :])
            words = command.group(1) if command else "python klinik_selftest.py"
            assert PASSED.search(run(words, model)), words
        if target == "c99":
            run("make avr cortex-m0", model)
    assert {n for t in TARGETS.values() for n in t.numbers} == set(NUMBERS)


# Somebody compares the papers' numbers with those that are measured here.


def titles(paper: str) -> list[str]:
    """Experiments of a paper, as they are listed."""
    return [f"{e.where}: {e.title}" for e in EXPERIMENTS if e.paper == paper]


@pytest.mark.parametrize("turn", range(2))
def test_each_experiment_is_looked_at(visit, turn):
    visit.open("papers")
    papers = {m.title: key for key, m in METHODS.items()} | {
        "Our own comparisons": "all"
    }
    for title, key in list(papers.items())[turn::2]:
        visit.click("radio", title)
        for name in titles(key):
            visit.choose("Experiment", name)
            visit.reads(name)
            visit.reads(re.compile(r"python -m smpcore\.papers run|cannot|not"))


@pytest.fixture
def unmeasured(site):
    """An experiment whose data are here; what the walk measures of it is deleted."""
    bundled = [e for e in EXPERIMENTS if not (e.impossible or missing_data(e, Place()))]
    here = next(e for e in bundled if e.name == "supersparse-start")  # short trials
    path = path_of(here.name, ROOT / MEASURED_HERE)
    was = path.read_bytes() if path.exists() else None
    yield here
    if was is None:
        path.unlink(missing_ok=True)
    else:
        path.write_bytes(was)


def test_a_run_is_begun_and_stopped(visit, unmeasured):
    here = unmeasured
    visit.open("papers")
    titles_of = {key: m.title for key, m in METHODS.items()}
    visit.click("radio", titles_of.get(here.paper, "Our own comparisons"))
    visit.choose("Experiment", f"{here.where}: {here.title}")
    visit.click("button", re.compile("Measure what is missing"))
    visit.reads(re.compile(r"\d+ % of [\d,]+ trials?"))
    visit.click("button", re.compile("Stop"))
    visit.reads("Measure what is missing")
