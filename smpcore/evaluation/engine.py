"""Where tasks run: in threads of this process, or on the workers of a Dask cluster.

The cluster is named by whoever started this process (``SPE_DASK=tcp://host:8786``), or
by the client that is active in a notebook. What is wrong with it is said, and the work
runs here. Threads are joblib's. Its way to Dask waits for ever for a task that broke
outside of Python, with its worker, say; so a cluster's tasks are Dask's own futures.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config

from smpcore.errors import SmpcoreError
from smpcore.threads import one_core

log = logging.getLogger(__name__)

#: Names the scheduler's address.
VARIABLE = "SPE_DASK"
#: Seconds that a scheduler has to answer, and its workers to load this package.
PATIENCE, LOADING = 4.5, 60.0
#: Seconds until a cluster that did not answer, or one that did, is asked again.
AGAIN, SURE = 30.0, 2.0
#: Seconds between two looks at Stop.
LOOK = 0.1

#: A piece of work: ``function(shared, task)``, with a tuple for a task.
Work = Callable[[Any, tuple], Any]


@dataclass(frozen=True)
class Engine:
    """Where tasks run.

    Parameters
    ----------
    client : dask.distributed.Client, optional
        Of the cluster; None: threads of this process.
    words : str
        What to tell about it; empty if nothing.
    """

    client: Any = None
    words: str = ""


_lock = threading.Lock()
_known: dict[str, tuple[Engine, float]] = {}


def engine() -> Engine:
    """Look where tasks run now; a cluster is asked for at most five seconds.

    Returns
    -------
    Engine
    """
    address = os.environ.get(VARIABLE, "").strip()
    if not address:
        return _of_notebook()
    with _lock:
        found, until = _known.get(address, (Engine(), 0.0))
        lost = found.client is not None and found.client.status != "running"
        if lost or time.monotonic() > until:
            found = _asked(address, found.client)
            wait = SURE if found.client else AGAIN
            _known[address] = found, time.monotonic() + wait
        return found


def _of_notebook() -> Engine:
    """The cluster of the client that is active; threads if there is none."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return Engine()
    try:
        client = distributed.default_client()
    except ValueError:
        return Engine()
    return _checked(client)


def _asked(address: str, client: Any) -> Engine:
    """Connect and check, in a thread of its own: what hangs there does not hang here.

    A client from earlier is used again.
    """
    try:
        import distributed  # only who has a cluster needs it
    except ImportError:
        return _here(
            f"{VARIABLE} names a cluster, but Dask is not installed here: pip install "
            "distributed."
        )
    answer: list[Engine] = []
    connected = threading.Event()
    fresh = client is None or client.status != "running"

    def ask(client: Any) -> None:
        try:
            if fresh:
                _closed(client)
                client = None
                options = {"timeout": PATIENCE, "set_as_default": False}
                client = distributed.Client(address, **options)
            connected.set()
            answer.append(_checked(client))
        except Exception as error:
            log.warning("%s=%s: %r", VARIABLE, address, error)
            answer.append(_here("The cluster does not answer."))
            connected.set()
        if answer[0].client is None:
            _closed(client)

    asking = threading.Thread(target=ask, args=(client,), daemon=True)
    asking.start()
    if connected.wait(PATIENCE):
        # Workers that are new load this package first.
        asking.join(LOADING if fresh else PATIENCE)
    return answer[0] if answer else _here("The cluster does not answer.")


def _closed(client: Any) -> None:
    """Let a connection go that is of no use; it would try again and again."""
    if client is not None:
        client.close(timeout=1)


def _here(told: str) -> Engine:
    return Engine(None, f"{told} The work runs on this machine.")


def _checked(client: Any) -> Engine:
    """Look at what the cluster is made of before anything is sent to it."""
    found = client.get_versions()
    if told := _versions_differ(found):
        return _here(told)
    if not found["workers"]:
        return _here("The cluster has no workers.")
    return _with_same_package(client)


def _versions_differ(found: dict[str, Any]) -> str:
    """Which machine has another Dask or Python, in words; empty if none has."""
    own = found["client"]["packages"]
    for where, there in {"scheduler": found["scheduler"], **found["workers"]}.items():
        packages = there["packages"] if there else {}
        for name, what, parts in (("distributed", "Dask", 9), ("python", "Python", 2)):
            # Pickles differ between minor versions of Python.
            mine, other = (str(p.get(name)).split(".") for p in (own, packages))
            if mine[:parts] != other[:parts]:
                told = ".".join(other[:3])
                log.warning("%s has %s %s", where, what, told)
                return (
                    f"A machine of the cluster runs {what} {told} and this one "
                    f"{'.'.join(mine[:3])}: install the same version on both."
                )
    return ""


def _with_same_package(client: Any) -> Engine:
    """Whether scheduler and workers have this very package."""
    found = client.run(edition, on_error="return")
    try:  # Dask's scheduler reads what a task refers to
        found["scheduler"] = client.run_on_scheduler(edition)
    except Exception as error:
        found["scheduler"] = error
    for where, there in found.items():
        what = "scheduler" if where == "scheduler" else "worker"
        if isinstance(there, Exception):
            log.warning("%s %s: %r", what, where, there)
            return _here(
                f"A {what} of the cluster has no smpcore: start it in the folder of "
                "this program, with its requirements installed."
            )
        if there != edition():
            log.warning("%s %s has smpcore %s", what, where, there)
            return _here(
                f"A {what} of the cluster has another edition of smpcore: copy this "
                "program's folder there and start it again."
            )
    n = len(client.ncores())
    return Engine(client, f"Runs on a cluster of {n} worker{'s' * (n != 1)}.")


@cache
def edition() -> str:
    """Name the source code of this package, as it was when this was asked first.

    Returns
    -------
    str
        A digest of all its Python files.
    """
    digest = hashlib.blake2b(digest_size=8)
    folder = Path(__file__).parents[1]
    for file in sorted(folder.glob("**/*.py")):
        digest.update(file.relative_to(folder).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _alone(task: tuple, work: Work, shared: Any) -> Any:
    """One task on one core, here or on a worker."""
    with one_core, parallel_config("sequential"):
        return work(shared, task)


@contextmanager
def running(
    work: Work,
    shared: Any,
    n_jobs: int,
    stop: np.ndarray,
    *,
    ordered: bool = False,
    here: bool = False,
) -> Iterator[Callable[[Iterable[tuple]], Iterator[Any]]]:
    """Run tasks beside each other.

    Parameters
    ----------
    work : callable
        ``work(shared, task)``, a function of a module.
    shared : object
        What all tasks need. A worker gets it once.
    n_jobs : int
        Threads, if they are threads; a cluster gives all it has.
    stop : ndarray of int64, shape (1,)
        After it becomes non-zero nothing more is waited for from a cluster; threads
        are to look at it by themselves.
    ordered : bool
        Whether results come in the order of their tasks, or as they are ready.
    here : bool
        Keep to this machine.

    Yields
    ------
    callable
        Takes an iterable of tasks, gives an iterator of their results. A task of a
        worker that died is done by another one.

    Raises
    ------
    SmpcoreError
        If the cluster is lost.
    """
    client = None if here else engine().client
    if client is None:
        order = "generator" if ordered else "generator_unordered"
        with one_core, Parallel(n_jobs, prefer="threads", return_as=order) as parallel:
            yield lambda tasks: parallel(
                delayed(_alone)(t, work, shared) for t in tasks
            )
        return
    with _in_words():
        (common,) = client.scatter([shared], broadcast=True)
    yield lambda tasks: _answers(client, work, common, list(tasks), stop, ordered)


@contextmanager
def _in_words() -> Iterator[None]:
    """Say what a cluster breaks with; what a task itself breaks with goes through."""
    try:
        yield
    except ImportError as error:
        raise SmpcoreError(
            f"A worker of the cluster lacks a package of this program: {error}"
        ) from error
    except Exception as error:
        lost = isinstance(error, OSError | CancelledError)
        if not lost and not type(error).__module__.startswith("distributed"):
            raise
        log.warning("the cluster broke down: %r", error)
        raise SmpcoreError(
            "The cluster broke down while it worked: look at its scheduler and "
            "workers, then start again. What had come is kept."
        ) from error


def _waiting(ready: SimpleQueue[Any]) -> list[Any]:
    """All that stands in a queue, after a moment if nothing does."""
    found = []
    try:
        found.append(ready.get(timeout=LOOK))
        while True:
            found.append(ready.get_nowait())
    except Empty:
        return found


def _answers(
    client: Any, work: Work, common: Any, tasks: list[tuple], stop: Any, ordered: bool
) -> Iterator[Any]:
    """What a cluster answers, until Stop; what it breaks with, in words."""
    with _in_words():
        futures = client.map(_alone, tasks, work=work, shared=common, pure=False)
    place = {future.key: i for i, future in enumerate(futures)}
    ready: SimpleQueue[Any] = SimpleQueue()
    for future in futures:
        future.add_done_callback(ready.put)
    found: dict[int, Any] = {}
    told = 0
    try:
        while told < len(futures) and not stop[0]:
            # All that are ready in one message: each takes some milliseconds.
            if not (done := _waiting(ready)):
                continue
            numbers = [place[future.key] for future in done]
            with _in_words():
                found |= zip(numbers, client.gather(done), strict=True)
            while found and (not ordered or told in found):
                yield found.pop(told if ordered else next(iter(found)))
                told += 1
    finally:
        client.cancel(futures)
