"""How iterations end, and what is kept of them: shared by the solvers.

=========  ====================  =======================================================
name       shape                 meaning
=========  ====================  =======================================================
k          int                   iteration, from 0
limits     Limits                when a solver ends, and how it is told and tells
record     int                   keep every so-many-th iterate; 0: none
W          (N, n)                iterate
P, gap     number                objective at W, and how far it is from its lower bound
steps      (s, N, n)             room for iterates that are kept
history    (objectives, gaps,    room for what each iteration gave
           steps)
stop       (1,)                  not 0: somebody wants the solver to stop
progress   (1,)                  rises from 0 to 1
=========  ====================  =======================================================
"""

import math
from collections import namedtuple

from . import kernel

Limits = namedtuple("Limits", "tol max_iter record stop progress")

CONVERGED, ITERATION_LIMIT, STOPPED, DIVERGED = 0, 1, 2, 3


@kernel
def copy_rows(source, target):
    """Copy one matrix over another; compiles faster than a whole-array assignment."""
    for j in range(source.shape[0]):
        for r in range(source.shape[1]):
            target[j, r] = source[j, r]


@kernel
def move_mean(mean, new, share):
    """Move an average by this share towards a new value."""
    for j in range(mean.shape[0]):
        for r in range(mean.shape[1]):
            mean[j, r] += share * (new[j, r] - mean[j, r])


@kernel
def recorded_every(k, record, most):
    """How far apart recorded steps are at step k: twice as far when room is used up."""
    while k // record >= most:
        record *= 2
    return record


@kernel
def keep_step(k, record, W, steps):
    """Keep W after step k if it is its turn; every second one goes for lack of room."""
    if record > 0:
        every = recorded_every(k, record, len(steps))
        if k % every == 0:
            if k > 0 and every > recorded_every(k - 1, record, len(steps)):
                for i in range(1, len(steps) // 2):
                    copy_rows(steps[2 * i], steps[i])
            copy_rows(W, steps[k // every])


@kernel
def kept_steps(n_iter, record, W, steps):
    """How many steps were kept; the last becomes W, where the fit ended."""
    if record <= 0:
        return 0
    every = recorded_every(n_iter, record, len(steps))
    kept = min((n_iter - 1) // every + 2, len(steps))
    copy_rows(W, steps[kept - 1])
    return kept


@kernel
def note_step(k, P, gap, W, limits, history):
    """Write step k into the history; return its status (limit: go on)."""
    objectives, gaps, steps = history
    objectives[k], gaps[k] = P, gap
    goal = limits.tol * P
    if 0.0 < goal < gap < gaps[0]:
        share = math.log(gaps[0] / gap) / math.log(gaps[0] / goal)
        limits.progress[0] = max(limits.progress[0], share)
    keep_step(k, limits.record, W, steps)
    if not math.isfinite(P):
        return DIVERGED
    if gap <= goal:
        return CONVERGED
    return STOPPED if limits.stop[0] != 0 else ITERATION_LIMIT


@kernel
def used_history(n_iter, W, limits, history):
    """What of the history is used; the last recorded step is W, where the fit ended."""
    objectives, gaps, steps = history
    limits.progress[0] = 1.0
    kept = kept_steps(n_iter, limits.record, W, steps)
    return objectives[: n_iter + 1], gaps[: n_iter + 1], steps[:kept]
