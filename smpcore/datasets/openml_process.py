"""Talk to OpenML in a process of its own, run by `openml_sets` as a script.

The openml package waits without limit and holds whole answers in memory. In a process
that can be ended at any time, with limits of its own, neither can harm the server.
It reads requests from stdin, one JSON object a line, and answers one after another. It
prints one JSON object a line: ``{"doing": words}`` and at last ``{"done": ...}`` or
``{"failed": kind, "message": text}``. It ends when stdin closes.
"""

import fcntl
import hashlib
import importlib
import json
import os
import resource
import shutil
import sys
import threading
import time
import zlib
from collections.abc import Iterable
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import urlparse

#: Environment variables of this process, whatever the request says.
ENVIRONMENT = {
    "OPENML_SKIP_PARQUET": "true",  # its ARFF files have checksums
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # others reserve 1 GB of MEMORY_BYTES
}
MEMORY_BYTES = 4_000_000_000
DAY_SECONDS = 86_400
#: What went wrong, for the names of openml's and requests' exceptions.
KINDS = {
    "OpenMLPrivateDatasetError": "forbidden",
    "OpenMLNotAuthorizedError": "forbidden",
    "OpenMLHashException": "checksum",
    "OpenMLServerException": "refused",
    "ChunkedEncodingError": "cut",
    "EOFError": "cut",
    "ConnectionError": "offline",
    "Timeout": "offline",
    "TimeoutError": "offline",
    "ProtocolError": "cut",
    "MemoryError": "memory",
    "RequestException": "broken",
    "OSError": "disk",  # after its kinds that tell of the network
}
_BLOCK_BYTES = 65_536


def send_message(**message) -> None:
    """Send a message to the process that waits for it."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


@contextmanager
def alone(folder: Path, name: str):
    """One process at a time at a part of openml's cache, which knows no locks."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def read_body(blocks: Iterable[bytes], encoding: str, max_bytes: int) -> bytes:
    """Unpack the body of an answer while it comes; as sent and unpacked it is
    bounded.
    """
    if encoding.lower() not in ("", "identity", "gzip", "deflate"):
        raise ValueError(f"the answer is packed as {encoding!r}")
    packed = encoding.lower() in ("gzip", "deflate")
    unpacker = zlib.decompressobj(wbits=32 + zlib.MAX_WBITS)
    n_sent, body = 0, bytearray()
    for block in blocks:
        n_sent += len(block)
        most = max_bytes + 1 - len(body)
        body += unpacker.decompress(block, most) if packed else block
        if n_sent > max_bytes or len(body) > max_bytes:
            raise MemoryError(f"the answer has more than {max_bytes} bytes")
    if packed and n_sent and (not unpacker.eof or unpacker.unused_data):
        raise EOFError("the answer's packing is cut off, or goes on after its end")
    return bytes(body)


@contextmanager
def limit_requests(server: str, max_bytes: int):
    """Let this process ask the service's own machines only, and read so much at most.

    The limits hold inside the ``with`` block.
    """
    from requests.adapters import HTTPAdapter

    send = HTTPAdapter.send

    def limited(self, request, **options):
        # Each redirect is a request of its own, and comes here again.
        if not _same_owner(request.url, server):
            raise ValueError(f"not a machine of the service: {request.url}")
        response = send(self, request, **{**options, "stream": True})
        coming = response.raw.stream(_BLOCK_BYTES, decode_content=False)
        packing = response.headers.get("Content-Encoding", "")
        response._content = read_body(coming, packing, max_bytes)
        response._content_consumed = True
        response.encoding = response.encoding or "utf-8"  # guessing takes minutes
        return response

    HTTPAdapter.send = limited
    try:
        yield
    finally:
        HTTPAdapter.send = send


def listing(openml, columns: list[str]) -> dict:
    """All active data sets, as of the last day; older if OpenML cannot be reached."""
    cached = Path(openml.config.get_cache_directory()) / "listing.json"
    # A clock that was set back leaves files of a time that is still to come.
    if cached.exists() and 0 <= time.time() - cached.stat().st_mtime < DAY_SECONDS:
        return json.loads(cached.read_text("utf-8"))
    send_message(doing="Fetching the list of data sets")
    try:
        frame = openml.datasets.list_datasets(
            output_format="dataframe", status="active"
        )
    except Exception:
        if cached.exists():
            return json.loads(cached.read_text("utf-8"))
        raise
    rows = json.loads(frame.reindex(columns=columns).to_json(orient="values"))
    content = {"seconds": time.time(), "rows": rows}
    fresh = cached.with_suffix(".new")
    fresh.write_text(json.dumps(content), "utf-8")
    fresh.replace(cached)
    return content


def fetch(openml, number: int, max_rows: int, max_cells: int) -> dict:
    """Description and ARFF file of one data set."""
    send_message(doing="Fetching the description")
    described = openml.datasets.get_dataset(number, download_data=False)
    if described.dataset_id != number:
        raise ValueError(f"asked for {number}, described is {described.dataset_id}")
    sizes = _sizes(openml, number)
    n_rows = sizes.get("NumberOfInstances") or 0
    n_cells = n_rows * (sizes.get("NumberOfFeatures") or 0)
    if n_rows > max_rows or n_cells > max_cells:
        return {"too_large": [n_rows, n_cells]}
    if not _same_owner(described.url, openml.config.server):
        raise ValueError(f"the file lies at {described.url}")
    send_message(doing="Fetching the rows")
    folder = Path(openml.config.get_cache_directory()) / "datasets" / str(number)
    file = folder / "dataset.arff"
    whole = (described.md5_checksum or "").lower()
    if file.exists() and _checksum(file) != whole and whole:
        file.unlink()  # an earlier process was ended while it wrote
    loaded = openml.datasets.get_dataset(number, download_data=True)
    return {
        "path": str(loaded.data_file),
        "name": str(loaded.name),
        "version": int(loaded.version),
        "target": loaded.default_target_attribute,
        "ignored": [*_names(loaded.ignore_attribute), *_names(loaded.row_id_attribute)],
        "licence": str(loaded.licence or ""),
    }


def _sizes(openml, number: int) -> dict:
    """What the service knows of the table's size; of a new one, nothing."""
    try:
        measured = openml.datasets.get_dataset(
            number, download_data=False, download_qualities=True
        )
    except openml.exceptions.OpenMLServerException:
        return {}
    return measured.qualities or {}


def _names(value) -> list[str]:
    if not value:
        return []
    return [value] if isinstance(value, str) else [str(name) for name in value]


def _checksum(file: Path) -> str:
    return hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest()


def _same_owner(url: str | None, server: str) -> bool:
    """Whether a file lies on the service's own machines: openml.org or its parts."""
    here, there = urlparse(server), urlparse(str(url))
    if there.scheme not in ("http", "https"):
        return False
    if here.netloc == there.netloc:
        return True
    if there.port not in (None, 80, 443):
        return False
    domain = ".".join((here.hostname or "").split(".")[-2:])
    is_name = not domain.replace(".", "").isdigit() and "." in domain
    return is_name and f".{there.hostname}".endswith(f".{domain}")


def configure(openml, environment: dict[str, str], server: str) -> None:
    """Give openml the settings that it has in a new process with that environment."""
    os.environ.clear()
    os.environ.update(environment | ENVIRONMENT)
    importlib.reload(openml.config)
    if server:
        openml.config.server = server
    openml.config.set_retry_policy("human", 2)


def answer(
    openml,
    verb: str,
    environment: dict[str, str],
    server: str,
    max_bytes: int,
    **settings: Any,
) -> None:
    """Do what a request asks for and print the result."""
    configure(openml, environment, server)
    folder = Path(openml.config.get_cache_directory())
    try:
        with (
            limit_requests(openml.config.server, max_bytes),
            alone(folder, str(settings.get("number", verb))),
        ):
            function = {"listing": listing, "fetch": fetch}[verb]
            send_message(done=function(openml, **settings))
    except Exception as error:
        names = [of.__name__ for of in type(error).__mro__]
        kind = next((KINDS[name] for name in names if name in KINDS), "broken")
        if verb == "fetch" and kind not in ("refused", "offline"):
            half = folder / "datasets" / str(settings["number"])
            shutil.rmtree(half, ignore_errors=True)
        text = f"{type(error).__name__}: {error}"
        if kind == "refused":  # the service's own words, without its address
            text = str(getattr(error, "message", text))
        send_message(failed=kind, message=text[:300])


def read_requests(requests: SimpleQueue) -> None:
    """Put the lines of stdin into a queue, and end the process when stdin closes."""
    for line in sys.stdin:
        requests.put(line)
    os._exit(0)


def address_space() -> int:
    """Bytes of this process that count against RLIMIT_AS."""
    pages = Path("/proc/self/statm").read_text("ascii").split()[0]
    return int(pages) * resource.getpagesize()


def main(idle_seconds: float, max_growth: int) -> None:
    """Answer requests until none comes for a while, or one left much memory in use."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    requests: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=read_requests, args=(requests,), daemon=True).start()
    os.environ.update(ENVIRONMENT)
    import openml

    at_start = address_space()
    while True:
        try:
            request = requests.get(timeout=idle_seconds)
        except Empty:
            return
        answer(openml, **json.loads(request))
        if address_space() - at_start > max_growth:
            return


if __name__ == "__main__":
    try:
        main(float(sys.argv[1]), int(sys.argv[2]))
    finally:
        os._exit(0)  # an ordinary exit would wait for the thread that reads stdin
