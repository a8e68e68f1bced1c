"""Every command and setting of the guide's page on servers, as it stands there."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg

from pages.work import operation
from tests import attempts
from tests.bench.classroom import Visitor, first_picture, free_port, start_server
from tests.clusters import Cluster
from tests.guide import ROOT

PAGE = (ROOT / "assets" / "guide" / "3-server.md").read_text("utf-8")
#: Settings of the page with values; the ports are those of its file for Caddy.
VARIABLES = {
    "SPE_FRAME_ANCESTORS": "https://moodle.example.org",
    "SPE_METRICS": "1",
    "SPE_DRAIN": "600",
    "SPE_OPENML_SERVER": "http://127.0.0.1:9",
    "FORWARDED_ALLOW_IPS": "127.0.0.1",
    "STREAMLIT_SERVER_COOKIE_SECRET": "a secret text",
}
OF_FOLDERS = {"SPE_DATA", "SPE_LESSONS", "SPE_DASK", "SPE_STORE"}
OPTIONS = ["--server.address 0.0.0.0", "--server.xsrfCookieSameSite none"]


def test_no_other_command_or_setting_stands_there():
    code = re.findall(r"`([^`\n]+)`", PAGE)
    options = [one for one in code if one.startswith("--")]
    assert sorted(options) == sorted([*OPTIONS, "--server.port 8501"])
    variables = {one for one in code if re.fullmatch(r"[A-Z]+_[A-Z_]+", one)}
    assert variables == {*VARIABLES, *OF_FOLDERS}
    assert PAGE.count("```") == 2, "the file for Caddy"


@pytest.fixture(scope="module")
def served(tmp_path_factory, tool):
    """Two servers with all settings behind the page's proxy, and their logs."""
    folder, ports = tmp_path_factory.mktemp("served"), [free_port(), free_port()]
    rows = [f"{n},{n * 7 % 11},{'xy'[n % 2]}\n" for n in range(40)]
    (folder / "table.csv").write_text("".join(["a,b,class\n", *rows]))
    lesson = (ROOT / "assets" / "lessons" / "02-fusion.json").read_text("utf-8")
    (folder / "mine.json").write_text(lesson)
    proxy, text = free_port(), re.search(r"```caddyfile\n(.*?)```", PAGE, re.S)[1]
    for stated, port in zip((":80 ", "8501", "8502"), (proxy, *ports), strict=True):
        assert stated in text
        text = text.replace(stated, f":{port} " if port == proxy else str(port))
    (folder / "Caddyfile").write_text("{\n admin off\n}\n" + text)
    logs = [folder / "log 0", folder / "log 1"]
    cluster = Cluster(1)
    variables = VARIABLES | dict.fromkeys(OF_FOLDERS, str(folder))
    variables["SPE_DASK"] = cluster.address
    variables["SPE_STORE"] = str(folder / "store")
    # Where a request to another machine would go.
    way_out = socket.create_server(("127.0.0.1", 0))
    way_out.setblocking(False)
    address = f"http://127.0.0.1:{way_out.getsockname()[1]}"
    variables |= {"http_proxy": address, "https_proxy": address}
    variables["TMPDIR"] = str(folder / "temporary")
    (folder / "temporary").mkdir()
    options = " ".join(OPTIONS).split()
    started = []
    try:
        for port, log in zip(ports, logs, strict=True):
            with log.open("wb") as file:
                started.append(start_server(port, file, options, **variables))
        command = [tool("caddy"), "run", "--config", folder / "Caddyfile"]
        log = (folder / "caddy").open("wb")
        started.append(subprocess.Popen(command, stdout=log, stderr=log))
        temporary = folder / "temporary"
        yield SimpleNamespace(
            ports=ports,
            proxy=proxy,
            logs=logs,
            servers=started,
            temporary=temporary,
            way_out=way_out,
        )
    finally:
        for process in started:
            process.kill()
        way_out.close()
        cluster.close()


def opened(address: str, **headers: str):
    """What a server answers, once it does."""
    for _ in attempts(0.1):
        try:
            return urllib.request.urlopen(
                urllib.request.Request(address, headers=headers)
            )
        except OSError:
            continue
    raise AssertionError(f"{address} does not answer")


def test_every_setting_counts(served):
    own = socket.gethostbyname(socket.gethostname())
    with opened(f"http://{own}:{served.ports[0]}/_stcore/health") as answer:
        assert answer.status == 200
    for port in served.ports:
        with opened(f"http://127.0.0.1:{port}/_stcore/metrics") as answer:
            assert answer.status == 200
    with opened(f"http://127.0.0.1:{served.proxy}/") as page:
        policy = page.headers["Content-Security-Policy"]
    assert policy.endswith("frame-ancestors 'self' https://moodle.example.org")
    with opened(f"http://127.0.0.1:{served.proxy}/_stcore/health") as answer:
        cookies = " ".join(answer.headers.get_all("Set-Cookie"))
    assert "lb=" in cookies, "the proxy keeps a visitor on one server"
    assert re.search(r"_streamlit_xsrf=[^;]+;.*SameSite=none", cookies, re.IGNORECASE)


def test_a_server_looks_for_no_address_of_its_own_elsewhere(served):
    """Neither when it starts nor for who comes from a page of another site."""
    for port in served.ports:
        address = f"http://127.0.0.1:{port}/_stcore/health"
        with opened(address, Origin="https://another.example.org") as answer:
            assert "Access-Control-Allow-Origin" not in answer.headers
    with pytest.raises(BlockingIOError):
        served.way_out.accept()


def metrics_of(port: int) -> dict[str, float]:
    """What a server counts."""
    with opened(f"http://127.0.0.1:{port}/_stcore/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return {
        name: float(value)
        for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")
    }


def test_the_operators_numbers_are_counted(served):
    async def visit() -> dict[str, float]:
        visitor = await first_picture(served.ports[0])
        await visitor.socket.send(BackMsg(clear_cache=True).SerializeToString())
        await visitor.move({"mu": 0.1}, dragging=True)
        return await asyncio.to_thread(metrics_of, served.ports[0])

    before = metrics_of(served.ports[0])
    with ThreadPoolExecutor() as other:  # this thread may have a browser's loop
        now = other.submit(asyncio.run, visit()).result()
    refused = 'refusals_total{reason="message"}'
    assert (before.get(refused, 0), now[refused]) == (0, 1)
    assert now["active_sessions"] == before["active_sessions"] + 1
    n_open = len(os.listdir(f"/proc/{served.servers[0].pid}/fd"))
    assert abs(now["open_descriptors"] - n_open) <= 20
    for what in ("tasks", "drags"):
        for state in ("waiting", "running"):
            assert now[f'{what}{{state="{state}"}}'] >= 0


def test_a_visitor_behind_the_proxy_sees_the_operators_table_and_lesson(served):
    async def visit(query: str) -> dict:
        visitor = Visitor(0, served.proxy, query=query)
        await visitor.open()
        await visitor.move({"mu": 0.1}, dragging=True)
        assert visitor.errors == []
        return visitor.header

    with ThreadPoolExecutor() as other:  # this thread may have a browser's loop
        table = other.submit(asyncio.run, visit("data=file:table.csv")).result()
        lesson = other.submit(asyncio.run, visit("lesson=mine.json")).result()
    assert not table["notices"] and table["scene"]["points"]["x"]
    assert not lesson["notices"]
    for log in served.logs:
        text = log.read_text("utf-8")
        assert "Traceback" not in text and "left out" not in text


def test_a_server_is_ready_when_kernels_are_there_and_files_can_be_written(served):
    address = f"http://127.0.0.1:{served.ports[0]}/_stcore/ready"
    with opened(address) as answer:
        assert answer.read() == b"ok"
    served.temporary.rename(served.temporary.with_name("gone"))
    with pytest.raises(urllib.error.HTTPError, match="503") as refused:
        urllib.request.urlopen(address)
    assert b"not writable: No such file" in refused.value.read()
    served.temporary.with_name("gone").rename(served.temporary)
    with opened(address) as answer:
        assert answer.status == 200


def test_a_server_that_ends_takes_no_new_visitors_and_keeps_those_it_has(served):
    port, server = served.ports[0], served.servers[0]
    page = f"http://127.0.0.1:{port}/"

    async def visit() -> None:
        visitor = await first_picture(port)
        server.send_signal(signal.SIGTERM)
        for _ in attempts(0.1):
            status, words = await asyncio.to_thread(refusal, page)
            if status == 503:
                break
        assert b"Load this page again" in words
        ready = await asyncio.to_thread(refusal, f"{page}_stcore/ready")
        assert ready == (503, b"The server is about to end.")
        with pytest.raises(websockets.InvalidStatus):
            await Visitor(0, port).open()
        await visitor.move({"mu": 0.1}, dragging=True)
        assert visitor.errors == []

    with ThreadPoolExecutor() as other:  # this thread may have a browser's loop
        other.submit(asyncio.run, visit()).result()
    # The proxy has another server for who comes.
    with opened(f"http://127.0.0.1:{served.proxy}/_stcore/ready") as answer:
        assert answer.read() == b"ok"
    server.send_signal(signal.SIGTERM)
    assert server.wait(60) == -signal.SIGTERM
    assert "Traceback" not in served.logs[0].read_text("utf-8")


def refusal(address: str) -> tuple[int, bytes]:
    """Status and words that a browser gets which opens an address."""
    try:
        request = urllib.request.Request(address, headers={"Accept": "text/html"})
        return urllib.request.urlopen(request).status, b""
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()


def test_a_time_that_is_none_is_said_and_ours_is_taken(caplog):
    """It was a traceback at the start."""
    assert [operation.drain_seconds(text) for text in ("", "0", "2.5")] == [5, 0, 2.5]
    for text in ("soon", "-1", "nan", "inf"):
        caplog.clear()
        assert operation.drain_seconds(text) == 5
        assert f"SPE_DRAIN: {text!r} is no number of seconds" in caplog.text
