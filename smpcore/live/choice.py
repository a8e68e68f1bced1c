"""What was chosen: a record that decides which model is on the screen.

It knows no data: `context.resolve` finds what follows from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from smpcore.datasets import Dataset, FollowUp, list_datasets, only_compared
from smpcore.methods import METHODS

BUNDLED = {info.key: info for info in list_datasets()}
#: What a choice of other data begins with: the question of their own target.
NO_QUESTION: dict[str, Any] = {
    "two_classes": False,
    "follow_up": None,
    "outcome": None,
}
#: In place of a bundled key: the viewer's own table.
MINE = "mine"


@dataclass(frozen=True)
class Choice:
    """Everything that decides which model is on the screen.

    Parameters
    ----------
    data : str
        A bundled key, `MINE`, or one that the host knows.
    two_classes : bool
        A number to predict is cut at its mean.
    follow_up : FollowUp or None
        A question of time to event, asked in place of the table's own target.
    outcome : str or None
        Of two classes the one that is the event. None: what the table proposes. Empty,
        as in links of before there was one: the rarer class, and a method's own class
        with prototypes.
    token, others : str, tuple of str
        Of the viewer's own table that is shown, and of those at hand.
    view : dict
        ``kind`` (of `view_kinds`), ``first``, ``second``, ``at`` (feature -> value).
    opened : dict
        Digest of a table -> how often its test part was opened.
    threshold, band : float
        Of a model of two classes: the margin of the second class (whichever is the
        outcome) from which on it is the answer, and how near to that the model is not
        sure.
    set_for, set_by : str
        `Context.key` of the only model that has these two; how they were chosen, in
        words, empty where a link or a file brought them.
    """

    data: str = "moons"
    data_values: dict[str, Any] = field(default_factory=dict)
    two_classes: bool = False
    follow_up: FollowUp | None = None
    outcome: str | None = ""
    token: str = ""
    others: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    validation: float = 0.2
    test: float = 0.2
    seed: int = 0
    method: str = next(iter(METHODS))
    values: dict[str, Any] = field(default_factory=dict)
    view: dict[str, Any] = field(default_factory=dict)
    open_test: bool = False
    opened: dict[str, int] = field(default_factory=dict)
    threshold: float = 0.0
    band: float = 0.0
    set_for: str = ""
    set_by: str = ""

    @property
    def user_tables(self) -> tuple[str, ...]:
        """Tokens of the viewer's own tables, the one shown last first."""
        return (self.token, *self.others) if self.token else self.others

    def with_outcome(self, label: str | None) -> Choice:
        """The choice with this class as the event, which methods take over."""
        params = METHODS[self.method].params
        classes = {param.name for param in params if param.scale == "class"}
        values = {name: v for name, v in self.values.items() if name not in classes}
        return replace(self, outcome=label, values=values)

    @property
    def source(self) -> tuple[str, str]:
        """Which data: of two tables of the viewer's own also which one."""
        return self.data, self.token if self.data == MINE else ""


#: What there is a picture of, in any data.
VIEW_KINDS = ("pca", "map", "axes", "curve")


def view_kinds(n_features: int, dataset: Dataset) -> dict[str, str]:
    """Pictures that there are of so many features of a table, with their names."""
    if only_compared(dataset):
        plane = {"pca": "main plane of the similarities"}
        kinds = plane | {"map": "map of all similarities"}
        return kinds if dataset.matrices else plane
    kinds = {}
    if n_features > 2:
        kinds["pca"] = "main plane (PCA)"
        kinds["map"] = "map of all features"
    if n_features > 1 or dataset.task == "classification":
        kinds["axes"] = "two features"
    if dataset.task == "regression":
        kinds["curve"] = "one feature"
    return kinds
