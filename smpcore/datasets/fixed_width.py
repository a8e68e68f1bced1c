"""Tables whose columns begin at the same place in each line."""

import re
from collections.abc import Sequence
from itertools import accumulate, pairwise

from smpcore.datasets.notation import NUMBER_CELL
from smpcore.datasets.text import lines

#: Lines that are looked at, at most, and that a table has, at least.
_LOOKED_AT, _FEWEST = 200, 4
_OTHER_SIGN = re.compile(r"[,;|\t]")


def find_widths(sample: str) -> tuple[int, ...]:
    """Widths of the columns of a text; empty if its cells are parted otherwise.

    Parameters
    ----------
    sample : str
        The first lines.

    Returns
    -------
    tuple of int
        Letters from the beginning of each column to that of the next; the last one
        goes on to the end of the line and has no number.
    """
    some = [line for line in sample.splitlines() if line.strip()][:_LOOKED_AT]
    n_parted = sum(_OTHER_SIGN.search(line) is not None for line in some)
    if len(some) < _FEWEST or 2 * n_parted > len(some):
        return ()
    longest = max(map(len, some))
    padded = [line.ljust(longest) for line in some]
    blank = [not "".join(letters).strip() for letters in zip(*padded, strict=True)]
    starts = [0, *(at for at in range(1, longest) if blank[at - 1] and not blank[at])]
    if blank[0]:
        del starts[1]  # the first column begins within
    # Where the first line has nothing, blanks within texts happen to be in one place.
    spans = pairwise([*starts, longest])
    starts = [start for start, end in spans if not start or some[0][start:end].strip()]
    widths = tuple(end - start for start, end in pairwise(starts))
    n_words = {len(line.split()) for line in some}
    if not widths or len(n_words) == 1:  # runs of blanks part as many cells everywhere
        return ()
    columns = zip(*(cells_at(line, widths) for line in some[1:]), strict=True)
    numbers = [all(map(NUMBER_CELL.fullmatch, column)) for column in columns]
    return widths if any(numbers) else ()


def cells_at(line: str, widths: Sequence[int]) -> list[str]:
    """The cells of a line, without the blanks around them.

    Parameters
    ----------
    line : str
        One line of the text.
    widths : sequence of int
        As `find_widths` returns them.

    Returns
    -------
    list of str
        One more than there are widths.
    """
    places = [0, *accumulate(widths), len(line)]
    return [line[start:end].strip() for start, end in pairwise(places)]


def with_tabs(text: bytes, widths: Sequence[int]) -> bytes:
    """A tab between the cells of each line, in place of blanks.

    Parameters
    ----------
    text : bytes
        The whole text in UTF-8.
    widths : sequence of int
        As `find_widths` returns them.

    Returns
    -------
    bytes
    """
    rows = (line.decode(errors="replace").replace("\t", " ") for line in lines(text))
    cut = ("\t".join(cells_at(row, widths)) if row.strip() else "" for row in rows)
    return b"\n".join(row.encode() for row in cut)
