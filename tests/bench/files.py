"""What reading one visitor's file costs the others: ``python -m tests.bench.files``.

Each case has a server's process of its own: the file is read as on the page, by the
process for files, and then opened as the Data page does (digest, split, checks,
preparation). A thread of the server that wants the interpreter every 5 ms stands for
another visitor's drag. Printed are processor seconds, the longest time for which that
thread was kept waiting, and peak memory above that of the file itself, of both
processes together, also in multiples of the decoded size. Names of cases as arguments
choose some of them; ``pollock --data FOLDER`` reads dirty files, see `pollock`, and
``cases --data FOLDER`` files whose meaning is known cell by cell, see `cases`.
"""

from __future__ import annotations

import gc
import io
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pages.work import file_process
from smpcore.datasets import (
    MAX_BYTES,
    Dataset,
    check_fit,
    find_duplicates,
    leaky_features,
    prepare,
    read_table,
    split,
)
from smpcore.errors import SmpcoreError
from tests.bench import cases, pollock

#: Longest a file may take here before it is ended.
PATIENCE = 120.0
TICK = 0.005
N = MAX_BYTES - 1000


def _filled(head: str, rows: str, size: int = N) -> bytes:
    """A file of at most so many bytes: rows as often as they fit."""
    times = (size - len(head.encode())) // len(rows.encode())
    return (head + rows * times).encode()


def _random_rows(cells: Callable[[np.random.Generator], list[str]], end: str) -> str:
    """Two thousand different rows."""
    rng = np.random.default_rng(0)
    return "".join(",".join([*cells(rng), "ab"[row % 2]]) + end for row in range(2_000))


def _floats(rng: np.random.Generator) -> list[str]:
    return [f"{value:.6f}" for value in rng.normal(size=12)]


def _words(rng: np.random.Generator) -> list[str]:
    return [f"word{value}" for value in rng.integers(0, 50, 12)]


def _quoted(rng: np.random.Generator) -> list[str]:
    return [f'"a ""{value}"", b\nc"' for value in rng.integers(0, 50, 6)]


def _names(n: int, label: str = "c{}") -> str:
    return ",".join([*(label.format(number) for number in range(n)), "class"]) + "\n"


def _texts() -> bytes:
    """Texts that are all different, twenty characters each."""
    rows = (f"{n:020d}x,{n:020d}y,{'ab'[n % 2]}\n" for n in range(N // 60))
    return ("p,q,class\n" + "".join(rows)).encode()


def _arff(attributes: str, rows: str, size: int = N) -> bytes:
    return _filled(f"@relation r\n{attributes}@data\n", rows, size)


def _numeric(n: int) -> str:
    named = "".join(f"@attribute c{number} real\n" for number in range(n))
    return named + "@attribute class {a,b}\n"


def _sparse_row(rng: np.random.Generator) -> str:
    places = np.sort(rng.choice(200, 20, replace=False))
    cells = [
        f"{place} {value:.4f}"
        for place, value in zip(places, rng.normal(size=20), strict=True)
    ]
    return "{" + ", ".join([*cells, "200 b"]) + "}\n"


def _sparse() -> bytes:
    rng = np.random.default_rng(0)
    rows = "".join(_sparse_row(rng) for _ in range(500))
    return _arff(_numeric(200), rows)


def _ts() -> bytes:
    rng = np.random.default_rng(0)
    head = "@problemName t\n@univariate false\n@dimensions 3\n@classLabel true a b\n"
    row = ":".join(",".join(f"{v:.4f}" for v in rng.normal(size=100)) for _ in range(3))
    return _filled(head + "@data\n", f"{row}:a\n{row}:b\n")


def _parquet(codec: str = "snappy", **columns: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, compression=codec)
    return buffer.getvalue()


def _parquet_numbers() -> bytes:
    rng = np.random.default_rng(0)
    columns = {f"c{n}": rng.normal(size=450_000) for n in range(12)}
    return _parquet(**columns, y=["a", "b"] * 225_000)


def _parquet_repeated() -> bytes:
    """360 MB of text in 50 kB."""
    text = pa.array(["x" * 400, "y" * 400]).dictionary_encode()
    codes = pa.array(np.arange(900_000, dtype=np.int32) % 2)
    column = pa.DictionaryArray.from_arrays(codes, text.dictionary)
    return _parquet("zstd", a=column, y=column)


#: Name of a case -> name and content of its file.
CASES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "csv numbers": ("t.csv", lambda: _filled(_names(12), _random_rows(_floats, "\n"))),
    "csv words": ("t.csv", lambda: _filled(_names(12), _random_rows(_words, "\n"))),
    "csv texts": ("t.csv", _texts),
    "csv quotes": ("t.csv", lambda: _filled(_names(6), _random_rows(_quoted, "\n"))),
    "csv decimal commas": (
        "t.csv",
        lambda: _filled(
            "a;b;c;class\n", "1,5;2,25;1.234,5;x\n1,25;3,5;2,5;y\n", 35_000_000
        ),
    ),
    "csv utf-16": (
        "t.csv",
        lambda: (
            _filled(_names(12), _random_rows(_floats, "\n"), 24_000_000)
            .decode()
            .encode("utf-16")
        ),
    ),
    "csv one cell": ("t.csv", lambda: b"a,b\n" + b"x" * N + b",1\n2,3\n"),
    "csv open quote": ("t.csv", lambda: b'a,b\n"' + b"1,2\n" * (N // 4)),
    "arff dense": ("t.arff", lambda: _arff(_numeric(12), _random_rows(_floats, "\n"))),
    "arff sparse": ("t.arff", _sparse),
    "parquet numbers": ("t.parquet", _parquet_numbers),
    "parquet repeated": ("t.parquet", _parquet_repeated),
    "ts series": ("t.ts", _ts),
}


class Ticker:
    """A thread that wants the interpreter every few milliseconds.

    Attributes
    ----------
    longest : float
        Seconds that this process computed at most while it waited for its turn: what
        other programs on the machine take is left out.
    most : int
        Bytes that this process and its children had together, at most; looked at when
        it wakes up.
    """

    def __init__(self) -> None:
        self.longest, self.most = 0.0, 0
        self._going = True
        self._thread = threading.Thread(target=self._tick, daemon=True)
        self._thread.start()

    def _tick(self) -> None:
        while self._going:
            start = time.process_time()
            time.sleep(TICK)
            late = time.process_time() - start - TICK
            self.longest = max(self.longest, late)
            self.most = max(self.most, _together())

    def stop(self) -> float:
        """End it; the longest delay."""
        self._going = False
        self._thread.join()
        return self.longest


def _memory(name: str, process: str = "self") -> int:
    """A figure of a process's memory, in bytes; 0 if it has ended."""
    with suppress(OSError):
        for line in Path("/proc", process, "status").read_text().splitlines():
            if line.startswith(name):
                return 1024 * int(line.split()[1])
    return 0


def _together() -> int:
    children = Path("/proc/self/task").glob("*/children")
    pids = [pid for file in children for pid in file.read_text().split()]
    return sum(_memory("VmRSS", pid) for pid in ["self", *pids])


@contextmanager
def measured(into: dict):
    """Seconds, delay of another thread and peak memory of what stands inside."""
    Path("/proc/self/clear_refs").write_text("5")
    alone, together, ticker = _memory("VmRSS"), _together(), Ticker()
    start = time.process_time()
    try:
        yield
    finally:
        into["seconds"] = time.process_time() - start
        into["delay"] = ticker.stop()
        peaks = _memory("VmHWM") - alone, ticker.most - together
        into["bytes"] = max(peaks)


def decoded_size(data: bytes) -> int:
    """Bytes of the texts and numbers that a file holds, whatever its packing."""
    if not data.startswith(b"PAR1"):
        return len(data)
    table = pq.read_table(io.BytesIO(data))
    plain = [
        c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c
        for c in table.columns
    ]
    return sum(column.nbytes for column in plain)


def _open(dataset: object) -> None:
    """What the Data page does with a new table."""
    division = split(dataset)
    check_fit(dataset, division)
    _ = dataset.digest
    find_duplicates(dataset, division)
    leaky_features(dataset, division)
    prepare(dataset, division.train).transform(dataset.frame)


def _read(file: BinaryIO, filename: str) -> tuple[Dataset | None, str, dict]:
    """Read it, what is wrong with it, and what that took there."""
    dataset, said, took = None, "", {}
    with measured(took):
        try:
            dataset = read_table(file, filename)
        except SmpcoreError as error:
            said = str(error)
    return dataset, said, {name: took[name] for name in ("seconds", "bytes")}


def run(name: str, path: str) -> None:
    """Read one case's file and print what it took, as JSON."""
    for at, text in {  # imports are paid for
        "t.csv": b"a,class\n1,x\n2,y\n",
        "t.arff": b"@relation r\n@attribute a real\n@attribute y {p,q}\n@data\n1,p\n",
    }.items():
        file_process.read(read_table, io.BytesIO(text), at)
    from tests.bench import files  # where the other process finds the function

    gc.collect()
    gc.freeze()  # as the app does once it has started
    source = io.BytesIO(Path(path).read_bytes())
    found: dict = {"read": {}, "open": {}, "said": ""}
    dataset = None
    with measured(found["read"]):
        try:
            answer = file_process.read(files._read, source, CASES[name][0])
            dataset, found["said"], there = answer
        except SmpcoreError as error:
            found["said"], there = str(error), {"seconds": 0.0, "bytes": 0}
    found["read"]["seconds"] += there["seconds"]
    found["read"]["bytes"] = max(found["read"]["bytes"], there["bytes"])
    if dataset is not None:
        found["kept"] = dataset.n_bytes
        with measured(found["open"]):
            try:
                _open(dataset)
            except SmpcoreError as error:
                found["said"] = str(error)
    print(json.dumps(found))


def main(names: list[str]) -> None:
    """Print the table."""
    width = max(map(len, CASES))
    folder = tempfile.mkdtemp()
    for name in names or CASES:
        print(f"{name:<{width}}", end=" ", flush=True)
        filename, make = CASES[name]
        data = make()
        path = Path(folder, filename)
        path.write_bytes(data)
        size = decoded_size(data)
        del data
        command = [sys.executable, "-m", "tests.bench.files", "--run", name, str(path)]
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=PATIENCE, text=True
            )
        except subprocess.TimeoutExpired:
            print(f"> {PATIENCE:.0f} s")
            continue
        if done.returncode:
            print(done.stderr[-300:])
            continue
        found = json.loads(done.stdout)
        words = f"{path.stat().st_size / 1e6:5.1f} {size / 1e6:6.1f} MB"
        for part in ("read", "open"):
            if took := found[part]:
                words += f" | {took['seconds']:6.2f} s {1e3 * took['delay']:6.0f} ms"
                words += f" {took['bytes'] / 1e6:6.0f} MB {took['bytes'] / size:6.1f} x"
        words += f" | kept {found.get('kept', 0) / 1e6:.0f} MB {found['said'][:90]}"
        print(words, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(*sys.argv[2:])
    elif sys.argv[1:2] == ["pollock"]:
        pollock.main(sys.argv[2:])
    elif sys.argv[1:2] == ["cases"]:
        cases.main(sys.argv[2:])
    else:
        main(sys.argv[1:])
