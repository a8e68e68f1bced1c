"""Linear models made of random numbers, and a table of numbers and categories."""

import numpy as np
import pandas as pd

from smpcore.codegen import compile_model
from smpcore.datasets import Dataset, prepare
from smpcore.model import PrototypeModel
from smpcore.similarity import Similarity


def random_linear(
    n_features=6, n_classes=3, per_class=2, density=0.6, seed=0, **changes
):
    """A model with linear prototypes of random numbers."""
    random = np.random.default_rng(seed)
    n = n_classes * per_class
    anchors = random.normal(size=(n, n_features))
    anchors[random.random(anchors.shape) > density] = 0.0
    anchors[0, 0] = 1.0
    scale = np.exp(random.normal(size=n_features))
    center = 3 * random.normal(size=n_features)
    parts = {
        "center": center,
        "scale": scale,
        "low": center - 2 * scale,
        "high": center + 2 * scale,
        "similarity": Similarity(),
        "anchors": anchors,
        "mixing": np.eye(n),
        "bias": random.normal(size=n),
        "pooling": "max",
        "votes": np.repeat(np.eye(n_classes), per_class, axis=0),
        "intercept": np.zeros(n_classes),
        "classes": np.array([f"class {k}" for k in range(n_classes)]),
        "counts": np.ones(n, dtype=np.int64),
        "feature_names": tuple(f"feature {f}" for f in range(n_features)),
        "sample_shape": (n_features,),
        "kind_of_prototype": "direction",
    }
    return PrototypeModel(**{**parts, **changes})


def one_value(make, m, seed=0, **changes):
    """The regression model that a maker of classifiers makes of m prototypes."""
    random = np.random.default_rng(seed)
    parts = {"pooling": "sum", "classes": None, "votes": random.normal(size=(m, 1))}
    return make(**{"intercept": np.array([40.0]), **parts, **changes})


def mixed_table():
    """A table of numbers and categories with missing values, and its preparation."""
    random = np.random.default_rng(0)
    n = 60
    frame = pd.DataFrame(
        {
            "size, cm": random.normal(170, 10, n),
            "sex": random.choice(["female", "male", None], n),
            "stage": random.choice([1.0, 2.0, 3.5, np.nan], n),
            "year": random.integers(1990, 2020, n),
            "empty": [None] * n,
            "y": random.choice(["a", "b"], n),
        }
    )
    frame.loc[3, "size, cm"] = np.nan
    roles = dict.fromkeys(frame, "feature") | {"y": "target"}
    dataset = Dataset("mixed", frame, roles, "classification")
    dataset = dataset.with_roles(kinds={"stage": "category", "empty": "category"})
    return dataset, prepare(dataset, np.arange(40))


def mixed_linear(preparation, per_class=3, density=1.0):
    """A compiled model of the mixed table; the year needs an offset."""
    inputs = preparation.inputs
    widths = [given.width for given in inputs]
    low = np.repeat([given.low for given in inputs], widths)
    high = np.repeat([given.high for given in inputs], widths)
    scaled = {"center": (low + high) / 2, "scale": (high - low) / 4}
    model = random_linear(preparation.n_features, 2, per_class, density, **scaled)
    return compile_model(model, preparation)
