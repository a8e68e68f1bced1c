"""Names and values of a table, clean, and short enough for a sentence."""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence


def shown(value: object, length: int = 40) -> str:
    """Quoted form of a value that came from a file, short enough for a sentence.

    Parameters
    ----------
    value : object
        What is quoted, as `str` writes it.
    length : int, default=40
        Most characters of it, see `shorten_name`.

    Returns
    -------
    str
    """
    return repr(shorten_name(value, length))


def shorten_name(name: object, most: int) -> str:
    """Cut a name to so many characters; of "column = level" the column is cut first.

    What is cut lies within: names of questions often differ at their end only.

    Parameters
    ----------
    name : object
        Name of a feature, as `str` writes it; a number with six digits.
    most : int
        Most characters, with the ellipsis.

    Returns
    -------
    str
    """
    text = plain_number(name, 6) if isinstance(name, float) else str(name)
    if len(text) <= most:
        return text
    column, sign, level = text.partition(" = ")
    room = most - len(sign + level) - 1
    if not sign or room < 1:
        column, sign, level, room = text, "", "", most - 1
    end = room // 3
    return f"{column[: room - end]}…{column[len(column) - end :]}{sign}{level}"


def listed(values: Iterable[object], most: int = 5) -> str:
    """Several quoted values for a sentence, the rest counted.

    Parameters
    ----------
    values : iterable of object
        What is quoted, each as `shown` writes it.
    most : int, default=5
        Most values that are written out.

    Returns
    -------
    str
    """
    values = list(values)
    return with_rest(map(shown, values[:most]), len(values) - most)


def list_names(names: Sequence[object], most: int = 5, longest: int = 50) -> str:
    """Names for a sentence, shortened, the rest counted.

    Parameters
    ----------
    names : sequence of object
        Names, as `str` writes them.
    most : int, default=5
        Most names that are written out.
    longest : int, default=50
        Most characters of each.

    Returns
    -------
    str
    """
    words = ", ".join(map(shorten_name, names[:most], itertools.repeat(longest)))
    rest = len(names) - most  # not by `with_rest`: a drag would take one more call
    return words if rest <= 0 else f"{words} and {rest:,} more"


def with_rest(words: Iterable[str], n_rest: int, between: str = ", ") -> str:
    """Words for a sentence, and how many there are besides."""
    text = between.join(words)
    return f"{text} and {n_rest:,} more" if n_rest > 0 else text


def plain_number(value: float, digits: int = 4, separator: str = "") -> str:
    """A number as people write it: 1745 and not 1.74e+03.

    Parameters
    ----------
    value : float
        The number; NaN and infinities are written as Python writes them.
    digits : int, default=4
        Significant digits; a number has more where it has more before its point.
    separator : {"", ","}
        Between thousands.

    Returns
    -------
    str
        With an exponent below 0.0001 and from 10¹⁵ on only.

    Examples
    --------
    >>> plain_number(1745.3), plain_number(-0.012345, 3), plain_number(2.0)
    ('1745', '-0.0123', '2')
    >>> plain_number(1745.3, separator=",")
    '1,745'
    """
    value = float(value)
    if not 1.0 <= abs(value) < 1e15:
        return f"{value + 0.0:.{digits}g}"
    before_the_point = len(f"{abs(value):.0f}")
    return f"{value:{separator}.{max(digits, before_the_point)}g}"


def plural(count: int, noun: str) -> str:
    """A count and its noun, which takes an s unless the count is 1.

    Parameters
    ----------
    count : int
        How many there are.
    noun : str
        What is counted, in the singular.

    Returns
    -------
    str
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


# A longer column name is a text, not a name.
MAX_NAME = 200
_LONGEST_ENDING = len(" (1000000)")


def clean_names(names: Iterable[object]) -> tuple[list[str], list[str]]:
    """Column names made text, non-empty, different and at most 200 characters long."""
    known = (None if name != name else name for name in names)  # NaN is none
    texts = ["" if name is None else str(name).strip() for name in known]
    cut = [name[:MAX_NAME] for name in texts]
    cleaned: dict[str, None] = {}
    taken = set(cut)
    counts: Counter[str] = Counter()  # of each beginning, so that none is tried again
    for number, name in enumerate(cut, start=1):
        unique = base = name or f"column {number}"
        beginning = base[: MAX_NAME - _LONGEST_ENDING]
        while unique in cleaned or (unique != name and unique in taken):
            counts[beginning] += 1
            ending = f" ({counts[beginning] + 1})"
            unique = base[: MAX_NAME - len(ending)] + ending
        cleaned[unique] = None
    notices = []
    if any(len(name) > MAX_NAME for name in texts):
        notices.append(f"Column names were cut to {MAX_NAME} characters.")
    changed = [new for old, new in zip(cut, cleaned, strict=True) if old != new]
    if changed:
        notices.append(f"Empty or repeated column names became {listed(changed)}.")
    return list(cleaned), notices
