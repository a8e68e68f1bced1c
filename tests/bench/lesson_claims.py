"""How often the lessons are right: ``python -m tests.bench.lesson_claims [FILE ...]``.

Each claim of a lesson's file and each answer that it marks is looked up in fits of 30
draws: other rows where the data are drawn, another division, another seed of the start.
Without files, the table of all lessons is written to `TABLE`.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

from pages.state import lesson_files, lesson_run
from pages.state.host import resolve
from pages.state.lesson_files import Lesson, Question, Step
from pages.work.fits import Fitted, measured
from smpcore.live import BUNDLED, Choice

TABLE = Path(__file__).with_name("lesson_claims.csv")
N_DRAWS = 30
COLUMNS = ("lesson", "step", "kind", "claim", "held", "of", "measured")


def _drawn(state: Mapping[str, str], draw: int) -> dict[str, str]:
    """The settings of a step, with other rows, another division and another start."""
    drawn = dict(state) | {"seed": str(int(state.get("seed", "0")) + draw)}
    data = BUNDLED[state.get("data", Choice.data)]
    if "seed" in (param.name for param in data.params):
        drawn["d.seed"] = str(int(state.get("d.seed", "0")) + draw)
    choice, _ = lesson_files.state_of(Step("x", "x", drawn), "draw")
    if "random_state" in (param.name for param in resolve(choice).params):
        drawn["random_state"] = str(draw)
    return drawn


@lru_cache(200)
def _fitted(state: tuple[tuple[str, str], ...]) -> Fitted:
    """The fit of some settings."""
    choice, removed = lesson_files.state_of(Step("x", "x", dict(state)), "draw")
    assert not removed, removed
    context = resolve(choice)
    fit = context.fit()
    while not fit.ready(60.0):
        fit.want()
    return Fitted(*context.request, fit.finished())


def _both(step: Step, then: Mapping[str, str] | None, draw: int) -> list[Fitted]:
    """The fits before and after of one draw of a step."""
    states = step.state or {}, {**(step.state or {}), **(then or {})}
    return [_fitted(tuple(sorted(_drawn(one, draw).items()))) for one in states]


def values_of(
    step: Step, then: Mapping[str, str] | None, draw: int
) -> lesson_files.Readouts:
    """Read-outs before and after, and their change, of one draw of a step."""
    before, after = (measured(one, str(step)) for one in _both(step, then, draw))
    change = {name: after[name] - before[name] for name in after}
    return {"before": before, "after": after, "change": change}


def _places(question: Question, step: Step, draw: int) -> list[list[float]]:
    """Where the prototypes are that a question asks for, in one draw."""
    fits = _both(step, question.then, draw)
    return lesson_run.places(question, *(one.estimator.model_ for one in fits))


def _range(values: list[float]) -> str:
    low, middle, high = np.percentile(values, (0, 50, 100))
    return f"{low:.4g} to {high:.4g}, median {middle:.4g}"


def _answered(step: Step) -> tuple[str, list[bool], str]:
    """The answer that a step marks, in which draws it is right, and what was measured.

    Right is what is right in the first draw, the one that the lesson shows.
    """
    question = step.question
    if question.point:
        places = [_places(question, step, draw) for draw in range(N_DRAWS)]
        away = [lesson_run.nearest(place, places[0]) for (place, *_) in places]
        x, y = places[0][0]
        held = [one <= question.point.within for one in away]
        return f"({x:.2f}, {y:.2f})", held, f"away: {_range(away)}"
    every = [values_of(step, question.then, draw) for draw in range(N_DRAWS)]
    if number := question.number:
        values = [one[number.of][number.measure] for one in every]
        held = [abs(one - values[0]) <= number.within + 1e-9 for one in values]
        return f"{values[0]:g}", held, _range(values)
    rights = [
        [i for i, one in enumerate(question.choices) if one.is_right(values)]
        for values in every
    ]
    (right,) = rights[0]
    return question.choices[right].text, [one == [right] for one in rights], ""


def _claims(step: Step) -> Iterator[tuple[str, str, list[bool], str]]:
    """Kind and text of what a step says, in which draws it held, and the numbers."""
    question = step.question
    then = (question and question.then) or {}
    if question:
        yield "answer", *_answered(step)
    for claim in step.claims or ():
        settings = then | (claim.then or {})
        every = [values_of(step, settings, draw) for draw in range(N_DRAWS)]
        held = [all(one.holds(values) for one in claim.when) for values in every]
        numbers = "; ".join(
            f"{one.of} of {one.measure}{f' less {one.minus}' if one.minus else ''}: "
            + _range([one.value(values) for values in every])
            for one in claim.when
        )
        yield "claim", claim.sentence, held, numbers


def rows_of(name: str, lesson: Lesson) -> list[dict[str, str]]:
    """The lines of the table about a lesson."""
    return [
        dict(
            zip(
                COLUMNS,
                (name, str(at), kind, text, str(sum(held)), str(len(held)), numbers),
                strict=True,
            )
        )
        for at, step in enumerate(lesson.steps, 1)
        for kind, text, held, numbers in _claims(step)
    ]


def stored() -> list[dict[str, str]]:
    """The table as it was written."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def main(names: list[str]) -> None:
    """Print how often everything held, and write the table of all lessons."""
    rows = []
    for path in sorted(lesson_files.HOME.glob("*.json")):
        if names and path.name not in names:
            continue
        lesson = lesson_files.read(path.read_bytes())
        for row in rows_of(path.name, lesson):
            rows.append(row)
            print(*row.values(), sep=" | ", flush=True)
    if not names:
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            table.writeheader()
            table.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
