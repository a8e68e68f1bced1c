"""OpenML through the real openml package, against a stand-in that may misbehave."""

import gzip
import os
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from smpcore import fetch_openml
from smpcore.datasets import check_fit, openml_process, openml_sets, search_openml
from smpcore.datasets.process_pool import ProcessPool
from smpcore.errors import DatasetError
from tests.smpcore.datasets.cases import refused, said
from tests.smpcore.datasets.openml_server import IRIS, Served, serving

HOSTILE = "<b>x</b>'; drop table, ../../etc"
MANY = "\n".join(
    ["@relation t", "@attribute x real", "@attribute class string", "@data"]
    + [f"{i % 7}.5,name{i}" for i in range(10_000)]
)
SPARSE = "@relation s\n@attribute a real\n@attribute b real\n@attribute class {x,y}\n"
SPARSE += "@data\n{0 1.5, 2 x}\n{1 2.5, 2 y}\n{0 3.5, 2 y}\n"
TEXTS = "@relation t\n@attribute t string\n@attribute class {a,b}\n@data\n" + "".join(
    f"'some words number {i}',{'ab'[i % 2]}\n" for i in range(40)
)


TROUBLES = {21: "cut", 22: "slow", 23: "broken", 24: "error 500", 28: "endless"}
TROUBLES |= {30: "bomb", 91: "drip"}


@pytest.fixture
def service(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENML_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    sets = [
        Served(61, "iris"),
        Served(62, "Iris-like", rows=10**7),
        Served(7, HOSTILE),
        Served(8, "no target", target=None),
        Served(9, "two targets", target="class,colour"),
        Served(10, "many", arff=MANY, ignored=()),
        Served(11, "sparse", arff=SPARSE, format="Sparse_ARFF", ignored=()),
        Served(12, "texts", arff=TEXTS, ignored=()),
        Served(20, "wrong sum", md5="0" * 32),
        Served(25, "elsewhere", url="http://169.254.1.1/latest"),
        Served(26, "other", described_as=61),
        Served(27, "local file", url="file:///etc/passwd"),
        Served(29, "no rows", arff=IRIS[: IRIS.index("5.1")]),
        Served(31, "moved", redirect="/download/61?moved"),
        Served(32, "taken away", redirect="http://127.0.0.1:9/download/61?moved"),
        Served(33, "two hops", redirect="http://127.0.0.1:{port}/download/32"),
        *(Served(number, word, trouble=word) for number, word in TROUBLES.items()),
    ]
    with serving(*sets) as service:
        monkeypatch.setenv("SPE_OPENML_SERVER", service.url)
        yield service


class RecordingPool(ProcessPool):
    """Knows the processes that it started."""

    def __init__(self, idle_seconds=60, max_growth=openml_sets.MAX_GROWTH_BYTES):
        super().__init__(openml_sets._command(idle_seconds, max_growth))
        self.started = []

    def _start(self):
        self.started.append(super()._start())
        return self.started[-1]


@pytest.fixture
def new_pool(monkeypatch):
    pools = []

    def replace(**settings):
        pools.append(RecordingPool(**settings))
        monkeypatch.setattr(openml_sets, "_pool", pools[-1])
        return pools[-1]

    yield replace
    for pool in pools:
        pool.close()
        assert all(process.poll() is not None for process in pool.started)


def test_a_data_set_comes_with_its_target_and_without_what_is_ignored(service):
    dataset = fetch_openml(61)
    assert dataset.name == "iris"
    assert dataset.task == "classification"
    assert dataset.roles["class"] == "target"
    assert dataset.roles["row"] == "ignore"
    assert dataset.n_samples == 6
    assert dataset.frame["colour"].isna().sum() == 1
    assert dataset.source == "OpenML 61, version 1"
    assert not dataset.private
    assert fetch_openml(7).name == HOSTILE, "names are data"


def test_later_nothing_is_fetched_and_nothing_breaks_behind_it(service, monkeypatch):
    broken = []
    monkeypatch.setattr(threading, "excepthook", broken.append)
    fetch_openml(61)
    asked = len(service.asked)
    service.sets.clear()
    for _ in range(2):
        assert fetch_openml(61).n_samples == 6
    assert len(service.asked) == asked and broken == []


def test_a_half_written_file_of_a_killed_process_is_fetched_again(service, tmp_path):
    fetch_openml(61)
    (file,) = tmp_path.glob("cache/**/dataset.arff")
    file.write_text(IRIS[: len(IRIS) - 40])
    assert fetch_openml(61).n_samples == 6


def test_search_finds_parts_of_names_whole_ones_first(service):
    found = search_openml("IRIS", max_rows=10**8)
    assert found["id"].tolist() == [61, 62]
    assert search_openml("iris")["id"].tolist() == [61]
    assert search_openml("61")["id"].tolist() == [61]
    assert search_openml("no such thing").empty
    assert sum("/data/list" in path for path in service.asked) <= 2


@pytest.mark.parametrize("days", [-7, 7])
def test_an_old_list_serves_when_the_service_is_gone(service, tmp_path, days):
    """And one of a time to come, which a clock that was set back would keep till then.

    Both are fetched anew where that is possible.
    """
    search_openml("iris")
    (kept,) = tmp_path.glob("cache/**/listing.json")
    then = time.time() + days * 86_400
    sets = dict(service.sets)
    for served in (sets, {}):
        os.utime(kept, (then, then))
        service.sets, service.asked = served, []
        assert search_openml("iris")["id"].tolist() == [61]
        assert any("/data/list" in path for path in service.asked)


def test_a_process_that_was_ended_is_told(service, new_pool, caplog):
    pool = new_pool()
    with refused("process that fetches data set 61 was ended"):
        fetch_openml(61, doing=lambda _: pool.started[-1].kill())
    assert "ended before it had answered for data set 61" in caplog.text
    assert fetch_openml(61).n_samples == 6


def test_a_folder_that_cannot_be_written_to_is_told(service, monkeypatch, tmp_path):
    (tmp_path / "full").write_text("no folder can be made in a file")
    monkeypatch.setenv("OPENML_CACHE_DIR", str(tmp_path / "full"))
    with refused("cannot keep data set 61: the disk is full"):
        fetch_openml(61)


@pytest.mark.parametrize(
    "number, words",
    [
        (999, r"OpenML has no data set 999 \(it said 'Unknown dataset[^:]*'\); choose"),
        (62, "has 10,000,000 rows"),
        (20, "checksum"),
        *((number, "cannot be read") for number in range(23, 28)),
        (29, "OpenML's data set 29 cannot be read. The ARFF file has no rows"),
        (0, "whole number above 0"),
        (1.5, "whole number above 0"),
    ],
)
def test_what_cannot_be_loaded_is_said(service, number, words):
    with refused(words):
        fetch_openml(number)


def test_a_file_that_ends_too_early_is_not_kept(service, tmp_path):
    with refused(r"stopped in the middle|checksum|reached"):
        fetch_openml(21)
    assert not list(tmp_path.glob("cache/**/21/dataset.arff"))
    service.sets[21].trouble = ""
    assert fetch_openml(21).n_samples == 6


@pytest.mark.parametrize("number", [22, 91])
def test_a_slow_service_is_left_in_time(service, number):
    start = time.monotonic()
    with refused("within 1 s"):
        fetch_openml(number, seconds=1)
    assert time.monotonic() - start < 10


def test_an_answer_is_read_no_further_than_a_file_may_be_long(service, monkeypatch):
    monkeypatch.setattr(openml_sets, "MAX_BYTES", 1_000_000)
    for number in (28, 30):
        with refused("too large"):
            fetch_openml(number)
    assert service.sent < 40_000_000  # what sockets hold, and one more try


def test_a_packed_answer_is_unpacked_no_further_than_that():
    packed = gzip.compress(bytes(200_000_000), 1)
    blocks = iter([packed[i : i + 65_536] for i in range(0, len(packed), 65_536)])
    tracemalloc.start()
    with pytest.raises(MemoryError):
        openml_process.read_body(blocks, "gzip", 1_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4_000_000
    body = gzip.compress(b"rows")
    assert openml_process.read_body([body[:9], body[9:]], "gzip", 100) == b"rows"
    assert openml_process.read_body([b"ro", b"ws"], "", 4) == b"rows"
    for wrong in (body[:-9], body + body):
        with pytest.raises(EOFError):
            openml_process.read_body([wrong], "gzip", 100)


def test_a_redirect_leads_to_the_same_host_and_port_only(service):
    service.sets[31].md5 = ""
    assert fetch_openml(31).n_samples == 6
    for number in (32, 33):
        with refused("cannot be read"):
            fetch_openml(number)


def test_a_slow_data_set_keeps_no_other_waiting_and_stop_is_obeyed_at_once(
    service, new_pool
):
    pool, slow = new_pool(), threading.Event()
    stop, told = np.zeros(1, dtype=np.int64), []

    def doing(words):
        told.append(words)
        if words == "Fetching the rows":  # the service never sends them
            slow.set()

    with ThreadPoolExecutor() as executor:
        options = {"seconds": 500, "stop": stop, "doing": doing}
        fetching = executor.submit(fetch_openml, 22, **options)
        try:
            assert slow.wait(120)
            assert fetch_openml(61).n_samples == 6
            assert not fetching.done()
        finally:
            start, stop[0] = time.monotonic(), 1
    with refused("Stopped"):
        fetching.result()
    assert time.monotonic() - start < 15
    assert told == ["Fetching the description", "Fetching the rows"]
    assert [process.poll() for process in pool.started] == [-9, None]
    assert fetch_openml(61).n_samples == 6
    assert len(pool.started) == 2


def test_odd_targets_are_said(service):
    guessed = fetch_openml(8)
    assert said(guessed, "names no target")
    assert guessed.roles["class"] == "target"
    two = fetch_openml(9)
    assert two.roles["class"] == "target"
    assert two.roles["colour"] == "ignore"
    assert said(two, "names 2 targets")


def test_sparse_rows_text_columns_and_many_classes(service):
    assert fetch_openml(11).frame["a"].tolist() == [1.5, 0.0, 3.5]
    with pytest.raises(DatasetError):
        check_fit(fetch_openml(12))
    with refused("10,000"):
        check_fit(fetch_openml(10))


def test_offline_is_a_calm_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENML_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("SPE_OPENML_SERVER", "http://127.0.0.1:9/api/v1/xml")
    with refused("cannot be reached"):
        fetch_openml(61)
    with refused("cannot be reached"):
        search_openml("iris")


def test_nothing_of_a_request_holds_for_the_next(
    service, new_pool, tmp_path, monkeypatch
):
    pool = new_pool()
    monkeypatch.setattr(openml_sets, "MAX_BYTES", 20_000)
    assert fetch_openml(61).n_samples == 6
    assert search_openml("iris")["id"].tolist() == [61]
    with refused("has no data set 999"):
        fetch_openml(999)
    monkeypatch.setattr(openml_sets, "MAX_BYTES", 50_000_000)
    assert fetch_openml(10).n_samples == 10_000  # has more than 20 000 bytes
    monkeypatch.delenv("OPENML_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    file = service.url.replace("/api/v1/xml", "/download/61")
    with serving(Served(61, "of another"), Served(62, "x", url=file)) as another:
        monkeypatch.setenv("SPE_OPENML_SERVER", another.url)
        assert fetch_openml(61).name == "of another"
        assert list(tmp_path.glob("other/**/61/dataset.arff"))
        with refused("cannot be read"):
            fetch_openml(62)
    monkeypatch.setenv("SPE_OPENML_SERVER", service.url)
    monkeypatch.setattr(openml_sets, "MAX_BYTES", 100)
    with refused("too large"):
        fetch_openml(61)
    (process,) = pool.started
    assert process.poll() is not None  # out of memory: not used again


def test_an_idle_process_ends_itself(service, new_pool):
    pool = new_pool(idle_seconds=0.5)
    fetch_openml(61)
    assert pool.started[0].wait(60) == 0
    assert fetch_openml(61).n_samples == 6


@pytest.mark.parametrize("noticed", [True, False])
def test_a_killed_idle_process_is_replaced(service, new_pool, monkeypatch, noticed):
    pool = new_pool()
    fetch_openml(61)
    (process,) = pool.started
    process.kill()
    process.wait()
    if not noticed:  # it ends between the look at it and the request
        monkeypatch.setattr(process, "poll", lambda: None)
    assert fetch_openml(61).n_samples == 6
    assert len(pool.started) == 2
    monkeypatch.undo()


def test_a_process_that_has_grown_ends_itself(service, new_pool):
    pool = new_pool(max_growth=-(10**9))
    for _ in range(3):
        assert fetch_openml(61).n_samples == 6
    assert pool.started[0].wait(60) == 0
    assert len(pool.started) == 3


def test_a_process_ends_with_the_one_that_asked(service, new_pool):
    pool = new_pool()

    def doing(words):
        if words == "Fetching the rows":  # the service never sends them
            pool.started[0].stdin.close()
            assert pool.started[0].wait(60) == 0

    with refused("was ended"):
        fetch_openml(22, seconds=500, doing=doing)


def test_one_idle_process_is_kept_of_two(new_pool):
    pool = new_pool()
    first, second = pool._start(), pool._start()
    pool._give_back(first)
    pool._give_back(second)
    assert first.poll() is None
    assert second.poll() is not None
