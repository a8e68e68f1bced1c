"""Questions of time to event: which rows have an answer, and what they weigh."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sksurv.nonparametric import kaplan_meier_estimator

from smpcore import prepare, split
from smpcore.datasets import (
    FollowUp,
    answered,
    check_fit,
    event_within,
    forbid,
    guess_follow_up,
    horizons,
    row_weights,
)
from smpcore.datasets.follow_up import MOST_WEIGHT, still_followed, within
from smpcore.evaluation import folds
from tests.smpcore.datasets.cases import made, refused, said


def followed(n=240, seed=0, rate=60.0, groups=False, **columns):
    """Rows whose risk depends on one feature; `rate`: mean time to censoring."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    event, censored = rng.exponential(30 * np.exp(-X[:, 0])), rng.exponential(rate, n)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["months"] = np.minimum(event, censored).round(2)
    frame["death"] = (event <= censored).astype(int)
    if groups:
        frame["clinic"] = rng.integers(0, 20, n)
    roles = {"clinic": "group"} if groups else {}
    return made(frame.assign(**columns), "death", roles)


def asked(dataset, horizon=12.0, **options):
    return event_within(dataset, "months", "death", horizon, **options)


def slow_weight(dataset, learned_on, row, horizon):
    """1 / G in plain Python, one censored row after the other."""
    frame = dataset.frame
    pairs = [(frame.months[i], frame.death[i]) for i in learned_on]
    time, death = frame.months[row], frame.death[row]
    if not (death and time <= horizon) and time < horizon:
        return 0.0
    end, share = min(time, horizon), 1.0
    for moment in sorted({t for t, d in pairs if not d and t < end}):
        lost = sum(t == moment and not d for t, d in pairs)
        share *= 1 - lost / sum(t > moment or (t == moment and not d) for t, d in pairs)
    return min(1 / share, MOST_WEIGHT) if share else MOST_WEIGHT


@given(
    arrays.arrays(np.int64, st.integers(1, 40), elements=st.integers(0, 8)),
    st.integers(0, 2**32 - 1),
)
def test_the_censoring_estimate_is_that_of_scikit_survival(times, seed):
    """Also with many ties: whole times, events before censorings."""
    events = np.random.default_rng(seed).random(len(times)) < 0.5
    if events.all():
        return
    oracle_times, oracle = kaplan_meier_estimator(events, times, reverse=True)
    before = [1.0, *oracle[:-1]]  # the share just before each of these times
    ours = still_followed(times.astype(float), events, oracle_times.astype(float))
    np.testing.assert_allclose(ours, before, rtol=1e-12, atol=1e-15)


def test_of_equal_times_the_event_comes_first():
    times, events = np.array([2.0, 2.0, 3.0, 3.0]), np.array([True, False, True, True])
    # At time 2 one row is lost of the three that had no event by then.
    shares = still_followed(times, events, np.array([2.0, 2.1, 3.0, 99.0]))
    np.testing.assert_allclose(shares, [1, 2 / 3, 2 / 3, 2 / 3], rtol=1e-15)
    positive, known = within(times, events, 2.0)
    assert positive.tolist() == [True, False, False, False]
    assert known.all()  # censored at 2 is event-free until 2
    assert within(times, events, 2.5)[1].tolist() == [True, False, True, True]


def test_weights_are_those_of_a_slow_recomputation_on_training_rows_only():
    dataset = asked(followed(n=120))
    parts = split(dataset, seed=1)
    for rows in (parts.train, parts.validation):
        fast = row_weights(dataset, parts.with_censored, rows)
        slow = [slow_weight(dataset, parts.with_censored, row, 12.0) for row in rows]
        np.testing.assert_allclose(fast, slow, rtol=1e-12)
    # Times of rows that took no part change nothing.
    moved = dataset.frame
    outside = np.setdiff1d(np.arange(dataset.n_samples), parts.with_censored)
    moved.loc[outside, "months"] = 500.0
    other = asked(made(moved.drop(columns=dataset.target), "death"), 11.999)
    same = row_weights(dataset, parts.with_censored, parts.train)
    here = row_weights(other, parts.with_censored, parts.train)
    np.testing.assert_allclose(here, same, rtol=1e-12)


def test_a_weight_is_bounded():
    times, rows = np.arange(1.0, 101.0), np.arange(100)
    frame = pd.DataFrame({"x": times % 7, "time": times, "event": (times > 98) * 1})
    table = made(frame, "event")
    weights = row_weights(event_within(table, "time", "event", 99.0), rows, rows)
    # Two of 100 rows are left: each would weigh 50.
    assert weights[-2:].tolist() == [MOST_WEIGHT, MOST_WEIGHT] == [20, 20]
    assert not weights[:-2].any()


@pytest.mark.parametrize("groups", [False, True])
def test_another_horizon_moves_no_row_between_parts(groups):
    table = followed(groups=groups)
    parts = {}
    for horizon in (6.0, 12.0, 40.0):
        dataset = asked(table, horizon)
        parts[horizon] = split(dataset, seed=3)
        known, censored = answered(dataset)
        for name in ("train", "validation", "test"):
            assert known[getattr(parts[horizon], name)].all()
        assert censored[parts[horizon].censored].all()
    for one, other in combinations(parts.values(), 2):
        trained = np.intersect1d(one.with_censored, other.with_censored)
        assert trained.size == one.with_censored.size == other.with_censored.size
        assert not np.intersect1d(one.validation, other.test).size
        assert not np.intersect1d(one.test, other.validation).size
    if groups:
        clinics = table.frame.clinic
        for first, second in combinations((one.train, one.validation, one.test), 2):
            assert not {*clinics[first]} & {*clinics[second]}


def test_folds_keep_rows_without_an_answer_apart():
    dataset = asked(followed())
    parts = split(dataset)
    known, censored = answered(dataset)
    drawn = [f for f in folds(dataset, parts.with_censored) if f.repeat == 0]
    held_out = np.concatenate([fold.held_out for fold in drawn])
    assert np.array_equal(np.sort(held_out), parts.train)
    for fold in drawn:
        assert known[fold.train].all() and censored[fold.censored].all()
        # About four fifths of the censored rows tell how censoring goes.
        assert 0.6 < fold.censored.size / parts.censored.size < 1
        assert not np.intersect1d(fold.with_censored, fold.held_out).size


def test_without_censoring_there_are_no_weights():
    table = followed(rate=1e9)
    dataset = asked(table)
    parts = split(dataset)
    assert not parts.censored.size
    assert row_weights(dataset, parts.with_censored, parts.train) is None
    assert dataset.notices[-1].startswith("Question: death within 12 months? Yes in")
    assert not said(dataset, "Rows censored")


def test_columns_of_the_outcome_are_no_features():
    table = followed(stage=["I", "II"] * 120)
    dataset = asked(table.with_roles({"stage": "target"}))
    assert dataset.feature_columns == ["a", "b", "c"]
    assert dataset.target == "death within 12 months"
    assert said(dataset, "'stage' was the target and is left out")
    assert dataset.classes.tolist() == ["no", "yes"]
    assert dataset.digest != asked(table, 12.5).digest
    assert forbid(dataset, ["b"]).follow_up == dataset.follow_up
    other = dataset.with_roles({"a": "ignore"})
    assert other.follow_up == dataset.follow_up
    assert dataset.with_roles({"a": "target"}).follow_up is None
    with refused("a drawn point has not"):
        dataset.with_points(np.zeros((2, 3)), np.array(["no", "yes"]))


def test_rows_without_time_or_event_are_left_out_and_counted():
    table = followed()
    frame = table.frame.assign(death=table.frame.death.astype(float))
    frame.loc[:1, "months"] = [-1.0, np.nan]
    frame.loc[2, "death"] = np.nan
    dataset = asked(made(frame, "a", {"death": "feature"}), event_value="1")
    assert said(dataset, "3 rows without a time from 0")
    parts = split(dataset)
    rows = np.concatenate([parts.with_censored, parts.validation, parts.test])
    assert not np.isin([0, 1, 2], rows).any()
    weights = row_weights(dataset, parts.with_censored, np.arange(240))
    assert (weights[:3] == 0).all()


def changed(**columns):
    """The table with other columns."""
    return made(followed().frame.assign(**columns), "a", {"death": "feature"})


THREE = {"death": np.resize([0, 1, 2], 240)}
ONE_TIME = {"months": [1.0] + [np.nan] * 239, "death": [0, 1] * 120}


@pytest.mark.parametrize(
    ("columns", "question", "words"),
    [
        ({}, ("months", "death", 1e9), "should be below .* the longest time"),
        ({}, ("months", "death", -1.0), "should not be before the first event"),
        ({}, ("months", "death", 12.0, "7"), "should be a value of 'death'"),
        ({}, ("days", "death", 12.0), "time_column='days' should be a column"),
        ({}, ("months", "months", 12.0), "choose two columns"),
        ({}, ("months", "a", 12.0), "240 different values"),
        ({"death": 0}, ("months", "death", 5.0), "which of them is the event"),
        (THREE, ("months", "death", 12.0), "which of them is the event"),
        (ONE_TIME, ("months", "death", 5.0), "All rows are censored: none with a time"),
        (
            *({"death within 12 months": 1}, ("months", "death", 12.0)),
            "has a column 'death within 12 months'",
        ),
    ],
)
def test_what_cannot_be_asked_is_said(columns, question, words):
    with refused(words):
        event_within(changed(**columns), *question)


def test_other_tables_that_have_no_answer_are_said():
    with refused("All rows are censored"):
        horizons(changed(**ONE_TIME), FollowUp("months", "death", "1", 0.0))
    with refused("it is read as a category"):
        asked(followed().with_roles(kinds={"months": "category"}))
    table = followed()
    late = np.setdiff1d(np.arange(240), split(asked(table)).validation)
    frame = table.frame
    frame.loc[late, "months"] += 100
    dataset = asked(made(frame, "death"))
    with refused(r"one class only .* choose another horizon"):
        check_fit(dataset, split(dataset))


def test_of_three_values_one_is_asked_for():
    dataset = asked(changed(**THREE), event_value="2")
    assert dataset.target == "death = 2 within 12 months"
    assert said(dataset, "all of '0', '1' count as censored")


def test_horizons_leave_events_on_both_sides():
    table = followed()
    low, high, median, step = horizons(table, FollowUp("months", "death", "1", 0.0))
    assert step == 1.0 and low <= median <= high and median == round(median)
    events = table.frame.months[table.frame.death == 1]
    assert abs(median - events.median()) <= 0.5
    for horizon in (low, median, high):
        assert np.bincount(asked(table, horizon).y_encoded, minlength=2).all()
    with refused("longer than the first event"):
        once = made({"x": [1.0, 2, 3], "t": [4, 4, 4], "e": [1, 0, 1]}, "x")
        horizons(once, FollowUp("t", "e", "1", 0.0))


@pytest.mark.parametrize(
    ("time", "event", "value", "title"),
    [
        ("months", "death", "1", "death within 24 months"),
        ("follow_up_days", "status", "dead", "status = dead within 24 days"),
        ("futime", "fustat", "1", "fustat within 24 (futime)"),
    ],
)
def test_the_question_in_words(time, event, value, title):
    assert FollowUp(time, event, value, 24.0).title == title


@pytest.mark.parametrize(
    ("names", "known"),
    [
        (("months", "death"), True),
        (("Follow.up time", "Event"), True),
        (("OS_days", "censored"), True),
        (("size", "death"), False),
        (("months", "dearth"), False),
    ],
)
def test_columns_are_known_by_their_names(names, known):
    renamed = dict(zip(("months", "death"), names, strict=True))
    frame = followed().frame.rename(columns=renamed)
    dataset = made(frame, names[0], task="regression")
    assert guess_follow_up(dataset) == (names if known else None)


def test_a_column_that_tells_who_was_censored_means_the_opposite():
    frame = followed().frame
    frame = frame.assign(censored=1 - frame.death).drop(columns="death")
    one = event_within(made(frame, "a"), "months", "censored", 12.0)
    other = asked(followed())
    assert one.follow_up.value == "0"
    assert np.array_equal(one.y_encoded, other.y_encoded)


def test_preparation_is_learned_on_rows_with_an_answer():
    dataset = asked(followed())
    parts = split(dataset)
    missing = dataset.frame.iloc[:1].assign(a=np.nan)
    filled = prepare(dataset, parts.train).transform(missing)[0, 0]
    assert filled == dataset.frame.a.iloc[parts.train].median()
    assert filled != dataset.frame.a.iloc[parts.with_censored].median()
