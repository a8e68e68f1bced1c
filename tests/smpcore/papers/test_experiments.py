"""Running an experiment: what is kept, what goes on, and reported beside measured."""

import json
import pickle
import subprocess
import sys
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest

from smpcore import METHODS, SmpcoreError, load_dataset, papers
from smpcore.datasets import read_table
from smpcore.papers.__main__ import main
from smpcore.papers.experiment import Case, Outcome, Trial
from smpcore.papers.sources import MissingDataError, Source
from tests.clusters import ROOT
from tests.smpcore.papers.toy import GONE, TOY


def measured(folder, **options):
    return list(papers.run_experiment(TOY, papers.Place(folder), **options))


def test_each_number_stands_beside_what_was_measured(tmp_path):
    assert len(measured(tmp_path)) == 6
    found = papers.read_measured(TOY, tmp_path).values()
    table = papers.compare(TOY, found, papers.missing_data(TOY, papers.Place(tmp_path)))
    rows = {tuple(row[:4]): row[4:] for row in table.fillna(-1).values.tolist()}
    share = rows["moons", "one", "share", -1]
    # Shares .5, 1.5 and 2.5 over the three repetitions.
    assert share[0] == 1.5 and share[2:5] == [1.5, 1.0, 3]
    assert share[-1] == "measured, no margin"
    assert rows["moons", "one", "along", 1.0][-1] == "measured, no margin"
    assert rows["moons", "two", "along", 2.0][-1] == "measured, not printed"
    assert rows["moons", "one", "seconds", -1][-1] == "measured on another machine"
    assert rows["gone", "one", "share", -1][-1] == "needs OpenML ID 31"
    assert table["data"].tolist() == ["moons"] * (len(table) - 1) + ["gone"]


@pytest.mark.parametrize("n_lost", [1, 30])
def test_a_run_goes_on_after_a_line_that_was_cut_off(n_lost, tmp_path):
    first = measured(tmp_path)
    path = tmp_path / "toy.jsonl"
    path.write_bytes(path.read_bytes()[:-n_lost])
    assert len(measured(tmp_path)) == 1
    again = papers.read_measured(TOY, tmp_path)
    assert {one.trial for one in first} == {*again}
    assert path.read_bytes().count(b"\n") == len(first)
    assert measured(tmp_path) == []
    assert len(measured(tmp_path, again=True)) == 6


def test_a_new_run_keeps_what_was_measured_elsewhere(tmp_path):
    one = measured(tmp_path)[0]
    elsewhere = replace(one, trial=one.trial._replace(model="theirs"))
    path = papers.path_of("toy", tmp_path)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(elsewhere.record()) + "\n")
    rivalled = replace(TOY, rivals=("theirs",))
    assert len(papers.read_measured(TOY, tmp_path)) == 6
    runs = [*papers.run_experiment(rivalled, papers.Place(tmp_path), again=True)]
    assert len(runs) == 6
    found = papers.read_measured(rivalled, tmp_path)
    assert len(found) == 7 and found[elsewhere.trial].seconds == round(one.seconds, 3)
    table = papers.compare(rivalled, found.values())
    models = table.loc[table["data"] == "moons", "model"]
    assert [*dict.fromkeys(models)] == ["one", "two", "theirs"]


def test_what_is_not_here_is_said(tmp_path):
    with pytest.raises(MissingDataError, match="needs OpenML ID 31"):
        GONE.load()
    file = Source(file="it.arff")
    with pytest.raises(MissingDataError, match=r"needs the file it\.arff"):
        file.load(tmp_path)
    lost = Source(unavailable="its numbers are lost")
    with pytest.raises(MissingDataError, match="not possible here: its numbers"):
        lost.load(tmp_path)
    nothing = replace(TOY, data={"gone": GONE})
    with pytest.raises(SmpcoreError, match=r"here \(needs OpenML ID 31\)\. python"):
        list(papers.run_experiment(nothing, papers.Place(tmp_path)))
    never = replace(TOY, impossible="not possible here: lost")
    with pytest.raises(SmpcoreError, match="toy: not possible here: lost"):
        list(papers.run_experiment(never, papers.Place(tmp_path)))
    with pytest.raises(SmpcoreError, match="no experiment 'toy'"):
        papers.by_name(papers.EXPERIMENTS, "toy")


def test_a_file_gives_the_columns_and_classes_of_the_paper(tmp_path):
    lines = ["who,a,b", *(f"n{i},{i},{i * i}" for i in range(12))]
    (tmp_path / "it.csv").write_text("\n".join(lines))
    source = Source(file="it.csv", dropped=("who",), target="a", two_classes=True)
    dataset = source.load(tmp_path)
    assert dataset.feature_columns == ["b"] and dataset.target == "a"
    assert dataset.y.tolist() == ["P"] * 6 + ["N"] * 6
    kept = replace(source, dropped=()).load(tmp_path)
    assert kept.feature_columns == ["who", "b"]
    few = [f"n{i},{i % 3},{i * i}" for i in range(12)]
    (tmp_path / "it.csv").write_text("\n".join([lines[0], *few]))
    assert source.load(tmp_path).classes.tolist() == ["N", "P"]


FUNDS = """@relation funds
@attribute who string
@attribute a numeric
@attribute binaryClass {P,N}
@data
""" + "".join(f"n{i},{i},{'PN'[i > 5]}\n" for i in range(12))


def test_what_openml_sends_has_other_names_for_targets_and_must_be_the_same(
    monkeypatch,
):
    sent = read_table(BytesIO(FUNDS.encode()), "funds.arff")
    named = replace(sent, name="Chscase-Funds")
    monkeypatch.setattr("smpcore.papers.sources.fetch_openml", lambda number: named)
    source = Source(
        openml=801,
        file="chscase_funds.arff",
        target="value",
        dropped=("who", "gone"),
        two_classes=True,
    )
    dataset = source.load(download=True)
    assert dataset.feature_columns == ["a"] and dataset.target == "binaryClass"
    other = replace(source, file="vineyard.arff")
    with pytest.raises(MissingDataError, match=r"ID 801, but OpenML's is 'Chscase-Fu"):
        other.load(download=True)


def test_every_experiment_is_whole():
    names = [one.name for one in papers.EXPERIMENTS]
    assert len(names) == len({*names})
    for one in papers.EXPERIMENTS:
        assert one.paper in {*METHODS, "all"} and one.where and one.title
        if one.impossible:
            assert one.impossible.startswith("not possible here: "), one.name
            continue
        assert one.data and one.models and one.protocol and one.repetitions >= 1
        for reason in one.omitted.values():
            assert reason.startswith("not possible here: "), one.name
        assert one.n_halves == 1 or one.repetitions == 1
        assert pickle.loads(pickle.dumps(one)).trials() == one.trials()
        for reported in one.reported:
            assert reported.data in one.data, (one.name, reported)
            models = {*one.models, *one.omitted}
            assert reported.model in models, (one.name, reported)
            assert np.isnan(reported.at) or one.axis, (one.name, reported)


#: Experiments with conclusions whose data are files only.
FILES_ONLY = {
    *("smp-table-1", "smp-table-1-protocols", "smp-table-1-codes", "smp-figure-1"),
    *("smp-overfitting", "small-table-1", "small-figure-1", "mprotsvm-table-2b"),
}


@pytest.mark.parametrize("one", papers.EXPERIMENTS, ids=lambda one: one.name)
def test_explore_has_a_model_for_each_conclusion_and_its_settings(one):
    keys = [source.bundled for source in one.data.values() if source.bundled]
    if one.conclusions:
        assert bool(keys) != (one.name in FILES_ONLY)
    for key in keys if one.paper in METHODS else ():
        dataset, method = load_dataset(key), METHODS[one.paper]
        assert method.learns(dataset, dataset.task)
        assert method.valid_values(one.values, dataset.task) == one.values


def test_list_prints_a_line_of_csv_for_each_experiment(capsys):
    assert main(["list", "--format", "csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    head = "paper,experiment,where,command,conclusions,numbers,status"
    assert lines[0] == head and len(lines) == len(papers.EXPERIMENTS) + 1


def test_the_command_refuses_in_a_sentence(tmp_path, capsys):
    assert main(["run", "no-such"]) == 2
    assert "There is no experiment 'no-such'" in capsys.readouterr().err
    assert main(["list", "--data", str(tmp_path / "none")]) == 2
    assert "there is no such folder" in capsys.readouterr().err


COMMAND = """
import sys
from smpcore.papers import __main__ as command
from tests.clusters import ROOT, Cluster
from tests.smpcore.papers.toy import TOY
command.EXPERIMENTS = (TOY,)
sys.exit(command.main(["run", "toy", "--jobs", "2", "--out", sys.argv[1]]))
"""


def test_the_command_measures_in_processes_and_prints_the_table(tmp_path):
    command = [sys.executable, "-c", COMMAND, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Shares (Table 9)" in done.stdout and "needs OpenML ID 31" in done.stdout
    assert len(papers.read_measured(TOY, tmp_path)) == 6


MOONS = load_dataset("moons", n_samples=40)


FIRST = Trial("moons", "one", 0)


def declared(**changes):
    """An experiment of its own `measure`, and the trials that were measured."""
    calls = []

    def measure(case):
        calls.append(case.trial)
        value = case.declared * (1.0 + case.trial.repetition)
        return Outcome(
            {"value": value, "rows": len(case.rows.y)}, {"along": {3: value}}
        )

    return replace(TOY, measure=measure, **changes), calls


def test_a_trial_of_several_divisions_is_their_mean():
    def summary(outcome):
        return {"twice": 2 * outcome.measures["value"]}

    experiment, calls = declared(repetitions=1, n_halves=3, summary=summary)
    outcome = experiment.run(FIRST, MOONS)
    assert outcome.measures == {
        "value": 2.0,
        "rows": 20.0,
        "value, standard deviation": 1.0,
        "twice": 4.0,
    }
    assert outcome.curves == {"along": {3: 2.0}}
    assert {one.repetition for one in calls} == {0, 1, 2}


def test_rows_of_the_same_content_are_not_measured_again_for_another_model():
    experiment, calls = declared()
    again = replace(MOONS, frame=MOONS.frame.copy())
    fewer = replace(MOONS, frame=MOONS.frame.iloc[:30], origin=None)
    for dataset in (MOONS, again, fewer):
        assert Case(experiment, FIRST, dataset).of("two").measures["value"] == 2.0
    assert len(calls) == 2


def test_a_model_may_ask_for_another_of_the_same_division():
    def measure(case):
        if case.trial.model == "two":
            return Outcome({"value": 10 * case.of("one").measures["value"]})
        return Outcome({"value": case.trial.repetition})

    experiment, _ = declared(repetitions=1, n_halves=3)
    outcome = replace(experiment, measure=measure).run(Trial("moons", "two", 0), MOONS)
    assert outcome.measures["value"] == 10.0
    assert outcome.measures["value, standard deviation"] == 10.0
