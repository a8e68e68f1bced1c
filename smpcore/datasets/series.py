"""Series: files of samples that have several channels of values in time.

A .ts file has a sample per line, its channels one after the other. It becomes a table
with a row per sample, channel beside channel.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, NoReturn

import numpy as np
import pandas as pd

from smpcore.datasets.cells import parse_cell
from smpcore.datasets.columns import canonical_columns
from smpcore.datasets.display_names import listed, plural, shown
from smpcore.datasets.limits import (
    MAX_BYTES,
    MAX_SERIES_BYTES,
    check_bytes,
    check_size,
)
from smpcore.datasets.reading import FileTable, Reading, ReadingOptions
from smpcore.datasets.synthetic import cells
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
