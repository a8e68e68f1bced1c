"""A small stand-in for OpenML that speaks its XML over HTTP, well or badly."""

import gzip
import hashlib
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from xml.sax.saxutils import escape

XML = 'xmlns:oml="http://openml.org/openml"'
IRIS = """@relation iris
@attribute 'sepal length' real
@attribute petal numeric
@attribute colour {red, 'light blue'}
@attribute row integer
@attribute class {setosa, versicolor}
@data
5.1,1.4,red,1,setosa
4.9,1.3,?,2,setosa
4.8,1.2,red,3,setosa
6.3,4.7,'light blue',4,versicolor
6.1,4.5,red,5,versicolor
5.9,4.2,'light blue',6,versicolor
"""


@dataclass
class Served:
    """One data set as the server describes and sends it."""

    number: int
    name: str
    arff: str = IRIS
    target: str | None = "class"
    rows: int = 6
    columns: int = 5
    format: str = "ARFF"
    md5: str | None = None
    url: str | None = None
    described_as: int | None = None
    ignored: tuple[str, ...] = ("row",)
    #: What goes wrong: "slow", "cut", "broken", "error 500", "endless", "bomb", "drip".
    trouble: str = ""
    #: Where the file is sent to instead; "{port}" is this server's own.
    redirect: str = ""
    tags: dict = field(default_factory=dict)


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        service = self.server.service
        service.asked.append(self.path)
        path = self.path.split("?")[0]
        parts = path.strip("/").split("/")
        if "/data/list" in path:
            offset = int(parts[parts.index("offset") + 1]) if "offset" in parts else 0
            return self._listing(offset)
        served = service.sets.get(int(parts[-1])) if parts[-1].isdigit() else None
        if served is None:
            return self._error(111, "Unknown dataset", 412)
        if path.startswith("/download/"):
            return self._file(served)
        if served.trouble == "error 500":
            return self._send(b"<html>Bad gateway</html>", 500)
        if served.trouble == "broken":
            return self._send(b"<oml:data_set_description><oml:id>7</oml:i")
        if "qualities" in parts:
            return self._qualities(served)
        return self._description(served)

    def _send(self, body: bytes, status: int = 200):
        body = gzip.compress(body)
        self.send_response(status)
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _error(self, code: int, message: str, status: int):
        words = f"<oml:code>{code}</oml:code><oml:message>{message}</oml:message>"
        self._send(f"<oml:error {XML}>{words}</oml:error>".encode(), status)

    def _listing(self, offset: int):
        rows = [
            f"<oml:dataset><oml:did>{s.number}</oml:did><oml:name>{escape(s.name)}"
            f"</oml:name><oml:version>1</oml:version><oml:status>active</oml:status>"
            f"<oml:format>{s.format}</oml:format>"
            f'<oml:quality name="NumberOfInstances">{s.rows}</oml:quality>'
            f'<oml:quality name="NumberOfFeatures">{s.columns}</oml:quality>'
            "</oml:dataset>"
            for s in self.server.service.sets.values()
        ]
        if offset:
            return self._error(372, "No results", 412)
        return self._send(f"<oml:data {XML}>{''.join(rows)}</oml:data>".encode())

    def _description(self, served: Served):
        address = f"http://127.0.0.1:{self.server.server_port}"
        md5 = hashlib.md5(served.arff.encode(), usedforsecurity=False).hexdigest()
        told = {
            "id": served.described_as or served.number,
            "name": served.name,
            "version": 1,
            "description": "for tests",
            "format": served.format,
            "url": served.url or f"{address}/download/{served.number}",
            "md5_checksum": served.md5 or md5,
        }
        if served.target:
            told["default_target_attribute"] = served.target
        words = [
            f"<oml:{name}>{escape(str(value))}</oml:{name}>"
            for name, value in told.items()
        ]
        words += [
            f"<oml:ignore_attribute>{escape(name)}</oml:ignore_attribute>"
            for name in served.ignored
        ]
        whole = "".join(words)
        self._send(
            f"<oml:data_set_description {XML}>{whole}"
            "</oml:data_set_description>".encode()
        )

    def _qualities(self, served: Served):
        told = {"NumberOfInstances": served.rows, "NumberOfFeatures": served.columns}
        words = "".join(
            f"<oml:quality><oml:name>{name}</oml:name><oml:value>{value}</oml:value>"
            "</oml:quality>"
            for name, value in told.items()
        )
        self._send(f"<oml:data_qualities {XML}>{words}</oml:data_qualities>".encode())

    def _file(self, served: Served):
        if served.trouble == "slow":
            self.server.service.closed.wait()  # no answer while a test runs
            return None
        if served.redirect and "?" not in self.path:
            self.send_response(302)
            place = served.redirect.format(port=self.server.server_port)
            self.send_header("Location", place)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return None
        body = served.arff.encode()
        if served.trouble == "endless":
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.server.service.sent += self.wfile.write(b"1," * 50_000)
            except OSError:
                return None
        if served.trouble == "bomb":
            packer = zlib.compressobj(1, wbits=31)
            packed = [packer.compress(bytes(10**6)) for _ in range(200)]
            packed = b"".join([*packed, packer.flush()])
            self.send_response(200)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(packed)))
            self.end_headers()
            self.wfile.write(packed)
            return None
        if served.trouble == "drip":  # a byte a second
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            for byte in body:
                self.wfile.write(bytes([byte]))
                if self.server.service.closed.wait(1):
                    break
            return None
        if served.trouble == "cut":
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
            return None
        return self._send(body)


class Service:
    """The data sets of a stand-in, and what was asked of it."""

    def __init__(self, server: ThreadingHTTPServer, sets: list[Served]):
        self.sets = {served.number: served for served in sets}
        self.asked: list[str] = []
        self.sent = 0  # of endless answers
        self.closed = Event()
        self.url = f"http://127.0.0.1:{server.server_port}/api/v1/xml"


@contextmanager
def serving(*sets: Served):
    """A stand-in on a free port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.service = Service(server, list(sets))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.service
    finally:
        server.service.closed.set()
        server.shutdown()
        server.server_close()
