"""Measured models of other libraries beside ours, on tables that everybody knows.

``peers.json`` is written by ``python -m tests.bench.chip --save``. It has the fields

    schema    version of these fields
    chip      name of the chip that all of it was measured on, simulated cycle by cycle
    sets      name of a data set -> its entry:
      date, versions            when, and of which packages
      digest                    of the data set's content, see `Dataset.digest`
      training, test            rows of a split
      entries                   models, each with
        model, ours             its name; whether it is one of ours
        splits                  how many splits it was fitted on
        accuracy                mean and standard deviation of the test rows' accuracy
        flash, ram, cycles, stack, weights
                                least, median and most over the splits, where measured:
                                bytes and cycles of the prediction alone
        flash_from_floats, cycles_from_floats
                                the same with the conversion of floats to integers
        refused                 on how many splits it did not fit on the chip
        chosen                  what cross-validation chose -> how often
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

SCHEMA = 1
#: Libraries that a model's name can begin with.
PEERS = ("m2cgen", "micromlgen", "emlearn")
TABLE = Path(__file__).with_name("peers.json")


def measured_peers(digest: str) -> dict[str, Any] | None:
    """What was measured of other libraries on a data set.

    Parameters
    ----------
    digest : str
        Of the data set, which is found by its content.

    Returns
    -------
    dict or None
        The entry of the data set, with its ``name`` and the ``chip``; None for a data
        set that was not measured.
    """
    return _by_digest().get(digest)


def measured_names() -> list[str]:
    """Names of the data sets that `measured_peers` knows.

    Returns
    -------
    list of str
        Sorted.
    """
    return sorted(entry["name"] for entry in _by_digest().values())


def points_of(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Models of a data set as lines of a table.

    Parameters
    ----------
    entry : dict
        From `measured_peers`.

    Returns
    -------
    list of dict
        ``group`` (whose it is), ``model``, ``accuracy`` and ``spread`` (shares),
        ``flash`` and ``cycles`` (median over the splits, with ``_least`` and
        ``_most``; NaN where it never fitted), ``splits``, ``refused``.
    """
    return [_point(model) for model in entry["entries"]]


def _point(model: dict[str, Any]) -> dict[str, Any]:
    name = model["model"]
    peer = name.split()[0] if name.split()[0] in PEERS else "l1 logistic, our C"
    mean, spread = model["accuracy"]
    point = {
        "group": "ours" if model["ours"] else peer,
        "model": name,
        "accuracy": mean,
        "spread": spread,
    }
    for cost in ("flash", "cycles"):
        least, median, most = model.get(cost, (float("nan"),) * 3)
        point |= {cost: median, f"{cost}_least": least, f"{cost}_most": most}
    return point | {"splits": model["splits"], "refused": model["refused"]}


@functools.cache
def _by_digest() -> dict[str, dict[str, Any]]:
    whole = json.loads(TABLE.read_text("ascii"))
    return {
        entry["digest"]: {"name": name, "chip": whole["chip"], **entry}
        for name, entry in whole["sets"].items()
    }
