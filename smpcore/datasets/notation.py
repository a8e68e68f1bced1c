"""How numbers and missing values are written: one grammar for readers and cleaning.

What a text such as 1,234 means is decided for a whole column, by `find_notations`: by
what leaves no doubt in any of its cells. Where nothing does, there are two notations,
and somebody has to choose.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from smpcore.datasets.cells import parse_cell
from smpcore.datasets.display_names import listed, shown

#: Cells that are missing values in any table.
MISSING_WORDS = (
    *("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "-nan"),
    *("null", "NULL", "Null", "#NULL!", "#NV", "#DIV/0!", "#VALUE!", "#REF!"),
)
#: Marks, small letters, that stand for a missing value where the others are numbers,
#: and words that may be a level of their own.
MARKS = frozenset("- -- – — . .. n/a na n.a. nil k.a. n/d s/d #n/a".split()) | {"k. a."}
_MISSING_WORDS = MARKS.union(
    "? nan null unknown unk missing undefined unspecified".split(),
    ["not available", "not known", "not recorded", "not applicable", "no data"],
    ["keine angabe", "not stated"],
)
_SAYS = re.compile(r"[^#]*\d|[^\W\d_]{2}")

#: A cell that holds a number, whatever the sign before its decimals.
NUMBER_CELL = re.compile(
    r"(?![$€£¥]000$)\(?[<>]?[-+−–]?[$€£¥]? ?[-+]?"
    r"(\d{1,3}([., '’\xa0\u202f]\d{3})+([.,]\d+)?|\d+([.,]\d*)?|[.,]\d+"
    r"|\d\d?(,\d\d)+,\d{3}(\.\d+)?)([eE][-+]?\d+)? ?[-%€*]?\)?|[-+]?inf(inity)?",
    re.IGNORECASE,
)
#: A bare number that leaves no doubt about the sign before its decimals; Arrow reads
#: the same expressions.
DECIMAL_COMMA = (
    r"[+-]?([1-9]\d{0,2}(\.\d{3})+,\d+|\d*,(\d{1,2}|\d{4,})|0?,\d{3}"
    r"|\d*,\d+[eE][+-]?\d+)"
)
DECIMAL_POINT = r"[+-]?(\d{1,3}(,\d{3})+\.\d+|\d*\.(\d{1,2}|\d{4,}))"
#: Numbers of a column in which decimal commas are the rule: 1,5  1.234,5  1.234  ,5
WITH_COMMA = r"^[+-]?(([1-9]\d{0,2}(\.\d{3})+|\d+)(,\d*)?|,\d+)([eE][+-]?\d+)?$"

_CURRENCY = (
    r"(?:(?:US|R|A|C|NZ|HK|S)?\$|[€£¥₹₽₩₺₴₦]|EUR|USD|GBP|CHF|JPY|INR|CNY|RMB|AUD|CAD"
    r"|SEK|NOK|DKK|PLN|CZK|HUF|BRL|ZAR|RUB|TRY|Rs\.?|kr\.?|Fr\.|zł)"
)
#: Words for so many digits behind a number; letters may be units instead.
_WORDS_OF_DIGITS = {
    **dict.fromkeys(("tsd", "thousand"), 3),
    **dict.fromkeys(("mn", "mln", "mio", "million", "millions", "millionen"), 6),
    **dict.fromkeys(("bn", "mrd", "billion", "billions", "milliarden"), 9),
    **{"lakh": 5, "crore": 7},
}
_DIGITS = {**_WORDS_OF_DIGITS, "k": 3, "m": 6, "b": 9}
_DIGITS_WORD = "(?:" + "|".join(sorted(_DIGITS, key=len, reverse=True)) + r")\b\.?"
_PREFIXES = {"n": -9, "µ": -6, "μ": -6, "m": -3, "c": -2, "": 0, "k": 3, "M": 6, "G": 9}
_SECONDS = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
    **dict.fromkeys(("wk", "week", "weeks"), 604800.0),
}
#: Unit -> what it measures, and its size. Months and years have no fixed one.
_UNITS = {unit: ("s", size) for unit, size in _SECONDS.items()} | {
    prefix + unit: (unit, float(f"1e{power}"))
    for unit in ("g", "m", "s", "l", "L", "B", "V", "A", "W", "Hz", "J", "Pa", "mol")
    for prefix, power in _PREFIXES.items()
}
_FOOTNOTE = r"(?:\s?(?:\*{1,3}|[†‡§¶]|\[\w{1,2}\]))?"
_BELOW_ZERO = re.compile(
    rf"\(([^+<>≤≥~−–-].*)\){_FOOTNOTE}|([^+<>≤≥~−–-].*) ?-{_FOOTNOTE}"
    r"|[−–-] ?([^+<>≤≥~−–-].*)"
)
#: How numbers are written with either sign before decimals: 1,234.5  1'234  1,23,456
#: 1.5e-3; a bound before it, a mark of a footnote behind.
_DRESSED = {
    sign: re.compile(
        rf"[<>≤≥~]?\s*(?:\+(?={_CURRENCY}))?({_CURRENCY})?\s*([+-]?(?:(?:"
        rf"[1-9]\d{{0,2}}([ {group}'’\u00a0\u2009\u202f])\d{{3}}(?:\3\d{{3}})*"
        rf"|[1-9]\d?(?:[{group}]\d\d)+[{group}]\d{{3}})(?:[{sign}]\d+)?"
        rf"|(?:\d+[{sign}]?\d*|[{sign}]\d+)(?:[eE][+−-]?\d+)?))\s*"
        rf"(?:((?i:{_DIGITS_WORD}))(?=\s?{_CURRENCY}))?\s?"
        rf"(%|‰|{_CURRENCY}|(?![xX][\dA-F]|[eE][+−-]?\d)(?:°|[^\W\d_])[\w/%·²³^-]{{0,11}}\.?)?"
        rf"{_FOOTNOTE}"
    )
    for sign, group in (".,", ",.")
}
#: Signs before decimals.
DECIMALS = tuple(_DRESSED)
_PAIR = re.compile(r"\s*(\d{1,5}(?:[.,]\d+)?)\s*/\s*(\d{1,5}(?:[.,]\d+)?)\s*")
_NO_NUMBER = float("nan"), ""
#: Different texts that are looked at, the share of them that must be numbers, and how
#: many units there may be.
_LOOKED_AT, _MOSTLY, _MOST_UNITS = 500, 0.8, 4


class Notation(NamedTuple):
    """How the numbers of a column are written.

    Parameters
    ----------
    decimal : {".", ",", ""}
        The sign before decimals; "": no number tells, and one that depends on it is
        none.
    unit : str
        Behind the numbers, or a currency before them.
    digits : bool
        Whether k, M, Mio, ... behind a number stand for zeros: 300k is 300,000. Beside
        a currency they always do.
    words : str
        What tells this notation from the other one that is possible; mostly empty.
    """

    decimal: str = "."
    unit: str = ""
    digits: bool = False
    words: str = ""


def is_missing_word(text: str) -> bool:
    """Whether a text says that there is no value."""
    return text.strip().casefold() in _MISSING_WORDS


def is_value(text: str) -> bool:
    """Whether a text says something: <5, 99+, high; not unknown, [c] or #DIV/0!."""
    return _SAYS.match(text.strip()) is not None and not is_missing_word(text)


def parse_number(text: str, notation: Notation) -> tuple[float, str]:
    """The number of a text such as 12 %, $1, 1,200 or 104 mmHg, and its unit."""
    if not notation.decimal:  # the same number with either sign
        each = [parse_number(text, notation._replace(decimal=d)) for d in DECIMALS]
        return each[0] if each[0] == each[1] else _NO_NUMBER
    text = text.strip()
    below_zero = _BELOW_ZERO.fullmatch(text)
    text = "".join(filter(None, below_zero.groups())) if below_zero else text
    match = _DRESSED[notation.decimal].fullmatch(text)
    if match is None or (below_zero and match[2][0] == "-"):
        return _NO_NUMBER
    before, number, _, word, after = match.groups()
    behind = n_digits(after or "") if before or notation.digits else 0  # €4.1M
    if before and after and not behind:
        return _NO_NUMBER
    bare = re.sub(rf"[^\deE{notation.decimal}+-]", "", number.replace("−", "-"))
    bare = bare.replace(notation.decimal, ".")
    value = float(Decimal(bare).scaleb(behind + n_digits(word or "")))
    unit = before or (after if after and not behind else "")
    return -value if below_zero else value, unit


def number_of(text: str, notation: Notation) -> tuple[float, str]:
    """The same, also where a cell can only be meant otherwise: 4,1 is no thousand."""
    value, unit = parse_number(text, notation)
    if value == value or not notation.decimal:
        return value, unit
    return parse_number(text, notation._replace(decimal=",."[notation.decimal == ","]))


def in_unit(value: float, its_unit: str, unit: str) -> float:
    """A number in another unit of the same sort; NaN: there is no way."""
    if its_unit in ("", unit):
        return value
    (sort, size), (wanted, of_wanted) = (
        _UNITS.get(one, (one, 1.0)) for one in (its_unit, unit)
    )
    return value * (size / of_wanted) if sort == wanted else float("nan")


def n_digits(unit: str) -> int:
    """How many digits a word behind a number stands for: 6 of M or Mio."""
    return _DIGITS.get(unit.casefold().rstrip("."), 0)


def parse_pair(text: str) -> tuple[float, float] | None:
    """Both numbers of a text such as 120/80; None: it is none."""
    match = _PAIR.fullmatch(text)
    if match is None:
        return None
    first, second = (float(one.replace(",", ".")) for one in match.groups())
    return first, second


def are_pairs(texts: Sequence[str]) -> bool:
    """Whether most texts are two numbers with a slash between them."""
    texts = [text for text in texts[:_LOOKED_AT] if is_value(text)]
    n = sum(parse_pair(text) is not None for text in texts)
    return 0 < _MOSTLY * len(texts) <= n


def are_dressed(texts: Sequence[str]) -> bool:
    """Whether most texts are numbers with a few units, and not all of them bare."""
    texts = [text for text in texts[:_LOOKED_AT] if text.strip(" ?-.")]
    units = [_unit(text) for text in texts]
    numbers = [t for t, unit in zip(texts, units, strict=True) if unit is not None]
    bare = all(parse_cell(text) == parse_cell(text) for text in numbers)
    few = len({*units} - {None}) <= _MOST_UNITS
    numbered = all(text.startswith("(") for text in texts)  # (1), (2): no sums
    return 0 < _MOSTLY * len(texts) <= len(numbers) and few and not (bare or numbered)


def _unit(text: str) -> str | None:
    """Unit of a number, whatever the sign before its decimals; None: it is none."""
    for sign in DECIMALS:
        number, unit = parse_number(text, Notation(sign))
        if number == number:
            return unit
    return None


def find_notations(texts: Sequence[str], known: str) -> tuple[list[Notation], str]:
    """Ways in which the numbers of a column may be written, or why there is none.

    Parameters
    ----------
    texts : sequence of str
        Different cells of the column, for which `are_dressed` holds.
    known : {".", ",", ""}
        The sign before decimals of other columns, or what the visitor has chosen.

    Returns
    -------
    list of Notation
        One; or two, if nothing in the column tells which of them is meant.
    str
        What hinders, as the end of a sentence, if there is none.
    """
    signs, hindrance = _signs(texts, known)
    if hindrance:
        return [], hindrance
    numbers = [number_of(text, Notation(signs[0])) for text in texts]
    units = sorted({unit for number, unit in numbers if number == number})
    named = [unit for unit in units if unit]
    sorts = {_UNITS.get(unit, (unit,))[0] for unit in named}
    if len(named) > 1 and len(sorts) == 1 and "" not in units:  # one in kg, one in g
        named = named[:1]
    letters = [unit for unit in named if n_digits(unit)] if named != ["m"] else []
    others = [unit for unit in named if unit not in letters]
    if len(others) > 1 or (others and letters):
        return [], f"they have several units, {listed(named)}; write them in one"
    if len(units) > 1 and others and others[0] in "%‰":  # beside 12 %, .12 is no .12 %
        return [], f"some are in {others[0]} and some are not; write them in one way"
    unit = next(iter(others), "")
    ways = [Notation("", unit, bool(letters))]
    is_word = any(one.casefold().rstrip(".") in _WORDS_OF_DIGITS for one in letters)
    if len(letters) == 1 and not is_word:
        letter, times = letters[0], f"{10 ** n_digits(letters[0]):,}"
        ways = [Notation("", "", True, f"{letter} stands for × {times}")]
        ways += [Notation("", letter, False, f"{letter} is a unit")]
    if len(signs) == 1:
        return [way._replace(decimal=signs[0]) for way in ways], ""
    if len(ways) > 1:
        return [], f"{letters[0]} may stand for zeros or be a unit; write them out"
    here = "." if any("." in text for text in texts) else ","
    sign_name = {".": "a point", ",": "a comma"}[here]
    return [
        ways[0]._replace(
            decimal=sign,
            words=f"{sign_name} stands before decimals"
            if sign == here
            else f"{sign_name} parts thousands",
        )
        for sign in signs
    ], ""


def _signs(texts: Sequence[str], known: str) -> tuple[list[str], str]:
    """Signs that may stand before decimals, empty if no number has one; or why not."""
    either = {
        text: tuple(parse_number(text, Notation(sign))[0] for sign in DECIMALS)
        for text in texts
    }
    point = [t for t, (one, other) in either.items() if one == one and other != other]
    comma = [t for t, (one, other) in either.items() if one != one and other == other]
    in_doubt = [both for both in either.values() if abs(both[0]) != abs(both[1])]
    in_doubt = [both for both in in_doubt if both[0] == both[0] and both[1] == both[1]]
    if point and comma and in_doubt:
        both = f"{shown(point[0])} has a decimal point, {shown(comma[0])} a comma"
        return [], f"{both}; write them in one way"
    if point or comma:
        return ["." if len(point) >= len(comma) else ","], ""
    if not in_doubt or known:
        return [known if in_doubt else ""], ""
    # Below 1000 without a sign and from 1000 on with one: it parts thousands.
    ungrouped = {abs(one) for one, other in either.values() if one == other}
    signs = {",."[abs(one) > abs(other)] for one, other in in_doubt}
    if len(signs) > 1:
        return [], "some have a point and some a comma; write them in one way"
    if max(ungrouped, default=0) < 1000:
        if len([number for number in ungrouped if number >= 100]) > 1:
            return [signs.pop()], ""
    return [*DECIMALS], ""
