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
    read_times,
)
from smpcore.datasets.display_names import listed, plural, shown, with_rest
from smpcore.datasets.limits import MAX_BYTES, MAX_SERIES_BYTES, check_bytes, check_size
from smpcore.datasets.reading import (
    SECONDS,
    FileTable,
    Reading,
    ReadingOptions,
    TimeAxis,
)
from smpcore.datasets.text import as_utf8, count_line_ends, first_word, lines
from smpcore.errors import DatasetError


class Table(NamedTuple):
    """A row for each sample, its channels and times, and what was changed."""

    frame: pd.DataFrame
    shape: tuple[int, int]
    notices: list[str]
    time_axis: TimeAxis | None = None


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
    uneven, axis = 0, None
    for number, line in numbered:
        line = line.strip()
        if not line or line.startswith(_COMMENTS):
            continue
        channels, label = _sample(line, number, header)
        if header.stamped and axis is None:
            stamps, is_date = _stamps(line.decode(), number, channels[0].size)
            axis, _ = _time_axis("time", stamps, np.zeros(1, int), is_date)
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
    frame, shape, notices, axis = side_by_side(
        series, channels, column, options.n_times, lengths, axis
    )
    if uneven:
        notices.append(
            f"The channels of {uneven:,} series have different lengths: taken as the "
            "same span of time, shorter ones were resampled linearly to the longest."
        )
    reading = Reading("ts", encoding=encoding, n_times=options.n_times)
    return FileTable(frame, reading, notices, shape, time_axis=axis)


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
    pairs = _PAIRS.findall(part)
    times, _ = _stamps(part, number)
    steps = np.diff(times)
    if not pairs or np.isnan(times).any() or not np.allclose(steps, steps[:1]):
        _refuse(
            number,
            "has time stamps that are no equally spaced numbers or dates; save the "
            "values alone, or a long CSV table",
        )
    return ",".join(value for _, value in pairs)


_PAIRS = re.compile(r"\(([^(),]*),([^(),]*)\)")


def _stamps(part: str, number: int, most: int | None = None) -> tuple[np.ndarray, bool]:
    """Times of (time,value) pairs, of dates in microseconds, and if they are dates."""
    texts = [time for time, _ in _PAIRS.findall(part)[:most]]
    times = np.array([parse_cell(time) for time in texts])
    if not np.isnan(times).any():
        return times, False
    dates = pd.to_datetime(texts, "coerce", format="ISO8601")
    return np.where(dates.isna(), np.nan, dates.as_unit("us").asi8), True


#: A unit of time in the name of a column.
_UNIT_BEHIND = re.compile(rf"(?i)(.*?)[ _.(\[]+({'|'.join(SECONDS)})[)\]]?")


def _time_axis(
    name: str, times: np.ndarray, starts: np.ndarray, is_date: bool
) -> tuple[TimeAxis | None, list[str]]:
    """When values of series were taken, each from its start, and what is odd with it.

    Dates are in microseconds.
    """
    steps = np.delete(np.diff(times), starts[1:] - 1)
    if not steps.size:
        return None, []
    odd = (
        "Times are not evenly spaced: values are taken in their order, and the axis of "
        "time has their median step."
    )
    notices = [] if np.allclose(steps, np.median(steps), rtol=0.01) else [odd]
    step, first, unit = float(np.median(steps)), float(times[0]), ""
    is_common = bool((times[starts] == first).all())
    since = "" if is_common else " since the first value"
    if is_date:
        seconds = step / 1e6
        spans = [span for span in ("days", "h", "min") if SECONDS[span] <= seconds]
        unit = (spans or ["s"])[0]
        step, name = seconds / SECONDS[unit], "time"
        if is_common:
            since = f" since {pd.Timestamp(first, unit='us'):%Y-%m-%d %H:%M}"
    elif match := _UNIT_BEHIND.fullmatch(name[:200]):
        name, unit = match[1], match[2]
    first, step = first * (is_common and not is_date), float(f"{step:.12g}")
    return TimeAxis(first, step, unit, f"{name}{since}"), notices


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
    axis: TimeAxis | None = None,
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
    if axis is not None and changed and common > 1:
        step = axis.step * (float(np.median(lengths)) - 1) / (common - 1)
        axis = axis._replace(step=step, name=f"{axis.name}, of the median length")
    return Table(frame, (len(channels), common), notices, axis)


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
        alike = spread.max() <= _MOST_SPREAD * usual and _is_smooth(X)
    return bool(alike and (last % 1).any())


def _is_smooth(X: np.ndarray) -> bool:
    """Whether each value differs less from the next one than from any other."""
    steps, any_steps = (
        np.nanmean(np.abs(np.diff(values, axis=1)))
        for values in (X, np.random.default_rng(0).permutation(X, axis=1))
    )
    return bool(steps <= _SMOOTH * any_steps)


#: Fewer columns that are numbered are no series; channel, time and unit in their names.
_FEWEST_TIMES, _MOST_OTHERS = 8, 5
_TIMED = re.compile(r"(.*?)[ _.:-]*t?(\d+(?:\.\d+)?) ?_?(ms|s|min|h)?", re.DOTALL)
#: Names of the columns of sample and time in long tables, the surest first.
_SAMPLES = r"sample|series|.*[_ ]?id|subject|trial|recording|record|segment|case|unit"
_TIMES = r"time.*|t|.*[_ ]time|date.*|timestamp.*|step|frame|seconds?|ms|.*[_ ]date"


def _columns_in_time(frame: pd.DataFrame) -> dict[str, dict[tuple[float, str], str]]:
    """Of a table with a row per series: channel -> (time, unit) -> column.

    Empty if its columns are not numbered alike for all channels.
    """
    channels: dict[str, dict[tuple[float, str], str]] = {}
    for name in frame:
        match = _TIMED.fullmatch(str(name)[:200])
        if match and is_numeric(frame[name]):
            at = channels.setdefault(match[1] or "value", {})
            at[float(match[2]), match[3] or ""] = name
    channels = {c: at for c, at in channels.items() if len(at) >= _FEWEST_TIMES}
    times = {tuple(sorted(at)) for at in channels.values()}
    n_others = frame.shape[1] - sum(map(len, channels.values()))
    return channels if len(times) == 1 and 1 <= n_others <= _MOST_OTHERS else {}


def guess_series(frame: pd.DataFrame) -> str | tuple[str, str, str] | None:
    """How a table may be read as series, if its columns look like that.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        As it was read.

    Returns
    -------
    "wide", (str, str, str) or None
        What `ReadingOptions.series` takes: a row per series with a column for each
        channel and time, whose values are near the next ones; or the columns of
        sample, time and label, which is the same for all rows of a sample.
    """
    if channels := _columns_in_time(frame):
        some = frame.iloc[:500]
        parts = [some[[at[t] for t in sorted(at)]] for at in channels.values()]
        return (
            "wide" if all(_is_smooth(part.to_numpy(float)) for part in parts) else None
        )
    names = list(frame)
    for sample, time in (
        (a, b)
        for a in (n for n in names if re.fullmatch(_SAMPLES, n.lower()))
        for b in (n for n in names if re.fullmatch(_TIMES, n.lower()))
    ):
        of = [n for n in names if _CHANNEL.fullmatch(n)]
        keys = [sample, time, *(n for n in of if n != time)]
        n_samples = frame[sample].nunique()
        if sample == time or not 2 <= n_samples <= len(frame) / 3:
            continue
        if frame[keys].isna().any(axis=None) or frame.duplicated(keys).any():
            continue
        per_sample = frame.groupby(sample).nunique(dropna=False).max()
        steady = [n for n in names if n not in keys and per_sample[n] == 1]
        steady = [n for n in steady if 1 < frame[n].nunique() < n_samples] or steady
        named = [name for name in steady if _LABELS.fullmatch(name)]
        if steady and len(names) > len(keys) + 1:
            return sample, time, (named or steady)[-1]
    return None


def from_wide(frame: pd.DataFrame, n_times: int | None) -> Table:
    """Series in a row each, with a column for each channel and time, and a label."""
    channels = _columns_in_time(frame)
    if not channels:
        raise DatasetError(
            "A wide table of series should have the same times of each channel in the "
            "names of its columns (x_1, x_2, ...; y_1, y_2, ...), and a label; name "
            "them so, or read the file as a table."
        )
    stamps = sorted(next(iter(channels.values())))
    columns = [at[stamp] for at in channels.values() for stamp in stamps]
    X = frame[columns].to_numpy(np.float64).reshape(len(frame), len(channels), -1)
    rest = frame.drop(columns=columns)
    label = ([n for n in rest if _LABELS.fullmatch(str(n))] or list(rest))[-1]
    rest = rest[[*(n for n in rest if n != label), label]].reset_index(drop=True)
    times, units = np.array([t for t, _ in stamps]), {unit for _, unit in stamps}
    axis, notices = _time_axis("time", times, np.zeros(1, int), False)
    if len(units) == 1 and axis:
        axis = axis._replace(unit=units.pop())
    if axis and not axis.unit and axis.step == 1 and axis.first in (0, 1):
        axis = None  # columns that are counted
    series = [without_end(sample) for sample in X]
    made = side_by_side(series, list(channels), rest, n_times, axis=axis)
    return made._replace(notices=[*made.notices, *notices])


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
    frame, shape, notices, _ = side_by_side(series, ["c1"], label, n_times)
    words = (
        "Without names, and with a label before numbers of one scale: each row is read "
        "as one series, as in the UCR archive; choose 0 rows of names to have a table."
    )
    return Table(frame, shape, [words, *notices])


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
    stamps = read_times(frame[time])
    frame = frame.assign(**{time: stamps})
    frame, channels, lines = _channels_beside(frame, (sample, time, label), lines)
    X = np.empty((1 + len(channels), len(frame)))
    X[0] = frame[time]
    for row, name in zip(X[1:], channels, strict=True):
        row[:] = parsed_numbers(frame[name])
        words = f"holds text in the column {shown(name)}, which should hold numbers"
        _require(np.isnan(row) & frame[name].notna(), where, words)
    codes, _ = pd.factorize(frame[sample])
    order = np.lexsort((X[0], codes))
    codes, (times, *values) = codes[order], X[:, order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    _check_samples(frame[[sample, label]], order, codes, times, where)
    series = np.split(np.array(values), starts[1:], axis=1)
    column = frame[label].iloc[order[starts]].reset_index(drop=True)
    axis, notices = _time_axis(time, times, starts, stamps.dtype.kind == "i")
    made = side_by_side(series, channels, column, n_times, axis=axis)
    return made._replace(notices=[*made.notices, *notices])


def _check_samples(
    frame: pd.DataFrame,
    order: np.ndarray,
    codes: np.ndarray,
    times: np.ndarray,
    where: Callable[[np.ndarray], str],
) -> None:
    """Refuse a sample with a time twice, or with two labels."""
    again = np.append(False, (codes[1:] == codes[:-1]) & (times[1:] == times[:-1]))
    labels, _ = pd.factorize(frame.iloc[:, 1])
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    first_labels = labels[order][starts][codes]
    for wrong, words in (
        (again, "has a time that its sample already has"),
        (
            labels[order] != first_labels,
            "has another label than its sample has elsewhere",
        ),
    ):
        bad = np.sort(order[wrong])
        name = shown(frame.iloc[bad[0], 0]) if bad.size else ""
        _require(np.isin(np.arange(len(frame)), bad), where, f"{words} ({name})")


#: Names of a column that says which channel a row's only value is of.
_CHANNEL = re.compile(r"(?i)(channel|variable|sensor|axis|dim|dimension|signal)s?")


def _channels_beside(
    frame: pd.DataFrame, roles: tuple[str, ...], lines: np.ndarray
) -> tuple[pd.DataFrame, list[str], np.ndarray]:
    """Where a column names the channel of a row's value, a column for each channel."""
    channels = [name for name in frame if name not in roles]
    of = [n for n in channels if _CHANNEL.fullmatch(n) or not is_numeric(frame[n])]
    if len(channels) != 2 or not of or (len(of) > 1 and not _CHANNEL.fullmatch(of[0])):
        return frame, channels, lines
    (value,) = [name for name in channels if name != of[0]]
    if (
        not frame.duplicated(list(roles[:2])).any()
        or frame[of[0]].isna().any()
        or frame.duplicated([*roles[:2], of[0]]).any()
    ):
        return frame, channels, lines  # what is wrong is said of the table as it is
    places = frame.groupby(list(roles), sort=False).ngroup().to_numpy()
    _, first = np.unique(places, return_index=True)
    beside = frame.iloc[first][list(roles)].reset_index(drop=True)
    values, names = parsed_numbers(frame[value]), as_text(frame[of[0]])
    for name in names.unique():
        is_of = (names == name).to_numpy()
        column = np.full(len(first), np.nan)
        column[places[is_of]] = values[is_of]
        beside[name] = column
    return beside, list(names.unique()), lines[first]


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
