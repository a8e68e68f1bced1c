"""Columns of age and sex, found by their names in several languages or by values."""

from __future__ import annotations

import re
import unicodedata

from smpcore.datasets.inputs import Input

#: Nobody is older; a column of the sex has two levels, and perhaps two for the rest.
_OLDEST, _MOST_LEVELS = 130, 4


def _words(text: str) -> frozenset[str]:
    """The words of a text in small letters without accents."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    letters = unicodedata.normalize("NFKD", text).casefold()
    bare = "".join(one for one in letters if not unicodedata.combining(one))
    return frozenset(re.findall(r"[^\W\d_]+", bare))


_AGE = _words(
    "age alter lebensalter edad idade età leeftijd alder ålder ikä wiek věk életkor "
    "vârstă yaş возраст ηλικία 年龄 年齢 年齡 나이 연령"
)
_SEX = _words(
    "sex gender geschlecht sexe genre sexo género sesso genere geslacht kön kjønn køn "
    "płeć pohlaví cinsiyet sukupuoli пол φύλο 性别 性別 성별"
)
_LEVELS = tuple(
    map(
        _words,
        (
            *("m f", "m w", "m v", "h f", "h m", "male female", "man woman"),
            *("mann frau", "männlich weiblich", "man vrouw", "man kvinna"),
            *("mand kvinde", "homme femme", "masculin féminin", "hombre mujer"),
            *("masculino femenino", "masculino feminino", "homem mulher"),
            *("maschio femmina", "uomo donna", "男 女", "м ж"),
        ),
    )
)


def is_personal(column: Input) -> bool:
    """Whether a column looks like an age or a sex, which nobody can change."""
    name = _words(column.name)
    if column.kind == "number" and name & _AGE:
        return column.low >= 0 and column.high <= _OLDEST
    if column.kind == "text" or len(column.levels) > _MOST_LEVELS:
        return False
    levels = _words(" ".join(column.levels))
    return bool(name & _SEX) or any(pair <= levels for pair in _LEVELS)
