"""A small stand-in for OpenML that speaks its XML over HTTP, well or badly."""

import gzip
import hashlib
from contextlib import contextmanager, suppress
from dataclasses import dataclass
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


def _xml(**parts) -> str:
    """Elements of some names, with what stands in them."""
    return "".join(
        f"<oml:{name}>{escape(str(one))}</oml:{name}>" for name, one in parts.items()
    )


def _qualities(served: Served, form: str) -> str:
    told = {"NumberOfInstances": served.rows, "NumberOfFeatures": served.columns}
    return "".join(form.format(*pair) for pair in told.items())


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        service = self.server.service
        service.asked.append(self.path)
        path = self.path.split("?")[0]
        *parts, last = path.strip("/").split("/")
        if "/data/list" in path:
            if "offset" in parts and "/offset/0" not in path:
                return self._error(372, "No results")
            return self._told("data", "".join(map(self._listed, service.sets.values())))
        served = service.sets.get(int(last)) if last.isdigit() else None
        if served is None:
            return self._error(111, "Unknown dataset")
        if path.startswith("/download/"):
            return self._file(served)
        if served.trouble == "error 500":
            return self._send(b"<html>Bad gateway</html>", 500)
        if served.trouble == "broken":
            return self._send(b"<oml:data_set_description><oml:id>7</oml:i")
        if "qualities" in parts:
            form = "<oml:name>{}</oml:name><oml:value>{}</oml:value>"
            form = f"<oml:quality>{form}</oml:quality>"
            return self._told("data_qualities", _qualities(served, form))
        return self._description(served)

    def _head(self, status: int = 200, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def _send(self, body: bytes, status: int = 200):
        self._send_packed(gzip.compress(body), status)

    def _send_packed(self, body: bytes, status: int = 200):
        self._head(status, Content_Encoding="gzip", Content_Length=len(body))
        self.wfile.write(body)

    def _told(self, name: str, inner: str, status: int = 200):
        self._send(f"<oml:{name} {XML}>{inner}</oml:{name}>".encode(), status)

    def _error(self, code: int, message: str):
        self._told("error", _xml(code=code, message=message), 412)

    def _listed(self, served: Served) -> str:
        told = _xml(did=served.number, name=served.name, version=1, status="active")
        told += _xml(format=served.format)
        told += _qualities(served, '<oml:quality name="{}">{}</oml:quality>')
        return f"<oml:dataset>{told}</oml:dataset>"

    def _description(self, served: Served):
        address = f"http://127.0.0.1:{self.server.server_port}"
        md5 = hashlib.md5(served.arff.encode(), usedforsecurity=False).hexdigest()
        told = _xml(
            id=served.described_as or served.number,
            name=served.name,
            version=1,
            description="for tests",
            format=served.format,
            url=served.url or f"{address}/download/{served.number}",
            md5_checksum=served.md5 or md5,
        )
        if served.target:
            told += _xml(default_target_attribute=served.target)
        told += "".join(_xml(ignore_attribute=name) for name in served.ignored)
        self._told("data_set_description", told)

    def _file(self, served: Served):
        service, body = self.server.service, served.arff.encode()
        if served.redirect and "?" not in self.path:
            place = served.redirect.format(port=self.server.server_port)
            return self._head(302, Location=place, Content_Length=0)
        if served.trouble == "slow":
            service.closed.wait()  # no answer while a test runs
        elif served.trouble == "endless":
            self._head()
            with suppress(OSError):
                while True:
                    service.sent += self.wfile.write(b"1," * 50_000)
        elif served.trouble == "bomb":
            self._send_packed(gzip.compress(bytes(200 * 10**6), 1))
        elif served.trouble == "drip":  # a byte a second
            self._head(Content_Length=len(body))
            for byte in body:
                self.wfile.write(bytes([byte]))
                if service.closed.wait(1):
                    break
        elif served.trouble == "cut":
            self._head(Content_Length=len(body))
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
        else:
            self._send(body)
        return None


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
