"""What a visitor may bring, with entries that nobody expects.

Each kind draws something by a seed and has the app take it. It answers *taken* or with
the words that refuse it; an exception, or an answer that is not in words, is *raw*.
"""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import tempfile
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
from scipy.io import savemat
from streamlit.testing.v1 import AppTest

from pages.state import lesson_files
from pages.state.session import Session
from smpcore import METHODS, SmpcoreError, read_table
from smpcore.datasets import prepare, split
from smpcore.live import Choice
from tests.app import APP, WITHOUT_A_CHOICE, session_of
from tests.attack import mutate

#: Signs of an answer that is not in words.
RAW = "Traceback", "Internal error", "Error:", "object at 0x", "<class '", "ufunc"
PAGES = (
    *("explore.py", "data.py", "prototypes.py", "compare.py", "tradeoff.py"),
    *("performance.py", "apply.py", "export.py", "lessons.py", "papers.py", "guide.py"),
)
#: Bundled tables of all tasks and shapes that are fitted at once.
TABLES = "moons", "iris", "sine", "wine", "breast_cancer", "diabetes", "series", "words"
#: Pages that begin studies: the table is a small one.
LONG = "compare.py", "tradeoff.py"
SECTIONS = {
    "prototypes.py": ("prototypes_section", ["Score", "Stability", "Report", "x"]),
    "performance.py": ("performance_section", ["Errors", "Subgroups", "Calibration"]),
}


class Raw(AssertionError):
    """An answer that is not in words."""


def judged(words: str) -> str:
    """The words, if they are words."""
    if not words.strip() or any(sign in words for sign in RAW):
        raise Raw(f"answered with {words[:300]!r}")
    return words


def _link(draw: np.random.Generator) -> tuple[str, dict[str, str]]:
    """A page and a link with settings that fit, or not."""
    page = mutate.pick(draw, PAGES)
    tables = TABLES[:3] if page in LONG else TABLES
    method = METHODS[mutate.pick(draw, METHODS)]
    names = [p.name for task in method.estimators for p in method.controls(task)]
    names += ["v.kind", "v.first", "v.at0", "d.n", "d.noise", "seed", "validation"]
    names += ["test", "threshold", "band", "two", "outcome", "within", "without"]
    names += ["opened", "open", "mine", "class", "embed", "lesson", "p.mutant", "drawn"]
    query = {"data": mutate.pick(draw, tables), "method": method.key}
    for _ in range(draw.integers(0, 6)):
        query[mutate.pick(draw, names)] = mutate.text(draw)
    if draw.random() < 0.2:
        query[mutate.pick(draw, query)] = mutate.text(draw)
    if page in SECTIONS:
        key, sections = SECTIONS[page]
        query[f"p.{key}"] = mutate.pick(draw, sections)
    # A browser sends UTF-8: half a pair cannot come.
    right = {name: text.encode("utf-8", "ignore") for name, text in query.items()}
    return page, {name: text.decode() for name, text in right.items() if text}


def link(draw: np.random.Generator) -> str:
    """Open a link, and the page that it is for."""
    page, query = _link(draw)
    app = AppTest.from_file(APP, default_timeout=120)
    for name, text in query.items():
        app.query_params[name] = text
    try:
        if page in WITHOUT_A_CHOICE:
            app.run()
        if page != "explore.py":
            app.switch_page(f"pages/{page}")
        app.run()
        problems = [one.value for one in app.exception]
        if problems:
            raise Raw(problems[0])
        for one in (*app.error, *app.warning, *app.info):
            judged(one.value)
    except Exception as problem:
        raise Raw(f"{page} {query}: {problem}") from problem
    return "taken"


def _open_state() -> None:
    import streamlit as st

    from pages.state import session, state_file
    from pages.ui import workspace
    from smpcore import SmpcoreError

    try:
        saved = state_file.read(st.session_state["content"])
        st.session_state["answer"] = workspace.put(saved, session.current())
        session.resolved()
    except SmpcoreError as problem:
        st.session_state["answer"] = str(problem)


@cache
def _states() -> list[dict]:
    """Right state files: of bundled tables, with a pin and notes, with own points."""
    states = []
    for table, method in (("moons", "smp"), ("iris", "imkpl"), ("sine", "supersparse")):
        app = AppTest.from_function(_gather, default_timeout=60)
        app.session_state["session"] = Session(choice=Choice(data=table, method=method))
        app.run()
        assert not app.exception, app.exception[0].value
        states.append(json.loads(app.session_state["content"]))
    return states


def _gather() -> None:
    import streamlit as st

    from pages.state import session, state_file
    from pages.ui import workspace

    saved = workspace.gather(session.current(), True)
    st.session_state["content"] = state_file.write(saved)


def state(draw: np.random.Generator) -> str:
    """Open a state file whose entries were changed."""
    content = json.dumps(mutate.tree(draw, mutate.pick(draw, _states()))).encode()
    if draw.random() < 0.2:
        content = mutate.content(draw, content)
    app = AppTest.from_function(_open_state, default_timeout=60)
    session_of(app)
    app.session_state["content"] = content
    app.run()
    if app.exception:
        raise Raw(f"{content[:2_000]!r}: {app.exception[0].value}")
    return judged(app.session_state["answer"] or "taken")


@cache
def _lessons() -> list[dict]:
    return [
        json.loads(p.read_bytes()) for p in sorted(lesson_files.HOME.glob("*.json"))
    ]


def lesson(draw: np.random.Generator) -> str:
    """Read a lesson whose entries were changed, and what its steps show."""
    content = json.dumps(mutate.tree(draw, mutate.pick(draw, _lessons()))).encode()
    if draw.random() < 0.2:
        content = mutate.content(draw, content)
    try:
        read = lesson_files.read(content)
    except SmpcoreError as problem:
        return judged(str(problem))
    for number, step in enumerate(read.steps, 1):
        lesson_files.points_of(step, f"step {number}")
    return "taken"


@cache
def _files() -> dict[str, bytes]:
    """A right file of each format that has an independent writer here."""
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": draw.integers(20, 90, 40),
            "crp": np.round(draw.gamma(2, 8, 40), 2),
            "sex": draw.choice(["f", "m"], 40),
            "seen": pd.date_range("2024-01-01", periods=40).strftime("%d.%m.%Y"),
            "sick": draw.choice(["yes", "no"], 40),
        }
    )
    frame.loc[3, "crp"] = np.nan
    files = {
        "t.csv": frame.to_csv(index=False).encode(),
        "de.csv": frame.to_csv(index=False, sep=";", decimal=",").encode("cp1252"),
        "t.tsv": frame.to_csv(index=False, sep="\t").encode("utf-16"),
        "t.json": frame.to_json(orient="records").encode(),
        "t.jsonl": frame.to_json(orient="records", lines=True).encode(),
        "fixed.txt": frame.to_string(index=False).encode(),
        "t.arff": _arff(frame),
        "t.ts": _ts(draw),
        "t.svm": b"".join(b"%d 1:%.2f 3:%.2f\n" % (i % 2, i, i / 3) for i in range(30)),
        "t.tab": b"age\tcrp\tsick\nc\tc\td\n\t\tclass\n" + b"1\t2\tyes\n3\t4\tno\n" * 9,
    }
    for name, write in {
        "t.xlsx": partial(frame.to_excel, index=False),
        "t.parquet": frame.to_parquet,
        "t.feather": frame.to_feather,
        "t.mat": lambda to: savemat(to, {"X": frame[["age", "crp"]].to_numpy()}),
    }.items():
        buffer = io.BytesIO()
        write(buffer)
        files[name] = buffer.getvalue()
    files |= _on_disk(frame)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("t.csv", files["t.csv"])
    return files | {
        "t.zip": buffer.getvalue(),
        "t.csv.gz": gzip.compress(files["t.csv"]),
    }


def _on_disk(frame: pd.DataFrame) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        at = {name: Path(folder, name) for name in ("t.sav", "t.dta", "t.sqlite")}
        pyreadstat.write_sav(frame, str(at["t.sav"]))
        pyreadstat.write_dta(frame, str(at["t.dta"]))
        with sqlite3.connect(at["t.sqlite"]) as database:
            frame.to_sql("t", database, index=False)
        database.close()
        return {name: path.read_bytes() for name, path in at.items()}


def _arff(frame: pd.DataFrame) -> bytes:
    head = "@relation r\n@attribute age integer\n@attribute crp real\n"
    head += "@attribute sex {f,m}\n@attribute seen date dd.MM.yyyy\n"
    head += "@attribute sick {yes,no}\n@data\n"
    rows = frame.to_csv(index=False, header=False, na_rep="?", lineterminator="\n")
    return (head + rows).encode()


def _ts(draw: np.random.Generator) -> bytes:
    head = "@problemName w\n@timeStamps false\n@univariate false\n@dimensions 2\n"
    head += "@equalLength true\n@seriesLength 8\n@classLabel true a b\n@data\n"
    rows = [
        ":".join(",".join(f"{v:.2f}" for v in draw.normal(size=8)) for _ in range(2))
        for _ in range(12)
    ]
    return (head + "\n".join(f"{r}:{'ab'[i % 2]}" for i, r in enumerate(rows))).encode()


def table(draw: np.random.Generator) -> str:
    """Read a table whose bytes were changed, divide and prepare it."""
    name = mutate.pick(draw, _files())
    content = mutate.content(draw, _files()[name])
    try:
        dataset = read_table(content, name)
        prepare(dataset, split(dataset, 0.2, 0.2, seed=1).train)
    except SmpcoreError as problem:
        return judged(str(problem))
    except Exception as problem:
        raise Raw(f"{name}: {traceback.format_exc(limit=-3)}") from problem
    for notice in dataset.notices:
        judged(notice)
    return "taken"


#: Kind -> what draws one and has it taken.
KINDS: dict[str, Callable[[np.random.Generator], str]] = {
    "links": link,
    "state files": state,
    "lesson files": lesson,
    "tables": table,
}


@dataclass
class Round:
    """What came of a kind."""

    taken: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    #: Seed -> what was answered instead of words.
    raw: dict[int, str] = field(default_factory=dict)


def attack(kind: str, seed: int, into: Round) -> None:
    """One attack of a kind, drawn by a seed."""
    try:
        answer = KINDS[kind](np.random.default_rng([seed, *map(ord, kind)]))
    except Exception as problem:
        into.raw[seed] = str(problem)
        return
    if answer == "taken":
        into.taken += 1
    else:
        into.refused[answer[:60]] += 1
