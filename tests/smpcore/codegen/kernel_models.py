"""Kernel models without an estimator: from a support vector machine, or at random."""

from dataclasses import replace

import numpy as np
from sklearn.svm import SVC

from smpcore.model import PrototypeModel
from smpcore.similarity import Similarity


def svm_model(X, y, *, kind="rbf", gamma=None, degree=1, coef0=0.0, C=1.0):
    """The one-against-one SVM of scikit-learn, its pairs added up for each class.

    Each class's score is a sum of its machines against the others, so a model of two
    classes decides exactly as `SVC` does.
    """
    X, scale = np.asarray(X, dtype=float), np.std(X, axis=0)
    center, scale = X.mean(axis=0), np.where(scale > 0, scale, 1.0)
    scaled = (X - center) / scale
    gamma = gamma or 1 / X.shape[1]
    how = Similarity(kind, gamma=gamma, degree=degree, coef0=coef0)
    machine = SVC(kernel=kind, gamma=gamma, degree=degree, coef0=coef0, C=C)
    machine.fit(scaled, y)
    anchors = scaled[machine.support_]
    k = len(machine.classes_)
    mixing, bias = np.zeros((len(anchors), k)), np.zeros(k)
    first = np.r_[0, np.cumsum(machine.n_support_)]
    pairs = [(a, b) for a in range(k) for b in range(a + 1, k)]
    # libsvm turns the two signs round where there are two classes.
    sign = -1.0 if k == 2 else 1.0
    for pair, (a, b) in enumerate(pairs):
        dual = np.zeros(len(anchors))
        dual[first[a] : first[a + 1]] = machine.dual_coef_[
            b - 1, first[a] : first[a + 1]
        ]
        dual[first[b] : first[b + 1]] = machine.dual_coef_[a, first[b] : first[b + 1]]
        for own, side in ((a, sign), (b, -sign)):
            mixing[:, own] += side * dual / 2
            bias[own] += side * machine.intercept_[pair] / 2
    return kernel_model(
        anchors,
        mixing,
        how,
        center=center,
        scale=scale,
        low=X.min(axis=0),
        high=X.max(axis=0),
        bias=bias,
        classes=machine.classes_,
        kind_of_prototype="mix of real cases",
    ), machine


def kernel_model(anchors, mixing, similarity, **changes):
    """A model of anchors and mixing; one prototype per class unless told otherwise."""
    d, m = anchors.shape[1], mixing.shape[1]
    parts = {
        "center": np.zeros(d),
        "scale": np.ones(d),
        "low": np.full(d, -2.0),
        "high": np.full(d, 2.0),
        "similarity": similarity,
        "anchors": anchors,
        "mixing": mixing,
        "bias": np.zeros(m),
        "pooling": "max",
        "votes": np.eye(m),
        "intercept": np.zeros(m),
        "classes": np.array([f"class {k}" for k in range(m)]),
        "counts": np.ones(m, dtype=np.int64),
        "feature_names": tuple(f"feature {f}" for f in range(d)),
        "sample_shape": (d,),
        "kind_of_prototype": "real case",
    }
    classes = changes.get("classes", parts["classes"])
    intercept = np.zeros(1 if classes is None else len(classes))
    changes = {"intercept": intercept} | changes
    return PrototypeModel(**{**parts, **changes})


def random_kernel_model(
    kind="rbf", n_features=5, n_anchors=7, n_classes=3, density=1.0, seed=0, **changes
):
    """Anchors and mixing of random numbers, two prototypes per class."""
    random = np.random.default_rng(seed)
    m = 2 * n_classes
    mixing = random.normal(size=(n_anchors, m))
    mixing[random.random(mixing.shape) > density] = 0.0
    if kind in ("features", "intersection") and density == 1 and n_anchors > 1:
        mixing -= mixing.mean(axis=0)  # alike everywhere: one class would always win
    mixing[0, 0] = 1.0
    scale = np.exp(random.normal(size=n_features))
    center = 3 * random.normal(size=n_features)
    how = {
        "rbf": Similarity("rbf", gamma=0.5 / n_features),
        "poly": Similarity("poly", gamma=1 / n_features, degree=3, coef0=1.0),
        "laplacian": Similarity("laplacian", gamma=2.0 / n_features),
        "cosine": Similarity("cosine"),
        "ncc": Similarity("ncc"),
        "features": Similarity(
            "features",
            weights=tuple(np.arange(1, n_features + 1) / n_features**2),
            widths=(2.0,) * n_features,
        ),
        "intersection": Similarity("intersection"),
    }
    parts = {
        "center": center,
        "scale": scale,
        "low": center - 2 * scale,
        "high": center + 2 * scale,
        "bias": 0.1 * random.normal(size=m),
        "votes": np.repeat(np.eye(n_classes), 2, axis=0),
        "classes": np.array([f"class {k}" for k in range(n_classes)]),
    }
    parts = {**parts, "mixing": mixing, **changes}
    anchors = random.normal(size=(n_anchors, n_features))
    if kind == "intersection":  # of numbers that are not negative
        anchors = np.abs(anchors) + 0.5
        parts["center"] = parts["low"] - 0.5 * parts["scale"]
    return kernel_model(anchors, parts.pop("mixing"), how[kind], **parts)


def coded_model(kind="rbf", n_prototypes=6, code_size=3, seed=0, **changes):
    """Prototypes of unit length that reconstruct an input together."""
    random = np.random.default_rng(seed)
    parts = {"n_features": 4, "n_anchors": 9, "n_classes": 2, **changes}
    n_classes = parts.pop("n_classes")
    mixing = random.uniform(0.1, 1, size=(parts["n_anchors"], n_prototypes))
    mixing[random.random(mixing.shape) < 0.5] = 0.0
    mixing[np.arange(n_prototypes) % len(mixing), np.arange(n_prototypes)] = 1.0
    base = random_kernel_model(
        kind,
        **parts,
        n_classes=n_classes,
        seed=seed,
        mixing=mixing,
        bias=np.zeros(n_prototypes),
        pooling="sum",
        votes=np.eye(n_classes)[np.arange(n_prototypes) % n_classes],
        counts=np.ones(n_prototypes, dtype=np.int64),
        intercept=np.zeros(n_classes),
        kind_of_prototype="mix of real cases",
    )
    alike = base.similarity.values(base.anchors, base.anchors)
    length = np.sqrt(np.einsum("ij,ik,kj->j", mixing, alike, mixing))
    mixing = mixing / length
    gram = mixing.T @ alike @ mixing
    return replace(
        base, mixing=mixing, code_size=code_size, gram=(gram + gram.T) / 2, fallback=1
    )
