"""Measured models of other libraries beside ours, on tables that everybody knows.

``peers.json`` is written by ``python -m tests.bench.chip --save``. It has the fields

    schema    version of these fields
    sets      name of a data set -> its entry:
      date, versions            when, and of which packages
      digest                    of the data set's content, see `Dataset.digest`
      training, test            rows of a split
      chips                     name of a simulated chip -> models, each with
        model, ours             its name; whether it is one of ours
        splits                  how many splits it was fitted on
        accuracy                mean and standard deviation of the test rows' accuracy
        interval                95 % interval of that mean
        agrees                  share of answers that are those of its Python
        flash, ram, cycles, stack, weights
                                least, median and most over the splits, where measured:
                                bytes and cycles (of a Cortex-M: instructions) of the
                                prediction alone
        flash_from_floats, cycles_from_floats
                                the same with the conversion of floats to integers
        refused                 on how many splits it did not fit on the chip
        chosen                  what cross-validation chose -> how often
        beside                  of another library's model: "ours" of the largest limit
                                of flash below its own, and "points": how much better
                                ours is on the same splits, in percentage points, and
                                half of the 95 % interval of that; empty: none of
                                ours is as small
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

SCHEMA = 2
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
        The entry of the data set, with its ``name``; None for a data set that was not
        measured.
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


def points_of(models: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Models of a data set on a chip as lines of a table.

    Parameters
    ----------
    models : list of dict
        Of a chip, from `measured_peers`.

    Returns
    -------
    list of dict
        ``group`` (whose it is), ``model``, ``accuracy`` with ``low`` and ``high``
        (shares), ``flash`` and ``cycles`` (median over the splits, with ``_least`` and
        ``_most``; NaN where it never fitted), ``splits``, ``refused``, and ``ours``:
        how many points ours are better, and half of the interval; empty if none of
        ours is as small, None if unknown.
    """
    return [_point(model) for model in models]


def _point(model: dict[str, Any]) -> dict[str, Any]:
    name = model["model"]
    peer = name.split()[0] if name.split()[0] in PEERS else "l1 logistic, our C"
    low, high = model["interval"]
    point = {
        "group": "ours" if model["ours"] else peer,
        "model": name,
        "accuracy": model["accuracy"][0],
        "low": low,
        "high": high,
        "ours": model.get("beside", {}).get("points"),
    }
    for cost in ("flash", "cycles"):
        least, median, most = model.get(cost, (float("nan"),) * 3)
        point |= {cost: median, f"{cost}_least": least, f"{cost}_most": most}
    return point | {"splits": model["splits"], "refused": model["refused"]}


@functools.cache
def _by_digest() -> dict[str, dict[str, Any]]:
    whole = json.loads(TABLE.read_text("ascii"))
    return {
        entry["digest"]: {"name": name, **entry}
        for name, entry in whole["sets"].items()
    }
