"""The tasks of a study on any executor: here, in threads, in processes, on a cluster.

An executor is what `concurrent.futures` calls so; Dask's is one, too. All of them give
futures, which `_results` waits for. A pool of threads shares its objects with this
process. Elsewhere what all tasks need is sent once: to a worker of a cluster as one
more future, which a worker that has lost it gets anew; to a process of this machine
with each task, pickled once and kept until another study comes. The stop flag is a
small file then that all processes have in their memory: compiled loops read it there.

Whoever started this process names the Dask cluster that studies run on, if there is one
(``SPE_DASK=tcp://host:8786``). What is wrong with it is said, and the work runs here.
The app and the command ask for it (`engine`); a function of the library takes the
executor that it is given.
"""

from __future__ import annotations

import gc
import hashlib
import io
import logging
import multiprocessing
import os
import pickle
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from smpcore.errors import SmpcoreError, cluster_in_words
from smpcore.threads import Work, alone, one_core

log = logging.getLogger(__name__)

#: Names the scheduler's address.
VARIABLE = "SPE_DASK"
#: Seconds that a scheduler has to answer, and its workers to load this package.
PATIENCE, LOADING = 4.5, 60.0
#: Seconds until a cluster that did not answer, or one that did, is asked again.
AGAIN, SURE = 30.0, 2.0
#: What the same fit comes from, beside this package.
LIBRARIES = "numpy", "scipy", "scikit-learn", "numba", "pandas"


@dataclass(frozen=True)
class Engine:
    """Where tasks run."""

    client: Any = None
    words: str = ""

    @property
    def executor(self) -> Executor | None:
        """The cluster's, to be handed to a study; None if there is no cluster."""
        return self.client.get_executor() if self.client else None


_lock = threading.Lock()
#: Address -> what was found there, and until when that holds.
_known: dict[str, tuple[Engine, float]] = {}
#: Address -> the connection to it, which all who ask share.
_clients: dict[str, Any] = {}
#: Who asks; one that hangs is not joined by a second one.
_asking: dict[str, threading.Thread] = {}


def engine() -> Engine:
    """Look where tasks run now.

    A scheduler has five seconds to answer; workers that are new have a minute to
    load this package.

    Returns
    -------
    Engine
    """
    address = os.environ.get(VARIABLE, "").strip()
    if not address:
        return Engine()
    try:
        import distributed  # only who has a cluster needs it
    except ImportError:
        return _here(
            f"{VARIABLE} names a cluster, but Dask is not installed here: pip install "
            "distributed."
        )
    with _lock:
        known, until = _known.get(address, (Engine(), 0.0))
        lost = known.client is not None and known.client.status != "running"
        if lost or time.monotonic() > until:
            connect = partial(_connected, address, distributed.Client)
            new = known.client is None
            known = _asked(address, connect, LOADING if new else PATIENCE)
            wait = SURE if known.client else AGAIN
            _known[address] = known, time.monotonic() + wait
        return known


def _connected(address: str, connect: Callable[..., Any]) -> Any:
    """A connection; one from earlier is used again, others may be working with it."""
    client = _clients.get(address)
    if client is None or client.status != "running":
        if client is not None:  # it would try again and again
            client.close(timeout=1)
        options = {"timeout": PATIENCE, "set_as_default": False}
        _clients[address] = client = connect(address, **options)
    return client


def _asked(key: str, connect: Callable[[], Any], patience: float) -> Engine:
    """Connect and check in a thread of its own: what hangs there does not hang here."""
    silent = _here("The cluster does not answer.")
    if (before := _asking.get(key)) and before.is_alive():
        return silent
    answer: list[Engine] = []
    connected = threading.Event()

    def ask() -> None:
        try:
            client = connect()
            connected.set()
            answer.append(_checked(client))
        except Exception as error:
            log.warning("%s: %s", key, repr(error))  # a record may be kept
            answer.append(silent)
        if answer == [silent]:
            # Left to a later collection, a client that never connected closes itself
            # wherever that happens: inside the start of another one it waits forever.
            gc.collect()
        connected.set()

    asking = _asking[key] = threading.Thread(target=ask, daemon=True)
    asking.start()
    if connected.wait(PATIENCE):
        asking.join(patience)
    return answer[0] if answer else silent


def _here(message: str) -> Engine:
    return Engine(None, f"{message} The work runs on this machine.")


def _setup() -> dict[str, str]:
    """What has to be the same on all machines."""
    python = ".".join(map(str, sys.version_info[:2]))  # pickles differ between these
    return {"Dask": version("distributed"), "Python": python, "edition": edition()}


def _checked(client: Any) -> Engine:
    """Look at what the cluster is made of before anything is sent to it."""
    setups = client.run(_setup, on_error="return")
    if not setups:
        return _here("The cluster has no workers.")
    n, here = len(setups), _setup()
    try:  # Dask's scheduler reads what a task refers to
        setups["scheduler"] = client.run_on_scheduler(_setup)
    except Exception as error:
        setups["scheduler"] = error
    for where, there in setups.items():
        if there == here:
            continue
        what = "scheduler" if where == "scheduler" else "worker"
        log.warning("%s %s: %r", what, where, there)
        if isinstance(there, Exception):
            return _here(
                f"A {what} of the cluster has no smpcore: start it in the folder of "
                "this program, with its requirements installed."
            )
        name = next(name for name in here if there[name] != here[name])
        if name != "edition":
            return _here(
                f"A {what} of the cluster runs {name} {there[name]} and this machine "
                f"{here[name]}: install the same version on both."
            )
        return _here(
            f"A {what} of the cluster has another edition of smpcore or of its "
            "libraries: copy this program's folder there, install its requirements "
            "as here, and start it again."
        )
    return Engine(client, f"Runs on a cluster of {n} worker{'' if n == 1 else 's'}.")


@cache
def edition() -> str:
    """Name this package's source, as it was when first asked, and its libraries.

    Returns
    -------
    str
        A digest of all its Python files and of the versions that a fit depends on.
    """
    digest = hashlib.blake2b(digest_size=8)
    folder = Path(__file__).parents[1]
    for file in sorted(folder.glob("**/*.py")):
        digest.update(file.relative_to(folder).as_posix().encode())
        digest.update(file.read_bytes())
    for name in LIBRARIES:
        digest.update(f"{name} {version(name)}".encode())
    return digest.hexdigest()


#: Seconds between two looks at Stop.
LOOK = 0.05
#: Tasks that wait in a pool beside one for each of its workers: so none of them is idle
#: while an answer is on its way, and the tasks of another study come next soon.
WAITING = 1
#: Tasks of a study that a cluster has at once.
ON_CLUSTER = 300
#: Said where processes or a cluster are lost: a sweep goes on from there.
KEPT = "What had come is kept."

#: Takes tasks, gives their results.
Run = Callable[[Iterable[tuple]], Iterator[Any]]


class _Line(NamedTuple):
    """How tasks come to an executor: `submit` one, and `most` at once.

    ``check()`` is called where nothing has come for long.
    """

    submit: Callable[[tuple], Future]
    most: int
    check: Callable[[], None] = lambda: None


@contextmanager
def running(
    work: Work,
    shared: Any,
    stop: np.ndarray,
    executor: Executor | None = None,
    *,
    ordered: bool = False,
) -> Iterator[Run]:
    """Run tasks beside each other."""
    one_by_one = _Line(partial(_done, partial(alone, work=work, shared=shared)), 1)
    most = getattr(executor, "_max_workers", 4) + WAITING
    if executor is None:
        yield partial(_results, one_by_one, stop, ordered)
    elif client := getattr(executor, "_client", None):  # no public name for it
        submit = partial(executor.submit, _do, _sent(client, work, shared), pure=False)
        line = _Line(submit, ON_CLUSTER, partial(_require_workers, client))
        yield partial(_on_cluster, line, stop, ordered)
    elif isinstance(executor, ThreadPoolExecutor):
        submit = partial(executor.submit, alone, work=work, shared=shared)
        with one_core:  # its threads may not be allowed to limit BLAS
            yield partial(_results, _Line(submit, most), stop, ordered)
    else:
        try:
            folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
            flag = Path(folder.name) / "stop"
            raised = np.memmap(flag, np.int64, "w+", shape=1)
        except OSError as error:
            log.warning("a study runs in no process of its own: %s", error)
            yield partial(_results, one_by_one, stop, ordered)
            return
        with folder:
            content = io.BytesIO()
            _Pickler(content, stop).dump((work, shared))
            submit = partial(executor.submit, do_task, flag, content.getvalue())
            try:
                yield partial(_of_processes, _Line(submit, most), stop, ordered)
            finally:
                raised[0] = 1


def run_one(
    work: Work, shared: Any, stop: np.ndarray, executor: Executor | None
) -> Any:
    """Run one task, which ends at Stop where it has a process to itself.

    Parameters
    ----------
    work : callable
        ``work(shared, task)``, called with an empty task.
    shared : object
        What it works on.
    stop : ndarray of int64, shape (1,)
        Ends it once it is not 0.
    executor : Executor or None
        Where it runs; None: in this thread.

    Returns
    -------
    object
        What the work returns.

    Raises
    ------
    SmpcoreError
        If it was stopped.
    """
    with running(work, shared, stop, executor) as run:
        for result in run([()]):
            return result
    raise SmpcoreError("It was stopped.")


def _done(function: Callable[[tuple], Any], task: tuple) -> Future:
    """What a function returns, or raises, as a future."""
    future: Future = Future()
    try:
        future.set_result(function(task))
    except Exception as error:
        future.set_exception(error)
    return future


def _results(
    line: _Line, stop: np.ndarray, ordered: bool, tasks: Iterable[tuple]
) -> Iterator[Any]:
    """What comes back, until Stop; what has come before Stop is given still."""
    left, ready = enumerate(tasks), SimpleQueue()
    futures: dict[int, Future] = {}
    done: dict[int, Future] = {}
    first, heard = 0, time.monotonic()
    try:
        while True:
            n_more = 0 if stop[0] else line.most - len(futures) - len(done)
            for place, task in islice(left, n_more):
                futures[place] = line.submit(task)
                futures[place].add_done_callback(lambda _, at=place: ready.put(at))
            if not futures:
                return
            try:
                place = ready.get(timeout=0 if stop[0] else LOOK)
            except Empty:
                if stop[0]:
                    return
                if time.monotonic() - heard > LOADING:
                    line.check()
                    heard = time.monotonic()
                continue
            done[place], heard = futures.pop(place), time.monotonic()
            while done and (not ordered or first in done):
                yield done.pop(first if ordered else place).result()
                first += 1
    finally:
        for future in futures.values():
            future.cancel()


def _of_processes(*arguments: Any) -> Iterator[Any]:
    """The same where a process may be ended."""
    try:
        yield from _results(*arguments)
    except BrokenExecutor as error:
        log.warning("a process of a study was ended: %s", error)
        raise SmpcoreError(
            "The process that computes studies was ended, maybe for want of memory: "
            f"start again. {KEPT}"
        ) from error


def _on_cluster(*arguments: Any) -> Iterator[Any]:
    """The same where the cluster may be lost."""
    with cluster_in_words(KEPT):
        yield from _results(*arguments)


def _sent(client: Any, work: Work, shared: Any) -> Any:
    """What all tasks need, as a future of the cluster."""
    from distributed.protocol.pickle import dumps, loads  # closures travel, too

    with cluster_in_words(KEPT):
        return client.submit(loads, dumps((work, shared)), pure=False)


def _do(shared: tuple[Work, Any], task: tuple) -> Any:
    return alone(task, *shared)


def _require_workers(client: Any) -> None:
    if not client.ncores():
        raise SmpcoreError(
            "The cluster has no workers any more: start some, then start again. " + KEPT
        )


class _Pickler(pickle.Pickler):
    """Leaves the stop flag out."""

    def __init__(self, file: io.BytesIO, stop: np.ndarray) -> None:
        super().__init__(file, protocol=5)
        self._stop = stop

    def persistent_id(self, value: Any) -> str | None:
        """Name what a process has itself."""
        return "stop" if value is self._stop else None


class _Unpickler(pickle.Unpickler):
    """Puts the flag of the file in."""

    def __init__(self, content: bytes, flag: np.ndarray) -> None:
        super().__init__(io.BytesIO(content))
        self._flag = flag

    def persistent_load(self, _: str) -> np.ndarray:
        """The flag."""
        return self._flag


#: The study that this process was at last: its flag's file, its work, what is shared.
_last: tuple[Path | None, Work | None, Any] = None, None, None


def do_task(flag: Path, content: bytes, task: tuple) -> Any:
    """Do a task of a study in a process of a pool."""
    global _last
    try:
        if _last[0] != flag:
            try:
                mapped = np.memmap(flag, np.int64, "r+", shape=1)
            except FileNotFoundError:  # the study was over before the task began
                return None
            stop = np.asarray(mapped)  # kernels are compiled for no other kind
            _last = flag, *_Unpickler(content, stop).load()
        return alone(task, *_last[1:])
    except Exception as error:
        if not isinstance(error, SmpcoreError):
            log.exception("a task failed")
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # it does not travel: what it says does
            raise RuntimeError(repr(error)) from None
        raise


def end_with_parent() -> None:
    """End this process of a pool when its parent ends, be it killed."""

    def wait() -> None:
        multiprocessing.parent_process().join()
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()
