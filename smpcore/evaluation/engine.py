"""The Dask cluster that studies run on, if there is one.

Whoever started this process names it (``SPE_DASK=tcp://host:8786``). What is wrong with
it is said, and the work runs here. The app and the command ask for it; a function of
the library takes the executor that it is given.
"""

from __future__ import annotations

import gc
import hashlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

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
    return Engine(client, f"Runs on a cluster of {n} worker{'s' * (n != 1)}.")


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
