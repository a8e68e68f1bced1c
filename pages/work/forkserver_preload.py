"""Imported once where the processes of studies branch off: all is loaded, compiled."""

import gc
import warnings

from threadpoolctl import threadpool_limits

from smpcore import BASELINES, METHODS

warnings.simplefilter("ignore")  # how each fit ended is in its result
next(iter(BASELINES.values())).estimator()  # loads scikit-learn's models
# OpenMP hangs in a process that branches off after it has begun threads.
with threadpool_limits(1):
    for method in METHODS.values():
        method.warm_up()
gc.collect()
gc.freeze()  # memory that no collection writes to is shared by all of them
