"""Fits of Dask arrays: those of the same rows in memory, whatever the workers do."""

import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.base import clone

from smpcore import MultiPrototypeSVC, SMaLLClassifier, SMPClassifier, SmpcoreError
from smpcore.methods.mprotsvm import many_rows
from smpcore.methods.mprotsvm import problem as svm_problem
from smpcore.methods.shared import dask_rows
from tests.clusters import Cluster

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.timeout(240),
]
ROWS = 30_000


@pytest.fixture(scope="module")
def table():
    """Three classes; the first has more rows than k-means looks at."""
    rng = np.random.default_rng(0)
    X = 5.0 + rng.normal(size=(ROWS, 6)) * [1, 2, 3, 1, 1, 1]
    X[:, 5] = 7.0
    score = (X[:, 0] - 5.0) * (X[:, 1] - 5.0) + 0.5 * rng.normal(size=ROWS)
    y = np.where(score > 1, "up", np.where(score > -1, "even", "down"))
    return X, y, rng.integers(0, 3, size=ROWS).astype(np.float64)


@pytest.fixture(scope="module")
def client():
    cluster = Cluster(2)
    with distributed.Client(cluster.address) as found:
        yield found
    cluster.close()


@pytest.fixture(scope="module")
def mortal():
    """Workers that tests kill: a new one takes seconds to load what a fit needs."""
    cluster = Cluster(1)
    yield cluster
    cluster.close()


def of_workers(cluster, n_workers):
    """A client, once the cluster has so many workers and no other ones."""
    while len(cluster.workers) > n_workers:
        cluster.workers.pop().kill()
    while len(cluster.workers) < n_workers:
        cluster.add()
    cluster.wait(n_workers)
    client = distributed.Client(cluster.address)
    while len(client.ncores()) > n_workers:  # one that was killed is still listed
        time.sleep(0.05)
    return client


def in_chunks(table, rows=12_000):
    """The table in more chunks than workers, and y in chunks of another size."""
    X, y, weights = table
    return (
        da.from_array(X, chunks=(rows, -1)),
        da.from_array(y, chunks=rows - 999),
        da.from_array(weights, chunks=rows),
    )


def assert_same(here, there, within=1e-6):
    """Two fits: one of rows in memory, one of the same rows in chunks."""
    assert here.classes_.tolist() == there.classes_.tolist()
    assert there.objective_ == pytest.approx(here.objective_, rel=within)
    assert there.n_iter_ == here.n_iter_
    assert isinstance(there.assignment_, da.Array)
    assert np.array_equal(here.assignment_, there.assignment_.compute())
    assert np.array_equal(here.wins_, there.wins_)
    assert np.array_equal(here.merged_, there.merged_)
    a, b = here.model_, there.model_
    for name in ("anchors", "bias", "center", "scale", "low", "high", "tie", "counts"):
        assert getattr(b, name) == pytest.approx(getattr(a, name), abs=within), name
    assert np.array_equal(here.gap_ >= 0, there.gap_ >= 0)


OPTIONS = {
    "defaults": {},
    "reassign": {"reassign": True, "bias": False, "tol": 1e-2},
    "balanced": {
        "class_weight": "balanced",
        "class_prototypes": "balanced",
        "class_lam": "balanced",
    },
    "as it is": {"standardize": False, "mu": 0.05},
    "a dual point that is scaled": {"mu": 1e-5, "eta": 1e-3},
    "max": {"loss": "max", "tol": 1e-2},
    "hinge": {"loss": "hinge", "tol": 1e-2},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_fit_is_that_of_the_rows_in_memory(client, table, options):
    X, y, _ = table
    here = SMPClassifier(**options).fit(X, y)
    rows, classes, _ = in_chunks(table)
    assert_same(here, SMPClassifier(**options).fit(rows, classes))


#: Two classes, or three jointly, or each of three against the rest.
SMALL = {
    "two": (("up", "even"), {"n_draws": 2, "n_swaps": 2}),
    "three": (("up", "even", "down"), {"n_draws": 1, "n_swaps": 1}),
    "rest": (
        ("up", "even", "down"),
        {"n_draws": 0, "n_swaps": 1, "multiclass": "ovr", "loss": "hinge", "tol": 0.1},
    ),
}


@pytest.mark.parametrize(("labels", "options"), SMALL.values(), ids=SMALL)
def test_small_is_that_of_the_rows_in_memory(client, table, labels, options):
    X, y, _ = table
    y = np.where(np.isin(y, labels), y, labels[-1])
    here = SMaLLClassifier(k=2, **options).fit(X, y)
    rows, classes, _ = in_chunks((X, y, X[:, 0]))
    there = SMaLLClassifier(k=2, **options).fit(rows, classes)
    assert_same(here, there)
    assert there.gap_ == pytest.approx(here.gap_, rel=1e-6)


def test_weights_count_and_columns_may_be_of_numpy(client, table):
    X, y, weights = table
    rows, _, chunked = in_chunks(table)
    here = SMPClassifier().fit(X, y, weights)
    for given in (weights, chunked):
        assert_same(here, SMPClassifier().fit(rows.rechunk((5000, 2)), y, given))


def test_a_dataframe_has_names(client, table):
    dataframe = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    X, y, _ = table
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    here = SMPClassifier().fit(frame, y)
    whole = dataframe.from_pandas(frame.assign(y=y), npartitions=3)
    there = SMPClassifier().fit(whole[list("abcdef")], whole["y"])
    assert_same(here, there)
    assert there.feature_names_in_.tolist() == list("abcdef")
    with pytest.raises(SmpcoreError, match=r"X holds columns of type .* numbers only"):
        SMPClassifier().fit(whole, y)


def test_a_model_is_the_same_bit_by_bit_with_any_number_of_workers(mortal, table):
    fits = []
    for n_workers in (1, 2, 4):
        with of_workers(mortal, n_workers) as client:
            rows, classes, weights = in_chunks(table, 4000)
            found = SMPClassifier(tol=1e-2).fit(rows, classes, weights)
            at_work = {w for who in client.who_has().values() for w in who}
            assert len(at_work) == n_workers
            fits.append((found, found.assignment_.compute()))
    for found, assignment in fits[1:]:
        first, as_first = fits[0]
        assert found.model_.anchors.tobytes() == first.model_.anchors.tobytes()
        assert found.history_.gap.tobytes() == first.history_.gap.tobytes()
        assert np.array_equal(assignment, as_first)


def kill_at_pass(number, function, cluster, monkeypatch):
    """Kill a worker as a function goes over the rows; its passes' workers."""
    of_chunks, passes = dask_rows.map_chunks, []

    def counted(called, *columns, **shared):
        if called is function:
            passes.append(len(cluster.workers))
            if len(passes) == number:
                cluster.workers.pop(0).kill()
        return of_chunks(called, *columns, **shared)

    monkeypatch.setattr(dask_rows, "map_chunks", counted)
    return passes


def test_a_killed_worker_changes_nothing(mortal, table, monkeypatch):
    """Its chunks are computed anew by the other one, in mid-fit."""
    X, y, _ = table
    here = SMPClassifier().fit(X, y)
    passes = kill_at_pass(5, dask_rows._losses, mortal, monkeypatch)
    with of_workers(mortal, 2):
        rows, classes, _ = in_chunks(table)
        there = SMPClassifier().fit(rows, classes)
        assert len(passes) > 5
        assert_same(here, there)


@pytest.fixture
def many(monkeypatch):
    """Rows in memory are as many as those of the table are, and few are drawn."""
    monkeypatch.setattr(many_rows, "MANY_ROWS", 1000)
    monkeypatch.setattr(svm_problem, "DRAWN", 4000)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_prototypes", [1, 2])
def test_the_svm_is_certified_as_in_memory(client, table, many, n_prototypes, weighted):
    X, y, weights = table if weighted else (*table[:2], None)
    here = MultiPrototypeSVC(n_prototypes).fit(X, y, weights)
    rows, classes, weights = in_chunks(table)
    weights = weights if weighted else None
    there = MultiPrototypeSVC(n_prototypes).fit(rows, classes, weights)
    assert there.gap_ <= 1e-2 * there.objective_
    assert there.objective_ == pytest.approx(here.objective_, rel=2e-3)
    assert there.wins_.sum() == ROWS
    assert isinstance(there.assignment_, da.Array)
    assignment = there.assignment_.compute()
    assert (assignment == here.assignment_).mean() > 0.98
    assert (there.predict(X) == here.predict(X)).mean() > 0.99


def test_nothing_is_loaded_for_rows_in_memory():
    program = (
        "import sys, numpy; from smpcore import SMPClassifier;"
        "SMPClassifier().fit(numpy.eye(4), [0, 0, 1, 1]);"
        "assert not {'dask', 'distributed'} & {*sys.modules}"
    )
    run = subprocess.run([sys.executable, "-c", program], check=False)
    assert run.returncode == 0


def with_value(table, value):
    X = table[0].copy()
    X[20_000, 1] = value
    return da.from_array(X, chunks=(7000, -1))


def test_what_is_refused(client, table):
    _, y, weights = table
    rows, mixed = in_chunks(table)[0], np.repeat(np.array([0, "a"], object), ROWS // 2)
    parted = np.repeat(np.array([0, "a"], object), (14000, ROWS - 14000))
    unknown = rows[rows[:, 0] > 0]
    not_finite = "X holds NaN or an infinite value in one of the rows 14000 to 20999"
    for given, words in (
        (
            (unknown, y),
            r"chunks of unknown sizes; call X.compute_chunk_sizes\(\) first",
        ),
        ((rows.astype(object), y), "X is of type object and should hold numbers only"),
        ((rows, mixed), "y holds values of several types"),
        ((rows, parted), "y holds values of several types"),
        ((rows[:, :0], y), "should have rows and features"),
        ((rows[:, 0], y), "X has 1 dimensions and should have 2"),
        ((rows, y[:-1]), r"y has shape \(29999,\) and should have shape \(30000,\)"),
        ((with_value(table, np.nan), y), not_finite),
        ((with_value(table, 1e200), y), "too large to be scaled"),
        ((rows, y, -weights), "should be finite and not n"),
        ((rows, y, y != "up"), "sample_weight is 0 for every row of class up"),
    ):
        with pytest.raises(SmpcoreError, match=words):
            SMPClassifier().fit(*given)


def test_a_prototype_for_each_row_is_refused(client, table):
    rows, classes, _ = in_chunks(table)
    with pytest.raises(SmpcoreError, match="too many for that; use start='kmeans'"):
        SMPClassifier(start="each").fit(rows, classes)


@pytest.mark.parametrize(
    "estimator",
    [MultiPrototypeSVC(kernel="rbf"), SMPClassifier(solver="primal-dual")],
    ids=str,
)
def test_what_needs_its_rows_in_memory_gets_them(client, table, estimator):
    X, y, _ = (column[:500] for column in table)
    here = clone(estimator).fit(X, y)
    there = estimator.fit(da.from_array(X, chunks=(99, -1)), da.from_array(y))
    assert there.model_.anchors.tobytes() == here.model_.anchors.tobytes()
    assert isinstance(there.assignment_, np.ndarray)


def test_ranges_are_those_of_a_sample(client, table):
    rows, classes, _ = in_chunks(table)
    estimator = SMPClassifier()
    with pytest.raises(SmpcoreError, match="ask for them with a sample"):
        estimator.bounds(estimator.problem(rows, classes))


def test_without_a_cluster_the_sentence_says_what_to_do(table, monkeypatch):
    def none():
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "default_client", none)
    rows, classes, _ = in_chunks(table)
    with pytest.raises(SmpcoreError, match=r"make a distributed.Client first, or give"):
        SMPClassifier().fit(rows, classes)
