"""Series: files of samples that have several channels of values in time.

A .ts file has a sample per line, its channels one after the other; a text table, a row
per sample and time, or a row per series. Each becomes a table with a row per sample,
channel beside channel.
"""

import re
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple, NoReturn

import numpy as np
import pandas as pd

from smpcore.datasets.cells import parse_cell
from smpcore.datasets.columns import (
    as_text,
    canonical_columns,
    cells,
    is_numeric,
    parsed_numbers,
)
from smpcore.datasets.display_names import listed, plural, shown, with_rest
from smpcore.datasets.limits import MAX_BYTES, MAX_SERIES_BYTES, check_bytes, check_size
from smpcore.datasets.reading import FileTable, Reading, ReadingOptions
from smpcore.datasets.text import as_utf8, count_line_ends, first_word, lines
from smpcore.errors import DatasetError

#: A row for each sample, its channels and times, and what was changed.
Table = tuple[pd.DataFrame, tuple[int, int], list[str]]
_TAGS = (
    *("@problemname", "@timestamps", "@missing", "@univariate", "@dimension"),
    *("@dimensions", "@equallength", "@serieslength", "@classlabel", "@targetlabel"),
)


_COMMENTS = (b"#", b"%")
#: Values of a series that is given a length.
MAX_TIMES = 10_000


class _Header(NamedTuple):
    """What a .ts file says about itself; None where it says nothing."""

    n_channels: int | None
    n_times: int | None
    equal: bool
    numbers: bool
    labels: dict[str | float, str]
    stamped: bool


def is_ts(data: bytes) -> bool:
    """Whether a file begins like a .ts file."""
    return first_word(data, _COMMENTS).decode(errors="replace") in _TAGS


def read_ts(source: BinaryIO, options: ReadingOptions) -> FileTable:
    """Read a .ts file of series, equally long or not, line by line if it is large."""
    _check_times(options.n_times)
    size = source.seek(0, 2)
    check_bytes(size, MAX_SERIES_BYTES)
    source.seek(0)
    encoding, read = "utf-8", _lines_of(source)
    if size <= MAX_BYTES:
        text, encoding = as_utf8(source.read(), options.encoding)
        check_size(count_line_ends(text), 1)
        read = lines(text)
    numbered = enumerate(read, start=1)
    header = _header(numbered)
    series, labels, lengths, n_values = [], [], [], 0
    names: dict[str | float, str | float] = {}  # so that equal labels are kept once
    uneven = 0
    for number, line in numbered:
        line = line.strip()
        if not line or line.startswith(_COMMENTS):
            continue
        channels, label = _sample(line, number, header)
        header = header._replace(n_channels=len(channels))
        longest = max(channel.size for channel in channels)
        uneven += any(c.size != longest and not np.isnan(c).all() for c in channels)
        sample = np.concatenate([_resampled(c[None], longest) for c in channels])
        sample = without_end(sample)
        lengths.append(sample.shape[1])
        if options.n_times:
            sample = _resampled(sample, options.n_times)
        n_values += sample.size
        check_size(len(series) + 1, 1 + n_values // (len(series) + 1))
        series.append(sample)
        labels.append(names.setdefault(label, label))
    if not series:
        raise DatasetError(
            "The .ts file has no series after its @data line; choose a whole file."
        )
    channels = [f"c{number}" for number in range(1, header.n_channels + 1)]
    column = pd.Series(labels, dtype=np.float64 if header.numbers else "str")
    column = column.rename("target" if header.numbers else "class")
    frame, shape, notices = side_by_side(
        series, channels, column, options.n_times, lengths
    )
    if uneven:
        notices.append(
            f"The channels of {uneven:,} series have different lengths: taken as the "
            "same span of time, shorter ones were resampled linearly to the longest."
        )
    reading = Reading("ts", encoding=encoding, n_times=options.n_times)
    return FileTable(frame, reading, notices, shape)


def _lines_of(source: BinaryIO) -> Iterator[bytes]:
    """Lines of a file that is not read as a whole."""
    while line := source.readline(MAX_BYTES):
        yield as_utf8(line, "utf-8")[0]


def without_end(sample: np.ndarray) -> np.ndarray:
    """A series up to the last time that any channel has a value for."""
    known = np.flatnonzero(~np.isnan(sample).all(axis=0))
    return sample[:, : known[-1] + 1] if known.size else sample


def _header(numbered: Iterator[tuple[int, bytes]]) -> _Header:
    """What stands before @data; the lines up to it are taken."""
    tags: dict[str, tuple[int, list[str]]] = {}
    for number, line in numbered:
        words = line.decode().split(None, MAX_TIMES)
        if not words or line.lstrip().startswith(_COMMENTS):
            continue
        tag = words[0].lower()
        if re.match(r"@data\b", tag):
            return _checked(tags)
        if not tag.startswith("@"):
            raise DatasetError(
                f"Line {number} of the .ts file ({shown(line.decode().strip())}) "
                "should begin with @ or #, because it stands before @data; correct "
                "that line."
            )
        if tag in _TAGS:
            tags[tag.replace("@dimensions", "@dimension")] = number, words[1:]
    raise DatasetError(
        "The .ts file has no @data line, it seems to be cut off; fetch it again."
    )


def _checked(tags: dict[str, tuple[int, list[str]]]) -> _Header:
    numbers = _flag(tags, "@targetlabel")
    if not numbers and not _flag(tags, "@classlabel"):
        raise DatasetError(
            "The .ts file has no line '@classLabel true', so its series have no labels "
            "to predict; add that line with the names of the classes before @data."
        )
    n_channels = _count(tags, "@dimension")
    if n_channels is None and _flag(tags, "@univariate"):
        n_channels = 1
    words = [] if numbers else tags["@classlabel"][1][1:]
    # A label 1.0 is the class 1.
    names = {parse_cell(word): word for word in words} | {w: w for w in words}
    equal = _flag(tags, "@equallength")
    n_times, stamped = _count(tags, "@serieslength"), _flag(tags, "@timestamps")
    return _Header(n_channels, n_times, equal, numbers, names, stamped)


def _flag(tags: dict[str, tuple[int, list[str]]], tag: str) -> bool:
    number, words = tags.get(tag, (0, ["false"]))
    word = words[0].lower() if words else ""
    if word not in ("true", "false"):
        raise DatasetError(
            f"Line {number} of the .ts file should have true or false after {tag}; "
            "correct that line."
        )
    return word == "true"


def _count(tags: dict[str, tuple[int, list[str]]], tag: str) -> int | None:
    if tag not in tags:
        return None
    number, words = tags[tag]
    if len(words) != 1 or not re.fullmatch("[1-9][0-9]{0,8}", words[0]):
        raise DatasetError(
            f"Line {number} of the .ts file should have a whole number from 1 after "
            f"{tag}; correct that line."
        )
    return int(words[0])


def _sample(
    text: bytes, number: int, header: _Header
) -> tuple[list[np.ndarray], str | float]:
    """Values of each channel, and label of a line."""
    # Counted before they are cut apart: one long line would become millions of texts.
    check_size(1, text.count(b",") + text.count(b":") + 1)
    # Dates within time stamps have colons.
    cut = r":(?![^()]{0,40}\))" if header.stamped else ":"
    parts = re.split(cut, text.decode())
    n_channels = header.n_channels or len(parts) - 1
    label = parts[-1].strip()
    unlabelled = len(parts) == n_channels and ("," in label or n_channels == 1)
    if not n_channels or unlabelled or label in ("", "?"):
        _refuse(number, "has no label at its end")
    if len(parts) != n_channels + 1:
        _refuse(
            number,
            f"has {plural(len(parts), 'part')} between colons and should have "
            f"{n_channels + 1}, {plural(n_channels, 'channel')} and a label",
        )
    if header.stamped:
        parts[:-1] = [_without_stamps(part, number) for part in parts[:-1]]
    channels = [_values(part, number, j) for j, part in enumerate(parts[:-1], 1)]
    expected = header.n_times or channels[0].size
    for j, channel in enumerate(channels, start=1):
        known = channel.size > 1 or not np.isnan(channel).all()  # ? alone is no value
        if header.equal and known and channel.size != expected:
            source = "@seriesLength says" if header.n_times else "channel 1"
            _refuse(
                number,
                f"has {plural(channel.size, 'value')} in channel {j} and should have "
                f"{expected}, as {source}",
            )
    if header.labels:
        name = header.labels.get(label) or header.labels.get(parse_cell(label))
        if name is None:
            _refuse(
                number,
                f"has the label {shown(label)}, which @classLabel does not name "
                f"({listed(dict.fromkeys(header.labels.values()))})",
            )
        label = name
    return channels, _target(label, number) if header.numbers else label


def _refuse(number: int, words: str) -> NoReturn:
    raise DatasetError(
        f"Line {number} of the .ts file {words}; correct that line, or fetch the file "
        "again if it is cut off."
    )


def _without_stamps(part: str, number: int) -> str:
    """Values of (time,value) pairs whose times are equally spaced."""
    pairs = re.findall(r"\(([^(),]*),([^(),]*)\)", part)
    times = np.array([parse_cell(time) for time, _ in pairs])
    if np.isnan(times).any():
        dates = pd.to_datetime([time for time, _ in pairs], "coerce", format="ISO8601")
        times = np.where(dates.isna(), np.nan, dates.as_unit("us").asi8)
    steps = np.diff(times)
    if not pairs or np.isnan(times).any() or not np.allclose(steps, steps[:1]):
        _refuse(
            number,
            "has time stamps that are no equally spaced numbers or dates; save the "
            "values alone, or a long CSV table",
        )
    return ",".join(value for _, value in pairs)


def _values(part: str, number: int, channel: int) -> np.ndarray:
    fields = [field.strip() for field in part.split(",")]
    if not part.strip("0123456789+-.eE, "):  # as `parse_cell`, all at once
        try:
            return np.array(fields, dtype=np.float64)
        except ValueError:
            pass
    values = np.array([parse_cell(field) for field in fields])
    unread = [fields[at] for at in np.flatnonzero(np.isnan(values))]
    wrong = [field for field in unread if field.lower() not in ("?", "nan")]
    if not wrong:
        return values
    _refuse(
        number,
        f"has {shown(wrong[0])} in channel {channel}, which should hold numbers or '?'",
    )


def _target(label: str, number: int) -> float:
    value = parse_cell(label)
    if not np.isfinite(value):
        _refuse(number, f"has the label {shown(label)}, which should be a number")
    return value


def side_by_side(
    series: list[np.ndarray],
    channels: list[str],
    rest: pd.Series | pd.DataFrame,
    n_times: int | None = None,
    lengths: list[int] | None = None,
) -> Table:
    """Put series into one table, resampled to one length if they have several."""
    lengths = np.array(lengths or [sample.shape[1] for sample in series])
    _check_times(n_times)
    common = n_times or int(np.median(lengths))
    check_size(len(series), len(channels) * common + 1)
    X = np.empty((len(series), len(channels), common))
    series.reverse()  # each is given up as soon as it is copied
    for row in X:
        row[:] = _resampled(series.pop(), common)
    notices = []
    changed = int(np.count_nonzero(lengths != common))
    if changed:
        what = "the length asked for" if n_times else "the median length"
        notices.append(
            f"Series have {lengths.min():,} to {lengths.max():,} values in time: "
            f"{changed:,} of {len(X):,} were resampled linearly to {what}, "
            f"{common:,}."
        )
    frame = pd.DataFrame(X.reshape(len(X), -1), columns=cells(channels, common))
    frame = pd.concat([frame, canonical_columns(pd.DataFrame(rest))], axis=1)
    return frame, (len(channels), common), notices


def _check_times(n_times: int | None) -> None:
    whole = isinstance(n_times, int | np.integer) and not isinstance(n_times, bool)
    if n_times is not None and not (whole and 1 <= n_times <= MAX_TIMES):
        raise DatasetError(
            f"n_times={shown(n_times)} should be a whole number from 1 to "
            f"{MAX_TIMES:,}, or None for the median length."
        )


def _resampled(sample: np.ndarray, n_times: int) -> np.ndarray:
    """Values at evenly spaced times from the first to the last."""
    if sample.shape[1] == n_times:
        return sample
    old = np.arange(sample.shape[1])
    new = np.linspace(0, old[-1], n_times)
    return np.array([np.interp(new, old, channel) for channel in sample])


#: Values of one series lie in one range: spreads of columns differ by no more; of few
#: columns all do, and of so many the next value differs less than any other one.
_MOST_SPREAD, _MOST_OF_FEW, _MANY, _SMOOTH = 20.0, 3.0, 10, 0.8
_LABELS = re.compile(r"(?i)(class|target|labels?)")


def is_row_per_series(frame: pd.DataFrame) -> bool:
    """Whether a table without names is as those of the UCR archive.

    The first column holds whole numbers that repeat, the others numbers of one scale,
    and if they are many, each is near the one before it.
    """
    if frame.shape[1] < 4 or not all(is_numeric(frame[name]) for name in frame):
        return False
    label, X = frame.iloc[:, 0], frame.iloc[:, 1:].to_numpy(np.float64)
    last = X[:, -1][~np.isnan(X[:, -1])]
    whole = not (label % 1).any() and not label.isna().any()
    if not whole or not 2 <= label.nunique() <= len(label) / 2:
        return False
    spread, means = pd.DataFrame(X).std(), pd.DataFrame(X).mean()
    usual = spread.median()
    if X.shape[1] < _MANY:
        alike = max(spread.max(), np.ptp(means)) <= _MOST_OF_FEW * usual
    else:
        steps, any_steps = (
            np.nanmean(np.abs(np.diff(values, axis=1)))
            for values in (X, np.random.default_rng(0).permutation(X, axis=1))
        )
        alike = spread.max() <= _MOST_SPREAD * usual and steps <= _SMOOTH * any_steps
    return bool(alike and (last % 1).any())


def from_rows(frame: pd.DataFrame, n_times: int | None) -> Table:
    """Series of one channel, a row each: the label, then the values."""
    if texts := [name for name in frame.iloc[:, 1:] if not is_numeric(frame[name])]:
        raise DatasetError(
            f"Behind the label each row should hold the numbers of a series, there is "
            f"text in {listed(texts)}; correct it, or read the file as a table."
        )
    X = frame.iloc[:, 1:].to_numpy(np.float64)
    label = as_text(frame.iloc[:, 0]).rename("class")
    series = [without_end(row[None]) for row in X]
    frame, shape, notices = side_by_side(series, ["c1"], label, n_times)
    words = (
        "Without names, and with a label before numbers of one scale: each row is read "
        "as one series, as in the UCR archive; choose 0 rows of names to have a table."
    )
    return frame, shape, [words, *notices]


def from_long(
    frame: pd.DataFrame,
    lines: np.ndarray | None,
    n_times: int | None = None,
    roles: tuple[str, ...] | None = None,
) -> Table:
    """Turn a table with a row per sample and time into one with a row per sample."""
    sample, time, label = _roles_checked(roles or long_roles(list(frame)), list(frame))
    channels = [name for name in frame if name not in (sample, time, label)]
    word = "Row" if lines is None else "Line"
    lines = np.arange(1, len(frame) + 1) if lines is None else lines

    def where(rows: np.ndarray) -> str:
        return f"{word} {lines[rows[0]]}"

    for name in (sample, time, label):
        _require(frame[name].isna(), where, f"has nothing in the column {shown(name)}")
    X = np.empty((1 + len(channels), len(frame)))
    for row, name in zip(X, (time, *channels), strict=True):
        row[:] = parsed_numbers(frame[name])
        words = f"holds text in the column {shown(name)}, which should hold numbers"
        _require(np.isnan(row) & frame[name].notna(), where, words)
    codes, _ = pd.factorize(frame[sample])
    order = np.lexsort((X[0], codes))
    codes, (times, *values) = codes[order], X[:, order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    again = np.append(False, (codes[1:] == codes[:-1]) & (times[1:] == times[:-1]))
    labels, _ = pd.factorize(frame[label])
    first_labels = labels[order][starts][codes]
    for wrong, words in (
        (again, "has a time that its sample already has"),
        (
            labels[order] != first_labels,
            "has another label than its sample has elsewhere",
        ),
    ):
        bad = np.sort(order[wrong])
        name = shown(frame[sample].iloc[bad[0]]) if bad.size else ""
        _require(np.isin(np.arange(len(frame)), bad), where, f"{words} ({name})")
    series = np.split(np.array(values), starts[1:], axis=1)
    column = frame[label].iloc[order[starts]].reset_index(drop=True)
    return side_by_side(series, channels, column, n_times)


def long_roles(names: list[str]) -> tuple[str, str, str]:
    """Guess which columns of a long table are the sample, the time and the label.

    Parameters
    ----------
    names : list of str
        Names of all columns, in their order.

    Returns
    -------
    tuple of str
        The columns named "sample" and "time", and the one named class, target or
        label, else the last one.

    Raises
    ------
    DatasetError
        If no column is named "sample", or none "time".
    """
    by_name = {name.lower(): name for name in reversed(names)}
    absent = [name for name in ("sample", "time") if name not in by_name]
    if absent:
        raise DatasetError(
            f"A long table of series should have the columns 'sample' and 'time', it "
            f"has no {listed(absent)} among {listed(names)}; name them in its first "
            "line."
        )
    sample, time = by_name["sample"], by_name["time"]
    rest = [name for name in names if name not in (sample, time)]
    named = [name for name in rest if _LABELS.fullmatch(name)]
    return sample, time, (named or rest or [time])[-1]


def _roles_checked(roles: tuple[str, ...], names: list[str]) -> tuple[str, ...]:
    """The columns of sample, time and label, if they are three and leave a channel."""
    absent = [name for name in roles if name not in names]
    if absent:
        raise DatasetError(
            f"The long table of series has no column {listed(absent)}, it has "
            f"{listed(names)}; choose its columns of the sample, the time "
            "and the label."
        )
    rest = [name for name in names if name not in roles[:2]]
    if len(rest) < 2:
        raise DatasetError(
            f"A long table of series should have a channel and a label besides "
            f"{listed(roles[:2])}, it has {listed(rest) or 'nothing'}; add them."
        )
    if len(set(roles)) < 3:
        raise DatasetError(
            "The sample, the time and the label of a long table of series should be "
            f"three columns, {listed(roles)} are chosen; choose another."
        )
    return roles


def _require(
    wrong: np.ndarray | pd.Series, where: Callable[[np.ndarray], str], words: str
) -> None:
    rows = np.flatnonzero(wrong)
    if rows.size:
        raise DatasetError(
            f"{with_rest([where(rows)], rows.size - 1)} {words}; correct the table, or "
            "fetch it again if it is cut off."
        )
