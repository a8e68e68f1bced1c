"""Walks of minutes, and of what changes rarely: `tests/run --all` takes them."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import expect

from smpcore import METHODS, load_dataset
from smpcore.codegen import NUMBERS, TARGETS
from smpcore.codegen.names import c_float
from smpcore.papers import EXPERIMENTS, Place, missing_data
from smpcore.papers.trial_files import MEASURED_HERE, path_of
from tests.bench.classroom import ROOT
from tests.smpcore.codegen.test_feature_stream import movements
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


def large(n: int) -> pa.Table:
    """Many rows of few columns."""
    draw = np.random.default_rng(2)
    x = draw.integers(0, 100, (2, n), dtype=np.int8)
    return pa.table({"p": x[0], "q": x[1], "kind": (x[0] > x[1]).astype(np.int8)})


def test_a_million_rows_are_sampled_and_all_are_fitted(visit, site):
    name = "large.parquet"
    pq.write_table(large(1_200_000), Path(site.data, name))
    try:
        visit.open("data").choose("Data", name)
        visit.reads("of 1,200,000 rows")
        whole_accuracy(visit, "large")
        visit.go("Data").click("tab", "All rows")
        visit.reads("Of all 1,200,000 rows of the file")
        visit.click("button", "Fit on all rows")
        visit.click("button", re.compile("^Stop"))
        visit.reads("Stopped.")
    finally:
        Path(site.data, name).unlink()


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


def test_what_a_target_cannot_have_is_said(visit):
    clinic(visit)
    visit.go("Export").choose("Target", TARGETS["onnx"].title).click("radio", "int16")
    visit.reads(re.compile("float32"))
    visit.choose("Target", TARGETS["verilog"].title).click("radio", "float32")
    visit.reads(re.compile("int16|int8"))


def test_costs_are_measured_and_the_model_gets_a_name(visit, tmp_path):
    clinic(visit)
    visit.go("Export").fill("Model name", "messung").click("radio", "int16")
    with zipfile.ZipFile(io.BytesIO(visit.take("Download the zip"))) as archive:
        assert "messung/messung.c" in archive.namelist()
        archive.extractall(tmp_path)
    out = run("make", tmp_path / "messung")
    assert re.search(r"messung \w+ format 2 selftest: 0 of \d+ differ", out)
    visit.reads("Measured here on simulated chips")
    visit.click("button", "Calibrate probabilities")
    visit.reads("Include probabilities")
    with zipfile.ZipFile(io.BytesIO(visit.take("Download the zip"))) as archive:
        assert b"probab" in archive.read("messung/messung.h")
    for title in ("Boards, clock", "Compared with", "Inputs as counts", "Ranges and"):
        visit.unfold(title)
    visit.unfold("The same model in Python")


# Movements of a sensor, from the file to a program on a chip with the same answers.

N_TIMES, KINDS = 50, ("rest", "walk", "run")
_MAIN = """
#include <avr/interrupt.h>
#include <avr/pgmspace.h>
#include <avr/sleep.h>

#include "moves_stream.h"

static const float samples[][MOVES_STREAM_N] PROGMEM = {%s};

static void put(char sign)
{
    UCSR0B = 1 << TXEN0;
    while (!(UCSR0A & (1 << UDRE0))) {
    }
    UDR0 = (uint8_t)sign;
}

int main(void)
{
    static struct moves_stream stream;
    float values[MOVES_STREAM_N];
    int16_t x[MOVES_STREAM_N];
    uint16_t k;

    moves_stream_start(&stream);
    for (k = 0; k < sizeof samples / sizeof samples[0]; ++k) {
        memcpy_P(values, samples[k], sizeof values);
        moves_stream_quantise(values, x);
        if (moves_stream_push(&stream, x)) {
            put((char)('0' + moves_stream_predict(&stream)));
        }
    }
    put('\\n');
    while (!(UCSR0A & (1 << TXC0))) {
    }
    cli();
    sleep_mode(); /* for ever: simavr ends here */
}
"""


def moves(seed: int, n: int) -> tuple[list[np.ndarray], bytes]:
    """Windows of one movement each, and the .ts file of them."""
    samples, kind = movements(150 * n // 3, seed)
    rows = np.split(samples, len(samples) // N_TIMES)
    lines = ["@univariate false", "@dimensions 3", "@equalLength true"]
    lines += [f"@seriesLength {N_TIMES}", f"@classLabel true {' '.join(KINDS)}"]
    lines.append("@data")
    for row, label in zip(rows, kind[::N_TIMES], strict=True):
        channels = (",".join(f"{v:.9g}" for v in channel) for channel in row.T)
        lines.append(":".join([*channels, KINDS[label]]))
    return rows, "\n".join(lines).encode()


def test_a_simulated_chip_answers_as_the_page_does(visit, tmp_path):
    if not all(map(shutil.which, ("avr-gcc", "simavr"))):
        pytest.skip("avr-gcc or simavr is not installed")
    upload(visit, "moves.ts", moves(0, 60)[1])
    for name in ("mean", "standard deviation", "zero crossings", "band 4"):
        box = visit.page.get_by_role("combobox", name="Features in place of samples")
        box.press_sequentially(name)
        visit.page.keyboard.press("Enter")
        visit.rest()
    visit.page.keyboard.press("Escape")
    visit.reads("One count of each channel")
    box = visit.page.get_by_role("combobox", name="Filters before the features")
    box.press_sequentially("low-pass 4")
    visit.page.keyboard.press("Enter")
    visit.rest()
    visit.page.keyboard.press("Escape")
    visit.reads("all poles of the filters are inside the unit circle")
    visit.go("Export").click("radio", "int8")
    visit.fill("Stream: samples between answers", "50")
    data = visit.take("Download the zip")
    rows, new = moves(7, 12)
    visit.go("Apply").upload("New rows", "new.ts", new)
    table = pd.read_csv(io.BytesIO(visit.take("All predictions as CSV")))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "moves"
    values = (f"{{{', '.join(map(c_float, one))}}}" for one in np.concatenate(rows))
    (folder / "main.c").write_text(_MAIN % ",\n".join(values))
    sources = [f"moves{end}.c" for end in ("", "_quantise", "_stream")]
    words = ["avr-gcc", "-mmcu=atmega328p", "-std=c99", "-Os", "-o", "moves.elf"]
    words += ["main.c", *sources, "moves_stream_quantise.c"]
    subprocess.run(words, cwd=folder, check=True)
    words = ["simavr", "-m", "atmega328p", "-f", "16000000", "moves.elf"]
    done = subprocess.run(words, cwd=folder, capture_output=True, timeout=120)
    told = (done.stdout + done.stderr).decode()
    digits = re.search(f"[0-2]{{{len(rows)}}}", told) or pytest.fail(told)
    answers = [sorted(KINDS)[int(digit)] for digit in digits[0]]
    assert answers == table["answer"].tolist()
    assert {*answers} == {*KINDS}


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
