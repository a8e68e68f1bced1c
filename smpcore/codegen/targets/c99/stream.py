"""C of a model of series as a stream: a sample at a time, an answer when it is due.

A value is kept while some window still needs it. Those that come at the same time after
a hop, of one channel, take turns in a ring: as many as windows that wait for them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from smpcore.codegen.constants import smallest
from smpcore.codegen.inputs import CompiledInput, QuantInput, SensorRange, covered_range
from smpcore.codegen.names import identifier, shorten
from smpcore.codegen.targets.c99.common import (
    FLOAT_RULES,
    Source,
    c_type,
    head,
    preamble,
    unsigned,
)
from smpcore.codegen.targets.c99.source import (
    emit_c99,
    finished,
    input_names,
    input_ranges,
    note,
    quantise_source,
)
from smpcore.codegen.templates import filled, section
from smpcore.errors import ExportError

#: Most answers that debouncing looks back at, and that it waits after a change.
MOST_VOTES, MOST_HOLD = 31, 255


@dataclass(frozen=True)
class Stream:
    """How the samples of a series come, and when they are answered.

    Parameters
    ----------
    channels : tuple of str
        Names of the channels, in the order of a sample's values.
    columns : tuple of str
        Columns of the training table, channel beside channel: a row is a window.
    hop : int
        Samples from the begin of a window to that of the next, 1 to `n_times`.
    votes : int, default 1
        Debouncing, see `debounced`: last answers of which a class needs more than half.
    hold : int, default 0
        Answers after a change that change nothing.
    """

    channels: tuple[str, ...]
    columns: tuple[str, ...]
    hop: int
    votes: int = 1
    hold: int = 0
    #: Whether the header names each input: there are few.
    has_names: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 1 <= self.hop <= self.n_times:
            raise ExportError(
                f"hop={self.hop} should be from 1 to {self.n_times}, the samples of a "
                "window."
            )
        if not (1 <= self.votes <= MOST_VOTES and 0 <= self.hold <= MOST_HOLD):
            raise ExportError(
                f"votes={self.votes} should be from 1 to {MOST_VOTES}, and "
                f"hold={self.hold} from 0 to {MOST_HOLD} answers."
            )

    @property
    def facts(self) -> dict[str, Any]:
        """What to know of it before it is used: plain JSON values."""
        window = {"channels": [*self.channels], "window": self.n_times, "hop": self.hop}
        return {**window, "votes": self.votes, "hold": self.hold}

    @property
    def debounces(self) -> bool:
        """Whether single answers are told from those that stay."""
        return self.votes > 1 or self.hold > 0

    def debounced(self, classes: np.ndarray) -> np.ndarray:
        """Answers that change only where most of the last answers do.

        A class of more than half of the last `votes` answers, or of all where they are
        fewer, takes the place of the one before; not in the `hold` answers after such
        a change. The first answer counts at once.

        Parameters
        ----------
        classes : ndarray of shape (n_windows,)
            Class index of each window, as ``model.winners`` gives it.

        Returns
        -------
        ndarray of shape (n_windows,)
        """
        steady, held, answers = np.array(classes), 0, np.asarray(classes)
        for k in range(1, len(answers)):
            values, n = np.unique(
                answers[max(k + 1 - self.votes, 0) : k + 1], return_counts=True
            )
            winner = values[n.argmax()]
            changes = not held and 2 * n.max() > n.sum() and winner != steady[k - 1]
            steady[k] = winner if changes else steady[k - 1]
            held = self.hold if changes else max(held - 1, 0)
        return steady

    @property
    def n_times(self) -> int:
        """Samples of a window."""
        return len(self.columns) // len(self.channels)

    def places(self, model: Any) -> tuple[np.ndarray, np.ndarray]:
        """Channel and time of each input of a model."""
        names = {name: place for place, name in enumerate(self.columns)}
        try:
            known = [names[entry.name] for entry in model.source.inputs]
        except KeyError as error:
            raise ExportError(
                f"Input {shorten(error.args[0])} is no sample of a channel, so the "
                "model has no stream; export it without one."
            ) from None
        return np.divmod(known, self.n_times)

    def rings(self, model: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rings of samples, the ring of each input, and the length of each ring.

        The sample at time t of a window comes t % hop after a hop, with its channel in
        a ring of its own, which holds what came since the first time of an input.
        """
        channel, time = self.places(model)
        hops, after = np.divmod(time, self.hop)
        rings, ring = np.unique([after, channel], axis=1, return_inverse=True)
        first = np.full(rings.shape[1], self.n_times)
        np.minimum.at(first, ring, hops)
        return rings, ring, (self.n_times - 1 - rings[0]) // self.hop - first + 1

    def width(self, model: Any) -> int | None:
        """Bits of a sample's integers; None: it is floats."""
        return model.width if model.is_integer else None

    def window_inputs(self, model: Any, samples: np.ndarray) -> np.ndarray:
        """Inputs of the model, window by window, of samples as they are pushed."""
        channel, time = self.places(model)
        return samples[self.begins(len(samples)) + time, channel]

    def quantise(self, model: Any, samples: np.ndarray) -> np.ndarray:
        """Integers of samples, as the generated code makes them."""
        pairs = zip(self.samples(model), samples.T, strict=True)
        width = self.width(model)
        return np.column_stack([one.quantise(x, width) for one, x in pairs])

    def begins(self, n: int) -> np.ndarray:
        """Where the windows of n samples begin, as a column."""
        return np.arange(0, n - self.n_times + 1, self.hop)[:, None]

    def note(self, c: Source, one: CompiledInput | QuantInput) -> str:
        """Comment behind the name of a channel."""
        return note(c, one) if one.low < one.high else " /* not used */"

    def tables(self, model: Any) -> dict[str, np.ndarray]:
        """Which sample goes where, and where inputs are."""
        channel, time = self.places(model)
        if self.hop == self.n_times:  # windows share no sample: the ring is the inputs
            order = np.lexsort((channel, time))
            tables = {"time": time[order], "channel": channel[order], "input": order}
        else:
            rings, ring, lengths = self.rings(model)
            length, kind = np.unique(lengths, return_inverse=True)
            tables = {
                "time": rings[0],
                "channel": rings[1],
                "kind": kind,
                "length": length,
                "kind_of_input": kind[ring],
                "lag": self.n_times // self.hop - time // self.hop,
                "begin": (np.cumsum(lengths) - lengths)[ring],
            }
        return {name: smallest(table) for name, table in tables.items()}

    def code(self, c: Source, words: Mapping[str, Any]) -> tuple[str, str, str]:
        """What stands before the struct, its members, and the functions."""
        apart, lengths = self.hop == self.n_times, c.tables.get("length", [0])
        words = {
            **words,
            "apart": apart,
            "begin_wait": "" if apart else begin_wait(c),
            "time": unsigned(self.n_times),
            "slot": unsigned(2 * words["n_slots"]),
            "turn": unsigned(int(max(lengths))),
            "length_counter": unsigned(len(lengths)),
            "n_lengths": len(lengths),
            "n_queues": len(c.tables["time"]),
        }
        members = c.text("members", words, "stream.c")
        return "", members, c.text("code", words, "stream.c")

    def n_slots(self, model: Any) -> int:
        """Values that are kept: those that a window still needs."""
        return int(self.rings(model)[2].sum())

    def stack_bytes(self, model: Any) -> int:
        """Bytes of the arrays that an answer puts on the stack for its inputs."""
        is_ring = self.hop < self.n_times
        return is_ring * len(model.inputs) * model.types[0].itemsize

    def ranges(
        self, model: Any, ranges: Mapping[str, SensorRange]
    ) -> dict[str, SensorRange]:
        """One range for all times of a channel: a sample is made an integer once.

        Parameters
        ----------
        model : CompiledModel
            Model whose inputs are samples.
        ranges : mapping of str to SensorRange
            Ranges that their user has set.

        Returns
        -------
        dict of str to SensorRange
            For each input that which covers the ranges of its channel.
        """
        channel, _ = self.places(model)
        entries, together = np.array(model.inputs, object), {}
        for own in (entries[channel == c] for c in np.unique(channel)):
            given = [ranges.get(entry.name) for entry in own]
            low, high, whole = zip(*map(covered_range, own, given), strict=True)
            unit = next((one.unit for one in given if one and one.unit), "")
            one = SensorRange(min(low), max(high), all(whole), unit)
            together |= dict.fromkeys((entry.name for entry in own), one)
        return together

    def samples(self, model: Any) -> list[CompiledInput | QuantInput]:
        """Of each channel an input that stands for all its times; empty if unused."""
        of_inputs, _ = self.places(model)
        taken: set[str] = set()
        samples = []
        for c, name in enumerate(self.channels):
            own = [model.inputs[k] for k in np.flatnonzero(of_inputs == c)]
            names = {"name": name, "identifier": identifier(name, taken)}
            unused = CompiledInput(0, name, names["identifier"], "number", 0.0, 0.0)
            bare = [one.given for one in own] if model.is_integer else own
            bare = bare or [unused]
            low, high = min(e.low for e in bare), max(e.high for e in bare)
            bare = replace(bare[0], **names, low=low, high=high)
            if not model.is_integer:
                samples.append(bare)
                continue
            if len({(one.zero, one.per_unit) for one in own}) > 1:
                raise ExportError(
                    f"Channel {shorten(name)} has several ranges; quantise the model "
                    "with Stream.ranges."
                )
            first = own[0] if own else QuantInput(unused, 0.0, 0.0, exact=True)
            samples.append(replace(first, given=bare))
        return samples


def taken_type(model: Any, stream: Stream | None) -> np.dtype:
    """Type of an input, or of a value of a sample."""
    width = stream and stream.width(model)
    return np.dtype(f"int{width}") if width else model.types[0]


def needs_conversion(model: Any, stream: Stream | None = None) -> bool:
    """Whether a program has to turn floats into integers before it calls the model.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        Model in one number format.
    stream : Stream, optional
        How its samples come.

    Returns
    -------
    bool
    """
    if stream and stream.width(model):
        return not all(one.is_itself for one in stream.samples(model))
    return model.is_integer and model.converts


def emit_stream(model: Any, prefix: str, stream: Stream) -> dict[str, bytes]:
    """Write the files of a model, and those of its stream.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        Its inputs are samples; of integers one range for each channel.
    prefix : str
        Name of the model.
    stream : Stream
        How the samples come.

    Returns
    -------
    dict of str to bytes
        As `emit_c99`, and ``<prefix>_stream.h``, ``<prefix>_stream.c``; of integers
        ``<prefix>_stream_quantise.c`` as well.
    """
    c, words, code = _filled(model, prefix, stream)
    name, width, files = f"{prefix}_stream", stream.width(model), {}
    if width:
        words["quantise"] = section("c99/stream.c.in", "quantise", words)
        samples = stream.samples(model)
        files[f"{name}_quantise.c"] = quantise_source(c, samples, width)
    rules = FLOAT_RULES if "float" in code else ""
    files[f"{name}.c"] = f"{preamble(c, {}, rules)}\n{c.arrays()}\n{code}"
    header = filled("c99/stream.h.in", words)
    return emit_c99(model, prefix, stream.has_names) | {
        f"{name}.h": header.encode("ascii"),
        **finished(files, model, prefix),
    }


def _filled(
    model: Any, prefix: str, stream: Stream
) -> tuple[Source, dict[str, Any], str]:
    """The source of a stream, the words of its header, and its functions."""
    samples = stream.samples(model)
    used = [one for one in samples if one.low < one.high]
    c = Source(model, f"{prefix}_stream", stream.tables(model))
    words = {
        "name": prefix,
        "M": prefix.upper(),
        "head": head(model, prefix),
        "input": c.number,
        "sample": c_type(taken_type(model, stream)),
        "answer": c.score if model.is_regression else c.index,
        "n_channels": len(samples),
        "n_times": stream.n_times,
        "hop": stream.hop,
        "n_slots": stream.n_slots(model),
        "ranges": input_ranges(c, used) if stream.width(model) else "",
        "channels": input_names(c, [(one, stream.note(c, one)) for one in samples]),
        "quantise": "",
        "gaps": "",
        "declared": "",
        "clear": section("c99/stream.c.in", "clear", {}),
    }
    if stream.has_names:
        words["gaps"] = section("c99/parts.in", "gaps", words).removesuffix("\n")
    words["before"], words["members"], code = stream.code(c, words)
    if stream.debounces:
        if model.is_regression:
            raise ExportError(
                "Answers that are numbers are not debounced; set votes=1 and hold=0."
            )
        words |= {"index": c.index, "votes": stream.votes, "hold": stream.hold}
        for name in ("declared", "kept"):
            words[name] = section("c99/debounced.c.in", name, words)
        words["members"] += words["kept"]
        code += c.text("code", words, "debounced.c")
    return c, words, code


def begin_wait(c: Source) -> str:
    """Line that has the first answer wait for a whole window."""
    return f"    stream->wait = {c.m}_WINDOW;\n"


def state_bytes(model: Any, stream: Stream, aligned: bool = True) -> int:
    """Size of the struct of a stream in C, by what its header declares.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        As in `emit_stream`.
    stream : Stream
        How the samples come.
    aligned : bool, default True
        Whether the compiler aligns members to their size; one for AVRs does not.

    Returns
    -------
    int
    """
    return struct_bytes(model, stream, aligned)["struct mdl_stream"]


def struct_bytes(model: Any, stream: Stream, aligned: bool = True) -> dict[str, int]:
    """Size of each struct in the header of a stream; see `state_bytes`."""
    _, words, _ = _filled(model, "mdl", stream)
    text = f"{words['before']}struct mdl_stream {{\n{words['members']}}};"
    kinds: dict[str, Any] = {"float": np.float32}
    for struct, body in _STRUCT.findall(text):
        members = []
        for kind, name, n in _MEMBER.findall(body):
            kind = kinds.get(kind) or kind.removesuffix("_t")
            size = words["n_slots"] if n == "MDL_STREAM_SLOTS" else int(n or 1)
            members.append((name, kind, size))
        kinds[struct] = np.dtype(members, align=aligned)
    return {name: np.dtype(kind).itemsize for name, kind in kinds.items()}


_STRUCT = re.compile(r"^(struct \w+) \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
_MEMBER = re.compile(r"^ +(.+?) (\w+)(?:\[(\w+)\])?;", re.MULTILINE)
