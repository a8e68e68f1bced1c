"""Models with a code: prototypes that reconstruct an input together, and vote.

A `mixed` model gives the inner product s_j of the input and each prototype. The code
is the z >= 0 of `coder.sparse_codes` for these, and

    score of a class = (0 + vote z_1) + vote z_2 ...,  in the order z was found

where an input without any code gives the fallback class a score just above 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from smpcore.codegen.coder import Codes, sparse_codes
from smpcore.codegen.coder_bounds import code_bounds
from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.inputs import UNIT, to_float32
from smpcore.codegen.sizes import smallest
from smpcore.model import UNREPRESENTED

#: Rows that are searched for codes with pairs not seen yet.
_BLENDS = 2000


@dataclass(frozen=True, eq=False, kw_only=True)
class CodedRows(CompiledModel):
    """A model whose scores are the votes of a sparse code.

    Parameters
    ----------
    mixed : CompiledModel
        A class of its own for each prototype.
    code_size : int
        Most prototypes in a code.
    gram : ndarray of shape (n_prototypes, n_prototypes), float32
        Inner products of the prototypes, symmetric.
    votes : ndarray of shape (n_prototypes, n_outputs), float32
    """

    FLOATS = ("bias", "gram", "votes")
    SIMILARITIES = ("code",)

    similarity: str = "code"
    mixed: CompiledModel
    code_size: int
    gram: np.ndarray
    votes: np.ndarray

    @property
    def ARITHMETIC(self) -> str:
        """See `CompiledModel.ARITHMETIC`."""
        return (
            f"mixed: {self.mixed.ARITHMETIC}; code z >= 0 of at most code_size entries "
            "that minimises z' gram z / 2 - (scores of mixed)' z greedily; score of a "
            "class = sum of votes * z; answer: lowest class within tie of the largest"
        )

    @property
    def n_prototypes(self) -> int:
        """Prototypes that a code can hold."""
        return len(self.gram)

    @property
    def limit(self) -> int:
        """Most entries of a code."""
        return min(self.code_size, self.n_prototypes)

    @property
    def unrepresented(self) -> float:
        """See `PrototypeModel.unrepresented`."""
        return UNREPRESENTED + 2 * self.tie

    @property
    def start(self) -> np.ndarray:
        """Where the weights of each anchor begin, see the form of `mixed`."""
        return self.mixed.start

    @property
    def weight(self) -> np.ndarray:
        """Weights of the mixing."""
        return self.mixed.weight

    @property
    def n_terms(self) -> int:
        """Numbers of `mixed`, and of one half of `gram`."""
        return self.mixed.n_terms + self.n_prototypes * (self.n_prototypes + 1) // 2

    @property
    def code_bytes(self) -> dict[str, tuple[int, int]]:
        """See `CompiledModel.code_bytes`."""
        more = {"ATmega328P": (1700, 3900), "Cortex-M0": (600, 2400)}
        return {
            chip: (least + more[chip][0], most + more[chip][1])
            for chip, (least, most) in self.mixed.code_bytes.items()
        }

    @property
    def n_training_rows(self) -> int:
        """See `CompiledModel.n_training_rows`."""
        return self.mixed.n_training_rows

    @property
    def stack_bytes(self) -> int:
        """Arrays of `mixed`; similarity, slope and mark per prototype; the factor."""
        m, limit = self.n_prototypes, self.limit
        index = np.min_scalar_type(m).itemsize
        # Similarity sums count the sums of all prototypes themselves.
        sums = 4 * m if self.mixed.stack_bytes else 8 * m
        factor = 4 * (limit * (limit + 1) // 2)
        return self.mixed.stack_bytes + sums + m + (8 + index) * limit + factor

    @property
    def in_words(self) -> str:
        """What `mixed` is made of, and the code."""
        return f"Codes of at most {self.limit} of {self.mixed.in_words}"

    def codes(self, rows: np.ndarray) -> Codes:
        """Code of each row.

        Parameters
        ----------
        rows : ndarray of shape (n, n_inputs)

        Returns
        -------
        Codes
        """
        return sparse_codes(self.gram, self.mixed.row_scores(rows), self.limit)

    def row_scores(self, rows: np.ndarray) -> np.ndarray:
        """Votes of the codes, see `CompiledModel.row_scores`."""
        codes = self.codes(rows)
        scores = np.zeros((len(codes.size), self.n_outputs), dtype=np.float32)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for r in range(self.limit):
                own = codes.size > r
                share = self.votes[codes.support[own, r]]
                scores[own] += share * codes.amount[own, r, None]
        scores[codes.size == 0, self.fallback] = np.float32(self.unrepresented)
        return scores

    def row_bounds(self, rows: np.ndarray) -> np.ndarray:
        """Bound of the rounding, see `CompiledModel.row_bounds`.

        Infinite where rounding may change a choice of the search.
        """
        alike = self.mixed.row_scores(rows).astype(np.float64)
        off = self.mixed.row_bounds(rows)
        votes = np.abs(self.votes.astype(np.float64))
        amount, error = code_bounds(self.gram, alike, off, self.limit)
        certain = np.isfinite(error).all(axis=1)
        error = np.where(certain[:, None], error, 0.0)
        bound = (error + (self.limit + 3) * UNIT * (amount + error)) @ votes + 1e-16
        bound += 4 * UNIT * self.unrepresented  # of an input without a code
        return np.where(certain[:, None], bound, np.inf)

    def telling_rows(self, drawn: np.ndarray) -> Iterator[np.ndarray]:
        """Rows whose codes hold pairs of prototypes together that no earlier one did.

        An entry of `gram` shows in a score where both its prototypes are in a code. In
        between come the rows that tell of the numbers of `mixed`.
        """
        telling = list(self.mixed.telling_rows(drawn))
        pool = self._blends(np.vstack([telling, drawn]))
        active = self.active(pool)
        seen = np.zeros(self.gram.shape, dtype=bool)
        others = iter(telling)
        while True:
            new = np.einsum("ni,nj,ij->n", active, active, (~seen).astype(np.float32))
            best = int(new.argmax())
            if new[best] == 0:
                break
            seen |= np.outer(active[best], active[best]) > 0
            yield pool[best]
            if (row := next(others, None)) is not None:
                yield row
        yield from others

    def untold(self, rows: np.ndarray) -> str:
        """See `CompiledModel.untold`: pairs that are together in no code.

        Parameters
        ----------
        rows : ndarray of shape (n, n_inputs)

        Returns
        -------
        str
        """
        active = self.active(rows)
        together = (active.T @ active)[np.tril_indices(self.n_prototypes)] > 0
        apart = len(together) - int(together.sum())
        if not apart:
            return ""
        return (
            f"Of the {len(together)} products of prototypes {apart} stand for pairs "
            "that no test vector has in one code; the self-test may not notice where "
            "these change."
        )

    def active(self, rows: np.ndarray) -> np.ndarray:
        """Which prototypes are in the code of each row, 0 or 1.

        Parameters
        ----------
        rows : ndarray of shape (n, n_inputs)

        Returns
        -------
        ndarray of shape (n, n_prototypes), float32
        """
        codes = self.codes(rows)
        active = np.zeros((len(codes.size), self.n_prototypes), dtype=np.float32)
        for r in range(self.limit):
            own = np.flatnonzero(codes.size > r)
            active[own, codes.support[own, r]] = 1.0
        return active

    def _blends(self, rows: np.ndarray) -> np.ndarray:
        """Rows, and rows between two of them."""
        random = np.random.default_rng(0)
        left, right = random.integers(len(rows), size=(2, _BLENDS))
        share = random.uniform(size=(_BLENDS, 1))
        blends = rows[left] + share * (rows[right] - rows[left])
        fixed = [entry.kind == "category" for entry in self.inputs]
        blends[:, fixed] = rows[left][:, fixed]
        whole = [entry.integer for entry in self.inputs]
        blends[:, whole] = np.round(blends[:, whole])
        return to_float32(np.vstack([rows, blends])).astype(np.float64)

    def tables(self) -> dict[str, np.ndarray]:
        """The constants of generated code, see `CompiledModel.tables`.

        Returns
        -------
        dict of str to ndarray
            Those of `mixed`; ``gram``, row by row up to the diagonal; ``vote`` and its
            ``target`` class, up to ``until`` for each prototype.
        """
        tables = self.mixed.tables()
        of, target = np.nonzero(self.votes)
        tables["gram"] = self.gram[np.tril_indices(self.n_prototypes)]
        tables["vote"] = self.votes[of, target]
        until = np.searchsorted(of, np.arange(self.n_prototypes), side="right")
        indices = {"target": target, "until": until}
        tables.pop("owner")
        if not self.is_regression:
            indices["owner"] = self.owner
        return tables | {name: smallest(values) for name, values in indices.items()}

    def _form_rules(self) -> dict[str, bool]:
        m = self.mixed.n_rows
        return {
            "mixed should have the same inputs, and a row for each prototype": (
                self.mixed.inputs == self.inputs
                and np.array_equal(self.mixed.owner, np.arange(m))
            ),
            "gram should be symmetric, with a row for each prototype": (
                self.gram.shape == (m, m) and np.array_equal(self.gram, self.gram.T)
            ),
            "votes should have a number for each prototype and output": (
                self.votes.shape == (m, self.n_outputs) and bool(self.votes.any())
            ),
            "bias should be a number for each output": len(self.bias) == self.n_outputs,
            "code_size should be a whole number from 1 on": (
                type(self.code_size) is int and self.code_size >= 1
            ),
        }
