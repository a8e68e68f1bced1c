"""Start-up: what fails leaves a sentence in the log, and nobody waits for it."""

import logging
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from pages.work import compiler, warmup
from smpcore import METHODS, SmpcoreError
from smpcore.parameters import Param

ROOT = Path(__file__).parents[1]


class Picky:
    """An estimator with an option for each kind of rows that it may refuse."""

    fitted: ClassVar[list] = []

    def __init__(self, similarity="any"):
        self.similarity = similarity

    def fit(self, X, y):
        refused = {
            "any": False,
            "not negative": X.min() < 0,
            "shares": X.min() < 0 or X.max() > 1,
            "nothing": True,
            "broken": self.similarity == "broken" and 1 / 0,
        }
        if refused[self.similarity]:
            raise SmpcoreError(f"X should be\nof another {self.similarity} kind.")
        self.fitted.append((self.similarity, len(np.unique(y))))


def picky(key="picky", options=("not negative", "nothing", "broken", "shares", "any")):
    """A method whose options are tried in this order."""
    pairs = tuple((option, option) for option in options)
    param = Param("similarity", "Similarity", "choice", options=pairs)
    row = next(iter(METHODS.values()))
    estimators = {"classification": Picky}
    return replace(row, key=key, title=key, params=(param,), estimators=estimators)


@pytest.fixture
def started(monkeypatch):
    """Start up with these methods, and wait until all of it has ended."""

    def start(methods, **broken):
        monkeypatch.setattr(Picky, "fitted", [])
        monkeypatch.setattr(warmup, "METHODS", methods)
        for name in ("_loaded", "_started"):
            monkeypatch.setattr(warmup, name, type(warmup._loaded)())
        quiet = {"LINE": SimpleNamespace(start=broken.get("line", _nothing))}
        monkeypatch.setattr(warmup, "file_process", SimpleNamespace(**quiet))
        studies = SimpleNamespace(start=broken.get("studies", _nothing))
        monkeypatch.setattr(warmup, "study_pool", studies)
        for name in ("_load_libraries", "_freeze"):
            monkeypatch.setattr(warmup, name, broken.get(name, _nothing))
        warmup.uncompiled.update(methods)
        warmup.waiting.extend(method.title for method in methods.values())
        warmup._load_rest()
        assert not warmup.uncompiled and not warmup.waiting

    return start


def _nothing():
    pass


def _fail():
    raise RuntimeError("can't start new thread")


def test_options_are_tried_on_rows_that_they_take_and_a_failure_ends_nothing(
    started, caplog
):
    """Each failure is one sentence; methods and options behind it are compiled."""
    started({"first": picky("first"), "second": picky("second")})
    for kind in ("not negative", "shares", "any"):
        assert Picky.fitted.count((kind, 3)) == 2
    lines = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    for option in ("nothing", "broken"):
        said = [line for line in lines if option in line]
        assert len(said) == 4  # of two methods, for two classes and for three
    assert len(lines) == 8
    assert not any("\n" in line for line in lines)
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.parametrize("part", ["line", "studies", "_load_libraries", "_freeze"])
def test_no_page_waits_for_a_start_up_that_fails(started, part, caplog):
    started({"one": picky("one")}, **{part: _fail})
    assert ("any", 3) in Picky.fitted
    assert caplog.text.count("part of the start-up failed") == 1


def test_methods_of_the_registry_warm_up_without_a_word(caplog):
    for method in METHODS.values():
        method.warm_up()
    assert "not compiled yet" not in caplog.text


@pytest.fixture
def beside(monkeypatch, tmp_path):
    """The process that compiles, with a program of the test in place of its own."""

    def start(program):
        (tmp_path / "smpcore").mkdir()
        (tmp_path / "smpcore" / "methods.py").write_text(program)
        monkeypatch.setattr(compiler, "_ROOT", tmp_path)
        compiler.start()
        return compiler._process

    yield start
    compiler.end()


SLOW = """
import sys, time
for line in sys.stdin:
    time.sleep(0.3)
    print(line, flush=True, file=open("asked", "a"))
    print(flush=True)
"""


def test_methods_are_compiled_one_after_another_whoever_asks(beside, tmp_path):
    process = beside(SLOW)
    threads = [
        threading.Thread(target=compiler.compile_method, args=(key, options))
        for key, options in (("a", False), ("b", True))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asked = (tmp_path / "asked").read_text().split("\n")
    assert sorted(filter(None, asked)) == ["a", "b options"]
    compiler.end()
    assert process.poll() is not None
    compiler.compile_method("c", False)  # nobody is there: at once


@pytest.mark.parametrize("program", ["", "raise SystemExit(3)", "input()", "1 / 0"])
def test_where_the_process_ends_the_server_compiles(beside, program, started):
    """Without a cache it ends at once; others are killed, or lack memory."""
    process = beside(program)
    started({"one": picky("one")})
    assert ("any", 3) in Picky.fitted
    assert process.poll() is not None


def test_the_process_cannot_be_started(monkeypatch, started, caplog):
    def refuse(*_, **__):
        raise OSError("no memory")

    monkeypatch.setattr(compiler.subprocess, "Popen", refuse)
    compiler.start()
    started({"one": picky("one")})
    assert ("any", 3) in Picky.fitted
    assert "no process to compile solvers in" in caplog.text


@pytest.mark.parametrize("setting", [{}, {"NUMBA_DISABLE_JIT": "1"}])
def test_it_ends_with_whoever_asked_and_at_once_where_nothing_is_kept(setting):
    command = [sys.executable, "-m", "smpcore.methods"]
    pipe = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    environment = os.environ | setting
    with subprocess.Popen(command, cwd=ROOT, env=environment, **pipe) as process:
        if not setting:
            process.stdin.close()
        assert process.wait(120) == 0
        assert process.stdout.read() == b""
