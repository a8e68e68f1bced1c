"""Every page in many states, line by line, as it was when somebody looked at it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from smpcore import load_dataset
from tests.app import (
    bring,
    brought,
    calibrated,
    kernels,
    opened,
    sound,
    swept,
    until,
)
from tests.shown import oracle
from tests.shown.looked_at import Watched, differs
from tests.smpcore.datasets.test_time_to_event import followed

pytestmark = pytest.mark.usefixtures(kernels.__name__)
LOOKS = Path(__file__).parent / "looks"


def settled(page):
    """What was begun has ended."""
    return until(page, lambda page: not page.get("progress"), seconds=120)


def pressed(key: str) -> Callable:
    return lambda page: settled(sound(page.button(key=key).click().run()))


def new_rows(page):
    frame = load_dataset("iris").frame.iloc[::3]
    frame = frame.assign(**{frame.columns[0]: frame.iloc[:, 0] + 1e-3})
    return settled(bring(page, frame.to_csv(index=False), "new.csv"))


class Look(NamedTuple):
    """A state of a page.

    Parameters
    ----------
    page : str
    query : str
        Of the address, as ``name=value`` with ``&`` between.
    section : str
    acts : tuple of callable
        What is done there; each takes the page and returns it.
    table : str
        An own table of `oracle` in place of bundled data.
    """

    page: str
    query: str = ""
    section: str = ""
    acts: tuple[Callable, ...] = ()
    table: str = ""

    @property
    def name(self) -> str:
        """Of its file."""
        acts = "".join(f" {place}" for place in range(1, len(self.acts)))
        words = f"{self.page} {self.section} {self.table} {self.query}{acts}"
        return " ".join(words.replace("&", " ").replace("=", "-").split()).lower()


#: A split of its own, and one to calibrate on: calibrations stay behind.
OWN, CALIBRATED = "&seed=917", "&seed=918"
LOOKED_AT = [
    *(
        Look("explore", f"data={data}&method={key}")
        for data, key in (
            *(("moons&d.n_samples=60", "imkpl"), ("iris", "smp"), ("digits", "smp")),
            *(("breast_cancer", "smallk"), ("wine", "mprotsvm"), ("series", "smallk")),
            *(("sine", "supersparse"), ("words", "supersparse")),
            # One prototype: more of them are not the same on every processor.
            ("diabetes&n_prototypes=1", "supersparse"),
        )
    ),
    Look("explore", "method=smp", table="clinic"),
    Look("explore", f"data=breast_cancer&method=smp{OWN}", acts=(pressed("pin"),)),
    *(
        Look("data", f"data={name}")
        for name in ("moons", "digits", "series", "words", "similarities", "diabetes")
    ),
    Look("data", table="clinic"),
    Look("data", table="followed"),
    *(
        Look("prototypes", f"data={data}&method={method}", section)
        for section in ("All", "One by one", "Rule in words", "Why this prediction")
        for data, method in (
            *(
                ("breast_cancer", "smp"),
                ("iris", "smallk"),
                ("diabetes&n_prototypes=1", "supersparse"),
            ),
            *(("digits", "mprotsvm"), ("iris", "imkpl")),
        )
        # A map of digits may have been laid out by another test, or not.
        if data != "digits" or section in ("All", "One by one")
    ),
    Look("prototypes", "data=similarities&method=imkpl", "All"),
    Look("prototypes", "data=series&method=smp", "One by one"),
    Look("prototypes", "data=words&method=supersparse", "Why this prediction"),
    Look("prototypes", "data=wine&method=mprotsvm", "Why this prediction"),
    Look("prototypes", "method=smp", "Why this prediction", table="clinic"),
    Look("prototypes", "method=smallk", "Rule in words", table="clinic"),
    *(
        Look("prototypes", "data=iris&method=smp", section)
        for section in ("Stability", "Report")
    ),
    *(
        Look("performance", query + (CALIBRATED if acts else OWN), section, acts)
        for query, sections in {
            "data=breast_cancer&method=smp": {
                "Confusion": (),
                "Threshold": (),
                "Probabilities": (calibrated,),
                "Subgroups": (),
            },
            "data=iris&method=mprotsvm": {
                "Confusion": (),
                "Probabilities": (calibrated,),
                "Subgroups": (),
            },
            "data=diabetes&method=supersparse&n_prototypes=1": {
                "Errors": (),
                "Intervals": (calibrated,),
                "Subgroups": (),
            },
        }.items()
        for section, acts in sections.items()
    ),
    *(
        Look("performance", f"method=smp{OWN}", section, table="clinic")
        for section in ("Confusion", "Threshold", "Subgroups")
    ),
    Look("compare", "data=moons&method=smp", acts=(settled,)),
    Look("compare", "data=diabetes&method=supersparse&n_prototypes=1", acts=(settled,)),
    Look("tradeoff", "data=iris&method=smp", acts=(swept,)),
    Look("tradeoff", "data=diabetes&method=supersparse&n_prototypes=1", acts=(swept,)),
    Look("apply", "data=iris&method=smp"),
    Look("apply", "data=iris&method=smp", acts=(new_rows, settled)),
    *(
        Look("export", f"data={data}&method={key}")
        for data, key in (
            *(
                ("breast_cancer", "smp"),
                ("iris", "imkpl"),
                ("diabetes&n_prototypes=1", "supersparse"),
            ),
            *(("series", "smallk"), ("words", "supersparse")),
        )
    ),
    Look("export", "method=smp", table="clinic"),
    Look("lessons"),
    Look("papers"),
    Look("guide"),
]


def visited(look: Look):
    query = dict(one.split("=") for one in look.query.split("&") if one)
    if look.table == "followed":
        query |= brought(followed())
    elif look.table:
        query |= brought(oracle.table(look.table))
    page = opened(query, f"{look.page}.py", look.section)
    for act in look.acts:
        page = act(page)
    return page


@pytest.mark.parametrize("look", LOOKED_AT, ids=lambda look: look.name)
def test_a_page_is_as_it_was_looked_at(look, monkeypatch):
    watched = Watched(monkeypatch)
    visited(look)
    lines, file = watched.lines(), LOOKS / f"{look.name}.txt"
    if os.environ.get("LOOKS") == "write":
        file.write_text("\n".join(lines) + "\n", "utf-8")
    before = file.read_text("utf-8").splitlines()
    other = [pair for pair in zip(lines, before, strict=False) if differs(*pair)]
    assert other[:3] == []
    assert len(lines) == len(before)


def test_every_file_is_of_a_state():
    assert {path.stem for path in LOOKS.iterdir()} == {look.name for look in LOOKED_AT}
