"""Once per process: machine code for the methods, and the libraries they need."""

from __future__ import annotations

import gc
import threading
import warnings
from importlib import import_module

from threadpoolctl import threadpool_limits

from pages.work import file_process, study_pool, visitors
from pages.work.store import Store
from smpcore import BASELINES, METHODS, list_datasets, load_dataset, split
from smpcore.errors import Caution

#: The other kernels are compiled this long after the first.
BACKGROUND_SECONDS = 8.0
#: Methods without machine code yet: their fits run as jobs, with something to see.
uncompiled: set[str] = set()


#: Titles of the methods of which not every option is compiled yet.
waiting: list[str] = []
_started = Store()


def start_up() -> None:
    """Have ready what the first page needs, once per process."""
    _started.get_or_make("", _start)


def _start() -> bool:
    """Compile or load machine code: the default method first, the others behind it."""
    # The page says how each fit ended and what it changed; the log need not.
    warnings.simplefilter("ignore", Caution)
    warnings.filterwarnings("ignore", message=".*raise max_iter or tol")
    # One core a visitor, as app.py says; numpy may have been loaded before it.
    threadpool_limits(1, user_api="blas")
    visitors.keep_uploads_in_memory()
    visitors.draw_parts_whole()
    gc.disable()  # a compiler makes millions of objects, and hardly any garbage
    next(iter(METHODS.values())).warm_up()
    # What `import smpcore` leaves until it is used; no visitor is to wait for it.
    split(load_dataset(list_datasets()[0].key))
    gc.enable()
    # Without a collection before it, which finds 4,000 of 480,000 objects in a
    # tenth of the time to the first picture.
    gc.freeze()
    waiting.extend(method.title for method in METHODS.values())
    uncompiled.update(list(METHODS)[1:])
    # Compiling holds the GIL: the first visitors see their pictures before it.
    later = threading.Timer(BACKGROUND_SECONDS, _compile_rest)
    later.daemon = True
    later.start()
    return True


def _compile_rest() -> None:
    file_process.LINE.start()
    next(iter(BASELINES.values())).estimator()
    import_module("smpcore.papers")
    for key, method in METHODS.items():
        method.warm_up()
        uncompiled.discard(key)
    for method in METHODS.values():
        method.warm_up(every_option=True)
        waiting.remove(method.title)
    # What lives for ever need not be looked at by each collection (173-190 ms with
    # numba, scipy and scikit-learn).
    gc.collect()
    gc.freeze()
    study_pool.start()  # its processes load what is compiled now
