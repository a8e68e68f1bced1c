"""What an answer is made of: parts of a score's lead over the runner-up."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from smpcore.datasets import Preparation
from smpcore.datasets.display_names import listed
from smpcore.errors import SmpcoreError
from smpcore.model import PrototypeModel

#: Parts of a code may miss the solver's own code by this share at most.
_CODE_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Contributions:
    """Parts that add up to the lead of the winner over the runner-up.

    Parameters
    ----------
    of : {"column", "feature", "channel", "case", "prototype"}
        What a part belongs to.
    parts : ndarray of shape (n_parts,)
        Positive: speaks for the winner.
    rest : float
        What belongs to no part: biases and intercepts.
    lead : float
        Score of the winner less that of the runner-up; of a regression, the answer.
    winner, runner_up : int
        Outputs; the same of a regression.
    exact : bool
        Whether ``parts.sum() + rest`` is ``lead``.
    rule : str
        How the lead was split, in words.
    """

    of: str
    parts: np.ndarray
    rest: float
    lead: float
    winner: int
    runner_up: int
    exact: bool
    rule: str


def one_row(model: PrototypeModel, x: np.ndarray) -> np.ndarray:
    """An input as a table of one row; refused if it has another length."""
    x = np.asarray(x, dtype=np.float64)
    if x.shape != (model.n_features,):
        raise SmpcoreError(f"x should have shape ({model.n_features},), not {x.shape}.")
    return x[None]


def deciding_prototypes(model: PrototypeModel, activations: np.ndarray) -> np.ndarray:
    """The prototype that decides each row's answer.

    With "max" it gives the winning score; with "sum" it adds most to it.

    Parameters
    ----------
    model : PrototypeModel
        Model that gave the activations.
    activations : ndarray of shape (n_samples, n_prototypes)
        Activation of each prototype for each row.

    Returns
    -------
    ndarray of int, shape (n_samples,)
    """
    winner = model.decide(model.pool(activations))
    if model.pooling == "sum":
        terms = activations * model.votes[:, winner].T
        return (np.abs(terms) if model.classes is None else terms).argmax(axis=1)
    of_winner = model.votes[:, winner].T != 0
    return np.where(of_winner, activations, -np.inf).argmax(axis=1)


def _vote(
    model: PrototypeModel, activations: np.ndarray
) -> tuple[np.ndarray, float, int, int]:
    """Weights of activations in the lead, its constant, winner and runner-up."""
    scores = model.pool(activations)[0]
    winner = int(model.decide(scores[None])[0])
    if model.classes is None:
        return model.votes[:, 0], float(model.intercept[0]), 0, 0
    others = scores.copy()
    others[winner] = -np.inf
    runner = int(others.argmax())
    constant = float(model.intercept[winner] - model.intercept[runner])
    if model.pooling == "sum":
        return model.votes[:, winner] - model.votes[:, runner], constant, winner, runner
    vote = np.zeros(model.n_prototypes)
    for output, sign in ((winner, 1.0), (runner, -1.0)):
        members = np.flatnonzero(model.votes[:, output])
        vote[members[activations[0, members].argmax()]] += sign
    return vote, constant, winner, runner


def contributions(
    model: PrototypeModel,
    x: np.ndarray,
    by: str | None = None,
    preparation: Preparation | None = None,
) -> Contributions:
    """Split the lead of the winner over the runner-up.

    Parameters
    ----------
    model : PrototypeModel
        Classifier or regression whose score is split.
    x : ndarray of shape (n_features,), user's units
        The input whose answer is explained; every value is finite.
    by : {"column", "feature", "case", "prototype"}, optional
        What to split by; by default the finest split that is exact: features of a
        linear model, cases of a sum of similarities, prototypes of a code. Features
        are channels where the similarity is made of channels.
    preparation : Preparation, optional
        With it the default for a linear model is table columns: the parts of a
        category's levels are summed. "column" needs it.

    Returns
    -------
    Contributions

    Raises
    ------
    SmpcoreError
        If the model cannot be split by `by`.
    """
    rows = one_row(model, x)
    activations = model.activations(rows)
    vote, constant, winner, runner = _vote(model, activations)
    lead = model.pool(activations)[0]
    lead = float(lead[0] if model.classes is None else lead[winner] - lead[runner])
    made = {"lead": lead, "winner": winner, "runner_up": runner}
    if model.code_size and not activations.any():
        parts = np.zeros(model.n_prototypes)
        words = "No prototype is active for this row: the fallback class is predicted."
        return Contributions(
            of="prototype", parts=parts, rest=lead, exact=True, rule=words, **made
        )
    by = by or _finest(model, preparation)
    kinds = ["feature", "case", "prototype"]
    if preparation is not None:
        kinds.append("column")
    if by not in kinds:
        raise SmpcoreError(f"by={by!r} should be {listed(kinds)}.")
    exact = {"rest": constant + float(vote @ model.bias), "exact": True, **made}
    if by == "prototype":
        parts = vote * (activations[0] - model.bias)
        words = "Sum over prototypes of activation times weight."
        return Contributions(of=by, parts=parts, rule=words, **exact)
    if by == "case" and not model.code_size:
        parts = _similarities(model, rows) * (model.mixing @ vote)
        words = "Sum over cases of similarity times weight."
        return Contributions(of=by, parts=parts, rule=words, **exact)
    if model.is_linear and not model.code_size:
        parts = (vote @ model.weights) * ((rows - model.center) / model.scale)[0]
        words = "Weight times value."
        if model.is_scaled:
            words = "Weight times value, in standard deviations from the training mean."
        result = Contributions(of="feature", parts=parts, rule=words, **exact)
    elif model.similarity.weights:
        result = _by_kernel(model, rows, vote, activations[0], constant, made)
    else:
        return _by_resetting(model, rows, preparation if by == "column" else None, made)
    if by == "column" and result.of == "feature":
        return replace(result, of=by, parts=preparation.sum_by_column(result.parts))
    return result


def reference_input(model: PrototypeModel) -> np.ndarray:
    """The input from which parts by feature or column are measured.

    Parameters
    ----------
    model : PrototypeModel
        Model whose score is split.

    Returns
    -------
    ndarray of shape (n_features,), user's units
        The origin of a linear model's weights, else the middle of each feature.
    """
    if model.is_linear and not model.code_size:
        return model.center
    return np.where(model.scale == 1.0, (model.low + model.high) / 2, model.center)


def _finest(model: PrototypeModel, preparation: Preparation | None) -> str:
    """The finest split that is exact."""
    if model.code_size:
        return "prototype"
    if not model.is_linear:
        return "case"
    return "feature" if preparation is None else "column"


def _similarities(model: PrototypeModel, rows: np.ndarray) -> np.ndarray:
    scaled = (rows - model.center) / model.scale
    return model.similarity.values(scaled, model.anchors)[0]


def _by_kernel(model, rows, vote, activations, constant, made) -> Contributions:
    """Exact, given which prototypes speak: their code is linear in the likenesses."""
    weights = np.array(model.similarity.weights)
    parts = np.zeros(len(weights))
    mix, words = (
        model.mixing,
        "The similarity is a sum over features, split here by feature.",
    )
    if model.code_size:
        speak = np.flatnonzero(activations)
        inverse = np.linalg.pinv(model.gram[np.ix_(speak, speak)])
        mix, vote = mix[:, speak] @ inverse, vote[speak]
        words = (
            "For the active prototypes the code is linear in the similarities, which "
            "are sums over features, split here by feature."
        )
    for place in np.flatnonzero(weights):
        alone = tuple(np.where(np.arange(len(weights)) == place, weights, 0.0))
        one_kernel = replace(model, similarity=replace(model.similarity, weights=alone))
        parts[place] = _similarities(one_kernel, rows) @ mix @ vote
    rest = constant if model.code_size else constant + float(vote @ model.bias)
    missed = abs(parts.sum() + rest - made["lead"])
    exact = bool(missed <= _CODE_TOLERANCE * max(1.0, np.abs(parts).sum()))
    of = "feature" if len(parts) == model.n_features else "channel"
    return Contributions(of=of, parts=parts, rest=rest, exact=exact, rule=words, **made)


def _by_resetting(
    model: PrototypeModel, rows: np.ndarray, preparation: Preparation | None, made: dict
) -> Contributions:
    """An approximation: what changes when one feature is set to its training mean."""
    middle = reference_input(model)
    of, features = "feature", np.arange(model.n_features)
    place, n_parts = features, len(features)
    if preparation is not None:
        of, place = "column", preparation.column_of_feature
        n_parts = len(preparation.inputs)
    changed = np.repeat(rows, n_parts, axis=0)
    changed[place, features] = middle
    scores = model.scores(changed)
    lead = scores[:, made["winner"]]
    if model.classes is not None:
        lead = lead - scores[:, made["runner_up"]]
    parts = made["lead"] - lead
    what = "prediction" if model.classes is None else "lead"
    words = (
        f"An approximation: decrease of the {what} when only this {of} is set to its "
        "training mean (0 or 1: to 0.5). The contributions need not sum to the total."
    )
    rest = made["lead"] - float(parts.sum())
    return Contributions(of=of, parts=parts, rest=rest, exact=False, rule=words, **made)
