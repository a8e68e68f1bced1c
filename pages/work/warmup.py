"""Once per process: machine code for the methods, and the libraries they need."""

from __future__ import annotations

import gc
import logging
import threading
import warnings
from functools import partial
from importlib import import_module

from threadpoolctl import threadpool_limits

from pages.work import compiler, file_process, study_pool, visitors
from pages.work.store import Store
from smpcore import BASELINES, METHODS, list_datasets, load_dataset, split
from smpcore.errors import Caution

log = logging.getLogger(__name__)
#: The other kernels are loaded this long after the first.
BACKGROUND_SECONDS = 8.0
#: Methods without machine code yet: their fits run as jobs, with something to see.
uncompiled: set[str] = set()


#: Titles of the methods of which not every option is compiled yet.
waiting: list[str] = []
_started, _loaded = Store(), Store()


def start_up() -> None:
    """Have ready what the first page needs, once per process."""
    _started.get_or_make("", _start)


def _start() -> bool:
    """Load machine code: of the default method at once, of the others behind it."""
    # The page says how each fit ended and what it changed; the log need not.
    warnings.simplefilter("ignore", Caution)
    warnings.filterwarnings("ignore", message=".*raise max_iter or tol")
    # One core a visitor, as app.py says; numpy may have been loaded before it.
    threadpool_limits(1, user_api="blas")
    visitors.keep_uploads_in_memory()
    visitors.draw_parts_whole()
    gc.disable()  # a compiler makes millions of objects, and hardly any garbage
    first, *others = METHODS
    _load(first)
    # What `import smpcore` leaves until it is used; no visitor is to wait for it.
    split(load_dataset(list_datasets()[0].key))
    gc.enable()
    # Without a collection before it, which finds 4,000 of 480,000 objects in a
    # tenth of the time to the first picture.
    gc.freeze()
    waiting.extend(method.title for method in METHODS.values())
    uncompiled.update(others)
    # Loading holds the GIL: the first visitors see their pictures before it.
    later = threading.Timer(BACKGROUND_SECONDS, _load_rest)
    later.daemon = True
    later.start()
    return True


def make_ready(key: str) -> None:
    """Wait until a method's machine code is here; of anything else there is none."""
    if key in uncompiled:
        _loaded.get_or_make(key, partial(_load, key))


def _load(key: str, every_option: bool = False) -> bool:
    """Load machine code; what the process beside this one has not made is compiled."""
    compiler.compile_method(key, every_option)
    METHODS[key].warm_up(every_option)
    uncompiled.discard(key)
    return True


def _load_rest() -> None:
    """Load what the first page does without; whatever fails, the rest goes on."""
    for step in (
        file_process.LINE.start,
        _load_libraries,
        _load_methods,
        _load_options,
        compiler.end,
        _freeze,
        study_pool.start,  # its processes load what is compiled now
    ):
        try:
            step()
        except Exception:
            log.exception("part of the start-up failed: %s", step.__name__)
    uncompiled.clear()


def _load_libraries() -> None:
    next(iter(BASELINES.values())).estimator()
    import_module("smpcore.papers")


def _load_methods() -> None:
    for key in METHODS:
        make_ready(key)


def _load_options() -> None:
    try:
        for key, method in METHODS.items():
            _load(key, every_option=True)
            waiting.remove(method.title)
    finally:
        waiting.clear()


def _freeze() -> None:
    # What lives for ever need not be looked at by each collection (173-190 ms with
    # numba, scipy and scikit-learn).
    gc.collect()
    gc.freeze()
