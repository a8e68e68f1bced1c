"""The batch command and its files: resumed exactly, mended, never overwritten."""

import io
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from smpcore import SmpcoreError, load_dataset, split, sweep
from smpcore.evaluation import __main__ as command
from smpcore.evaluation import (
    baseline_paths,
    edition,
    folds,
    journal,
    method_path,
    read_results,
    sweep_table,
)
from smpcore.evaluation.journal import Journal, Subject, write_results
from tests.clusters import ROOT

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
COMMAND = (sys.executable, "-m", "smpcore.evaluation")


def _batch(out, *options, data="iris"):
    own = "--data", data, "--out", str(out), "--folds", "3", *options
    return subprocess.run([*COMMAND, *own], cwd=ROOT, capture_output=True, text=True)


def _subject(dataset, parts, n_folds=3):
    of = dataset.name, dataset.digest, parts.key, dataset.task, n_folds
    return Subject(*of, edition())


@pytest.fixture(scope="module")
def found():
    dataset = load_dataset("iris")
    parts = split(dataset)
    drawn = folds(dataset, parts.train, 3)
    walks = [method_path("smallk", dataset, parts.train, n_points=3)]
    walks += baseline_paths(dataset.task)[:1]
    rows = list(sweep(dataset, drawn, walks, mode="cold"))
    return _subject(dataset, parts), rows


@pytest.fixture
def path(tmp_path):
    return tmp_path / "r.parquet"


def _content(path):
    return read_results(path.read_bytes(), path.name)


def test_a_file_gives_back_what_was_written(found, path):
    subject, rows = found
    write_results(path, subject, rows)
    again, table = _content(path)
    assert again == subject
    expected = sweep_table(rows, subject.task)
    expected["value"] = expected["value"].astype(float)
    pd.testing.assert_frame_equal(table, expected, check_dtype=False)


def _journaled(path, found, rows=None):
    """A result file and a journal of some rows, as a run leaves them."""
    subject, every = found
    with Journal(path, subject) as journal:
        for row in every if rows is None else rows:
            journal.add(row)
        journal.write()
    return path.with_name(path.name + ".journal")


def test_a_journal_goes_on_where_it_was_cut(found, path):
    subject, rows = found
    beside = _journaled(path, found)
    path.unlink()
    whole = beside.read_bytes()
    drawn = np.random.default_rng(0).integers(1, len(whole), 50).tolist()
    for length in (0, 10, *drawn, len(whole) - 1, len(whole)):
        beside.write_bytes(whole[:length])
        with Journal(path, subject) as again:
            n = whole[:length].count(b"\n") - 1
            assert len(again.rows) == max(0, n)
            at_an_end = not length or whole[length - 1 : length] == b"\n"
            assert bool(again.notices) != at_an_end
            for row in rows:
                again.add(row)
            assert len(again.rows) == len(rows)
        with Journal(path, subject) as third:
            assert not third.notices


def test_damaged_lines_cost_only_themselves(found, path):
    subject, rows = found
    beside = _journaled(path, found)
    path.unlink()
    lines = beside.read_bytes().splitlines()
    lines[1] = json.dumps(json.loads(lines[1]) | {"fold": 99}).encode()
    lines[2] = b"{}"
    lines[3] = b"\xff" + lines[3][:20]
    lines[4] = lines[4].replace(b'"seconds": ', b'"seconds": "')
    beside.write_bytes(b"\n".join(lines) + b"\n")
    with Journal(path, subject) as again:
        assert len(again.rows) == len(rows) - 4
        assert "4 damaged lines left out" in again.notices[0]


def test_one_run_at_a_time_has_a_file(found, path):
    subject, rows = found
    with Journal(path, subject) as journal:
        journal.add(rows[0])
        with pytest.raises(SmpcoreError, match="Another run is writing"):
            Journal(path, subject)
        journal.add(rows[1])
    with Journal(path, subject) as again:
        assert len(again.rows) == 2


def test_a_cut_file_is_made_anew_from_the_journal(found, path):
    subject, rows = found
    beside = _journaled(path, found)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with Journal(path, subject) as again:
        assert "cut off or damaged" in again.notices[0]
        again.write()
    assert path.read_bytes() == whole
    beside.unlink()
    with Journal(path, subject) as again:
        assert len(again.rows) == len(rows), "the file alone does"
    beside.unlink()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SmpcoreError, match="no journal"):
        Journal(path, subject)
    assert path.read_bytes() == whole[: len(whole) // 2]
    assert not beside.exists()


def test_what_is_another_file_is_left_alone(found, path):
    subject, _ = found
    beside = _journaled(path, found)
    journaled = beside.read_bytes()
    for content, words in (
        (_changed(found, version=2), "version '2'"),
        (_changed(found, split="0" * 16), "other training rows"),
        (_changed(found, edition="0"), "another edition"),
        (_table({"precious": [1, 2, 3]}), "no result file"),
    ):
        path.write_bytes(content)
        with pytest.raises(SmpcoreError, match=words):
            Journal(path, subject)
        assert (path.read_bytes(), beside.read_bytes()) == (content, journaled)
    path.unlink()
    for content in (b"dear diary\n", b"dear diary", b"[1]\n", b"[" * 9999 + b"\n"):
        beside.write_bytes(content)
        with pytest.raises(SmpcoreError, match=r"no journal of a batch run|version"):
            Journal(path, subject)
        assert beside.read_bytes() == content


def _table(columns):
    buffer = io.BytesIO()
    pd.DataFrame(columns).to_parquet(buffer)
    return buffer.getvalue()


def _changed(found, change=lambda frame: frame, text=None, **told):
    """A file whose metadata or columns somebody has changed."""
    subject, rows = found
    frame = sweep_table(rows, subject.task)
    frame["value"] = frame["value"].astype(float)
    table = pa.Table.from_pandas(change(frame), preserve_index=False)
    text = text or json.dumps({"version": 1, **subject.__dict__, **told}).encode()
    table = table.replace_schema_metadata({b"smpcore.results": text})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": {"a": []}}, "version"),
        ({"text": b"{"}, "no result file"),
        ({"text": b"[1]"}, "version"),
        ({"task": "x"}, "was changed"),
        ({"n_folds": "3"}, "was changed"),
        (lambda f: f.drop(columns="accuracy"), "no column accuracy"),
        (lambda f: f.assign(accuracy="high"), "accuracy .* holds no numbers"),
        (lambda f: f.assign(method=[["smp"]] * len(f)), "holds no texts"),
        (lambda f: f.assign(status=1.0), "status .* holds no texts"),
        (lambda f: f.assign(repeat=np.nan), "repeat .* should count"),
        (lambda f: f.assign(fold=-1), "fold .* should count"),
        (lambda f: f.assign(fold=0.5), "fold .* should count"),
        (lambda f: f.assign(fold=99), "fold .* should count, from 0 to 2"),
        (lambda f: pd.concat([f, f]), "same fit twice"),
        (lambda f: f.assign(status="x" * 50_000), "texts of more than"),
        (lambda f: f.assign(method="<b>x</b>"), "method that is unknown"),
        (lambda f: f.assign(parameter="__class__"), "no parameter"),
    ],
)
def test_a_changed_file_is_refused_in_words(found, change, words, monkeypatch):
    monkeypatch.setattr(journal, "MOST_BYTES", 400_000)
    change = change if isinstance(change, dict) else {"change": change}
    with pytest.raises(SmpcoreError, match=words):
        read_results(_changed(found, **change), "r.parquet")


def test_what_is_no_result_file_is_refused_in_words(found):
    whole = bytearray(_changed(found))
    whole[4:400] = bytes(396)  # pages, not the end that says where they are
    for content, words in (
        *(
            (cut, "no Parquet file, or is cut off")
            for cut in (b"", b"PAR1", b"x" * 5000)
        ),
        (bytes(whole), r"damaged|cut off"),
    ):
        with pytest.raises(SmpcoreError, match=words):
            read_results(content, "r.parquet")


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_killed_run_does_only_what_is_missing(tmp_path):
    options = "--methods", "smp,supersparse", "--points", "5", "--jobs", "1"
    out = tmp_path / "r.parquet"
    beside = tmp_path / "r.parquet.journal"
    own = "--data", "wine", "--out", str(out), "--folds", "3", *options
    run = subprocess.Popen([*COMMAND, *own], cwd=ROOT, stderr=subprocess.DEVNULL)
    for _ in range(1200):
        if beside.exists() and beside.read_bytes().count(b"\n") > 10:
            break
        time.sleep(0.05)
    run.send_signal(signal.SIGKILL)
    run.wait()
    kept = beside.read_bytes().count(b"\n") - 1
    assert kept >= 10
    again = _batch(out, *options, data="wine")
    assert again.returncode == 0, again.stderr
    n_fits = len(_content(out)[1])
    assert 10 <= n_fits - kept < n_fits
    assert f"{n_fits - kept} new fits, {n_fits} in all" in again.stdout
    third = _batch(out, *options, data="wine")
    assert "0 new fits" in third.stdout


@pytest.mark.slow
def test_the_command_reads_tables_and_says_what_is_wrong(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    frame["kind"] = np.where(frame["a"] + frame["b"] > 0, "yes", "no")
    frame["who"] = np.arange(80) // 4
    frame.to_csv(tmp_path / "own.csv", index=False)
    out = tmp_path / "r.parquet"
    own = str(tmp_path / "own.csv")
    told = "--target", "kind", "--group", "who", "--ignore", "c", "--points", "2"
    told = *told, "--afterwards", "b"
    done = _batch(out, "--methods", "smp, smp", *told, data=own)
    assert done.returncode == 0, done.stderr
    assert "classification of kind, folds by group column who" in done.stderr
    subject, table = _content(out)
    assert subject.name and set(table["method"]) == {"smp"}
    before = out.read_bytes()
    for options, data, words in (
        ((*told, "--methods", "nearest"), own, "'nearest' is not one of"),
        ((*told[2:], "--target", "nothing"), own, "nothing"),
        ((), "no_such_file.csv", "no file no_such_file.csv"),
        (("--methods", "smp"), "wine", "another data set"),
        (("--target", "kind"), "wine", "bundled set"),
        ((*told, "--group", "kind"), own, "given two roles"),
        ((*told, "--ignore", "b"), own, "given two roles"),
        (("--points", "-1"), own, "whole number from 2"),
        (("--jobs", "0"), own, "whole number from 1"),
        (("--out", "."), own, "is a folder"),
        (("--out", str(tmp_path)), own, "is a folder"),
        (("--out", "no/such/folder/r.parquet"), own, "no folder no/such"),
    ):
        with pytest.raises(SystemExit) as ended:  # of argparse, or as `python -m` ends
            own = "--data", data, "--out", str(out), "--folds", "3", *options
            sys.exit(command.main(own))
        assert ended.value.code == 2
        assert words in capsys.readouterr().err
        assert out.read_bytes() == before
