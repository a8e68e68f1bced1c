"""Which column of a table is the one to predict, by its name, values and place."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from smpcore.datasets.columns import Kind, Task, is_numeric
from smpcore.datasets.display_names import shown

# Whole numbers may well name classes: with at most so many values, or with more if each
# has enough rows.
FEW_VALUES = 10
MORE_VALUES = 30
ROWS_PER_VALUE = 20
#: No column that lacks more of the rows is a target, unless somebody asks for it.
MOST_MISSING = 0.1
#: Nor is one named for its place that lacks more.
_MOST_GAPS = 0.5
#: Candidates that are named, and how near in score another one is as likely.
N_NAMED, _CLOSE = 3, 0.6

#: Words of names in a few languages, without accents and in small letters.
_TARGET = re.compile(
    r"class|classes|target|labels?|outcome|survived|species|diagnosis|diag|dx"
    r"|ziel(variable|grosse|wert)?|\w*klassen?|\w*diagnosen?"
    r"|ausgang|uberlebt|befund|etikett|cible|etiquette|diagnostic|espece"
    r"|clases?|objetivo|etiqueta|diagnosticos?|especie|desenlace|classi|etichetta"
    r"|diagnosi|esito|specie|classe|alvo|rotulo|desfecho|doel|uitkomst|soort"
    r"|klass|diagnos|utfall|art|klasa|cel|diagnoza|gatunek|класс|цель|диагноз|исход"
    r"|类别|标签|目标|诊断|クラス|ラベル"
)
_OFTEN_TARGET = re.compile(
    r"results?|status|groups?|quality|grade|rating|type|category|categories|churn(ed)?"
    r"|default|fraud|spam|risk|death|died|dead|deceased|alive|mortality|event|relapse"
    r"|recurrence|response|attrition|sentiment|exited|approved|purchased|subscribed"
    r"|disease|condition|defect|failure|fault|anomaly|readmitted|income|variety"
    r"|ergebnis|gruppe|kategorie|typ|verstorben|tod|ruckfall|kundigung|ausfall|betrug"
    r"|resultat|resultado|risultato|groupe|grupo|gruppo|deces|muerte|wynik|результат"
)
_ANY_TARGET = re.compile(
    rf"(?<![^\W\d_])({_TARGET.pattern}|{_OFTEN_TARGET.pattern}|y)(?![^\W\d_])"
)
_AMOUNT = re.compile(
    r"price|cost|costs|amount|value|sales|revenue|charges?|salary|income|pay|profit"
    r"|demand|consumption|yield|count|cnt|total|time|duration|days?|hours?|minutes?"
    r"|months?|weeks?|length|los|mpg|preis|kosten|betrag|wert|umsatz|gehalt|lohn|miete"
    r"|\w*(dauer|zeit|preis|kosten|betrag|verbrauch)|tage|stunden|minuten|monate|menge"
    r"|ertrag|anzahl|prix|cout|montant|duree|jours|precio|coste|importe|duracion|dias"
    r"|prezzo|costo|durata|giorni|preco|custo|prijs|duur|dagen|cena|koszt|czas|цена"
)
_FEATURE = re.compile(
    r"sex|gender|age|name|region|city|country|state|colou?r|date|year|month|day"
    r"|geschlecht|alter|stadt|land|farbe|jahr|sexe|sexo|sesso|pays|pais"
)
#: In wider tables not every number is ranked.
_MOST_RANKED = 80
#: Amounts with more values than this are numbers to predict, however few they are.
_MOST_OF_AMOUNT = 4
#: Scores of names, and what takes one whose rows would be lost behind all others.
_EXACT, _LIKELY, _LOSS = 4.0, 2.0, 20.0


class Candidate(NamedTuple):
    """A column that may be the one to predict.

    Parameters
    ----------
    name : str
        Of the column.
    reason : str
        What speaks for it, or against it, in a few words.
    score : float
        Higher is likelier.
    is_asked : bool
        Whether nobody should take it unasked: rows would be lost, or it is a number
        that is not called a target.
    is_lossy : bool
        Whether rows would be lost.
    """

    name: str
    reason: str
    score: float
    is_asked: bool
    is_lossy: bool = False


def rank_targets(frame: pd.DataFrame, kinds: Mapping[str, Kind]) -> list[Candidate]:
    """Rank columns as targets, likeliest first.

    Parameters
    ----------
    frame : DataFrame of shape (n_samples, n_columns)
        Columns that are no identifiers, dates or texts of hundreds of values.
    kinds : mapping of str to str
        "number" or "category" of each column.

    Returns
    -------
    list of Candidate
    """
    if (width := frame.shape[1]) > _MOST_RANKED:  # numbers amid so many are inputs
        names = zip(frame, _folded("\0".join(frame)).split("\0"), strict=True)
        ranked = [
            name
            for place, (name, text) in enumerate(names)
            if kinds[name] == "category"
            or place < _MOST_RANKED // 4
            or place >= width - _MOST_RANKED // 4
            or _ANY_TARGET.search(text)
        ]
        frame = frame[ranked]
    missing = frame.isna().mean()
    whole = list(frame.columns[missing <= MOST_MISSING])
    edges = dict.fromkeys(whole[:1], "first column")
    # Nobody takes one with gaps unasked, but where it stands speaks for it.
    with_gaps = list(frame.columns[missing <= _MOST_GAPS])
    edges |= dict.fromkeys(whole[-1:], "last full column")
    edges |= dict.fromkeys(with_gaps[-1:], "last column")
    names, ranked = {name.casefold() for name in frame}, []
    for name, column in reversed([*frame.items()]):
        is_classes = class_like(column, kinds[name])
        of_name = _of_name(name, kinds[name], is_classes)
        if name.casefold() == "y" and "x" in names and [name] != whole[-1:]:
            of_name = 0.0  # a place, beside x
        end = edges.get(name, "")
        is_amount = not is_classes and 0.0 < of_name < _EXACT
        if is_amount and not end.startswith("last"):
            of_name = 1.0
        score = of_name + _of_values(column, kinds[name], is_classes)
        score += 1.7 if end.startswith("last") else 0.5 * bool(end)
        score += 0.6 * (is_classes and bool(end))
        called = "a time or amount" if is_amount else "named like a target"
        reasons = [called] * (of_name >= _LIKELY) + [end] * bool(end)
        reasons.append(f"{column.nunique():,} classes" if is_classes else "a number")
        is_lossy = bool(missing[name] > MOST_MISSING)
        reasons += [f"no value in {missing[name]:.0%} of the rows"] * is_lossy
        is_asked = bool(is_lossy or (not is_classes and of_name < _EXACT))
        reason = ", ".join(reasons)
        ranked.append(
            Candidate(name, reason, score - _LOSS * is_lossy, is_asked, is_lossy)
        )
    return sorted(ranked, key=lambda one: -one.score)


def doubt_in_words(ranked: Sequence[Candidate]) -> str:
    """Say what else the target may be; empty: the first candidate is sure enough.

    Parameters
    ----------
    ranked : sequence of Candidate
        Likeliest first; the first of them is the target.

    Returns
    -------
    str
    """
    best, *others = ranked[:N_NAMED]
    close = [one for one in others if one.score > best.score - _CLOSE]
    lossy = [
        one for one in ranked[1:] if one.is_lossy and one.score + _LOSS > best.score
    ]
    if not (best.is_asked or close or lossy):
        return ""
    words = f"The target {shown(best.name)} is a guess ({best.reason})."
    others = list(dict.fromkeys([*lossy[:1], *others]))[: N_NAMED - 1]
    if others:
        rest = " or ".join(f"{shown(one.name)} ({one.reason})" for one in others)
        words += f" It may also be {rest}."
    return words


def is_named_so(name: str) -> bool:
    """Whether a column is called class, target, label, diagnosis or the like.

    Parameters
    ----------
    name : str

    Returns
    -------
    bool
    """
    return _of_name(name, "category", True) >= _EXACT


def _of_name(name: str, kind: Kind, is_classes: bool) -> float:
    """How much a name is that of a target."""
    words = name_words(name)
    text = "".join(words)
    if text == "y" or _TARGET.fullmatch(text):
        return _EXACT
    if kind == "number" and not is_classes:
        return 2.5 * any(map(_AMOUNT.fullmatch, words))
    if any(map(_TARGET.fullmatch, words)):
        return 3.0
    if words and _OFTEN_TARGET.fullmatch(words[-1]):
        return 3.0 - (len(words) > 1)
    return -2.0 * any(map(_FEATURE.fullmatch, words))


def name_words(name: str) -> list[str]:
    """Words of a name, without accents and in small letters.

    Parameters
    ----------
    name : str
        Of a column.

    Returns
    -------
    list of str
    """
    return re.findall(r"[^\W\d_]+", _folded(name[:200]))


def _folded(text: str) -> str:
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    folded = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFC", re.sub("[\u0300-\u036f]", "", folded))


def _of_values(column: pd.Series, kind: Kind, is_classes: bool) -> float:
    """How much the values of a column are classes, or can be predicted at all."""
    n_values, n = column.nunique(), column.count()
    if n_values < 2:
        return -3.0
    if not is_classes:
        return 0.0
    score = 2.5 if n_values == 2 else 2.0 if n_values <= MORE_VALUES else 0.0
    if kind == "number":
        score = 1.2 if n_values == 2 else 0.8 if n_values <= FEW_VALUES else 0.3
    return score - 1.5 * (n >= FEW_VALUES and n < 3 * n_values)


def class_like(column: pd.Series, kind: Kind) -> bool:
    """Whether a column could name classes: a category, or few whole numbers.

    Parameters
    ----------
    column : Series
    kind : {"number", "category"}

    Returns
    -------
    bool
    """
    if kind == "category":
        return True
    if not is_numeric(column):
        return False
    present = column.dropna()
    if not np.all(present == np.floor(present)):
        return False
    different = present.nunique()
    is_amount = any(map(_AMOUNT.fullmatch, name_words(str(column.name))))
    if is_amount and different > _MOST_OF_AMOUNT:
        return False
    if different > FEW_VALUES:
        return different <= min(MORE_VALUES, present.size // ROWS_PER_VALUE)
    return different <= max(2, present.size // 2)


def guess_task(column: pd.Series, kind: Kind) -> Task:
    """Return "classification" for a target that names classes, else "regression"."""
    return "classification" if class_like(column, kind) else "regression"
