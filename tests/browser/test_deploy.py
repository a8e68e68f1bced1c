"""The files for operators, `.github/deploy/`, as they stand there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect

from smpcore import solvers
from tests import attempts
from tests.bench.classroom import free_port
from tests.browser.test_app import drag, settled

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / ".github" / "deploy"
UNIT = (DEPLOY / "explorer@.service").read_text("utf-8")
SETTINGS = (DEPLOY / ".env").read_text("utf-8")
#: A proxy's file, what stands in it for its port, and the cookie that it sets.
PROXIES = {
    "caddy": ("Caddyfile", ":80 {", "lb"),
    "nginx": ("nginx.conf", "listen 80;", "explorer"),
}
#: Around a file that nginx includes: all that it writes is in the test's folder.
AROUND = """user root;
pid FOLDER/pid;
events {}
http {
  client_body_temp_path FOLDER/body;
  proxy_temp_path FOLDER/proxy;
  fastcgi_temp_path FOLDER/fastcgi;
  uwsgi_temp_path FOLDER/uwsgi;
  scgi_temp_path FOLDER/scgi;
  include FOLDER/nginx.conf;
}
"""


def of_unit(name: str, text: str = UNIT) -> str:
    """A setting of the unit."""
    return re.search(rf"^{name}=(.*)$", text, re.MULTILINE)[1]


def put_here(port: int) -> str:
    """The unit with this checkout, Python and cache in place of the machine's."""
    python, cache = Path(sys.executable).parent, Path(solvers.FOLDER).parents[1]
    unit = UNIT.replace("/srv/explorer/.venv/bin", str(python)).replace("%i", str(port))
    unit = unit.replace("/var/cache/explorer", str(cache))
    return unit.replace("/srv/explorer", str(ROOT))


def until_it_answers(address: str) -> None:
    for _ in attempts(0.2):
        with suppress(OSError):
            return urlopen(address).close()
    raise AssertionError(f"{address} does not answer")


def test_settings_are_those_that_the_code_reads_and_the_guide_explains():
    sources = [
        ROOT / "app.py",
        *ROOT.glob("pages/**/*.py"),
        *ROOT.glob("smpcore/**/*.py"),
    ]
    texts = [path.read_text("utf-8") for path in sources]
    read = {name for text in texts for name in re.findall(r"\bSPE_[A-Z_]+\b", text)}
    guide = (ROOT / "assets/guide/3-server.md").read_text("utf-8")
    listed = re.findall(r"^#?([A-Z_]+)=", SETTINGS, re.MULTILINE)
    assert {name for name in listed if name.startswith("SPE_")} == read
    assert read == set(re.findall(r"`(SPE_[A-Z_]+)`", guide))
    for name in listed:
        assert f"`{name}" in guide
        assert re.search(rf"^# .*\n#?{name}=", SETTINGS, re.MULTILINE), name


def test_a_container_starts_what_the_unit_starts():
    text = (DEPLOY / "Containerfile").read_text("utf-8")
    copied = re.findall(r"^COPY (\S+) \S+$", text, re.MULTILINE)
    server = {"app.py", "pages", "smpcore", "assets", ".streamlit"}
    server.add(".github/requirements.lock")
    assert {*copied} == server and all((ROOT / name).exists() for name in server)
    command = json.loads(re.search(r"^CMD (.*)$", text, re.MULTILINE)[1])
    started = of_unit("ExecStart").replace("/srv/explorer/.venv/bin/", "")
    assert command == [
        *shlex.split(started.replace("%i", "8501")),
        *("--server.address", "0.0.0.0"),
    ]
    assert re.search(r"^ENV (.*)$", text, re.MULTILINE)[1] == of_unit("Environment")
    (compiled,) = re.findall(r'python -W ignore -c "(.*)"$', text, re.MULTILINE)
    compile(compiled, "Containerfile", "exec")
    steps = ["useradd", "USER explorer", compiled, "VOLUME /var/cache/explorer ", "CMD"]
    assert sorted(steps, key=text.index) == steps


def test_systemd_takes_the_unit(tool, tmp_path):
    unit = tmp_path / "explorer@8501.service"
    unit.write_text(put_here(8501))
    for command in (
        ["verify", "--man=no"],
        ["security", "--offline=1", "--threshold=20"],
    ):
        run = [tool("systemd-analyze"), *command, unit]
        done = subprocess.run(run, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """A server as the unit starts it, with the settings that it ships with."""
    port, log = free_port(), tmp_path_factory.mktemp("served") / "log"
    unit = put_here(port)
    lines = [line for line in SETTINGS.splitlines() if line and line[0] != "#"]
    lines += shlex.split(of_unit("Environment", unit))
    environment = dict(line.split("=", 1) for line in lines)
    with log.open("wb") as file:
        server = subprocess.Popen(
            shlex.split(of_unit("ExecStart", unit)),
            cwd=of_unit("WorkingDirectory", unit),
            env={"PATH": os.environ["PATH"], **environment},
            stdout=file,
            stderr=file,
        )
    try:
        until_it_answers(f"http://127.0.0.1:{port}/explorer/_stcore/ready")
        yield SimpleNamespace(port=port, log=log)
        server.terminate()
        server.wait(60)  # less than systemd's patience, on a machine that is not busy
    finally:
        server.kill()


@pytest.fixture(params=PROXIES)
def proxied(
    request: pytest.FixtureRequest,
    served: SimpleNamespace,
    tool: Callable[[str], str],
    tmp_path: Path,
) -> Iterator[SimpleNamespace]:
    """A proxy before that server, and before another one that is down."""
    program, port = tool(request.param), free_port()
    name, stated, cookie = PROXIES[request.param]
    text = (DEPLOY / name).read_text("utf-8")
    places = {"8501": str(served.port), "8502": str(free_port()), "80": str(port)}
    places = {f"127.0.0.1:{old}": f"127.0.0.1:{new}" for old, new in places.items()}
    places |= {stated: stated.replace("80", str(port)), "/var/log/nginx": str(tmp_path)}
    for old, new in places.items():
        text = text.replace(old, new)
    if request.param == "caddy":
        text = text.replace("{\n", "{\n\tadmin off\n", 1)
        command = [program, "run", "--config", name]
    else:
        (tmp_path / "around").write_text(AROUND.replace("FOLDER", str(tmp_path)))
        command = [program, "-c", tmp_path / "around", "-g", "daemon off;"]
    (tmp_path / name).write_text(text)
    log = tmp_path / "explorer.log"  # where nginx writes, too
    with log.open("ab") as file:
        proxy = subprocess.Popen(
            command, cwd=tmp_path, stdout=file, stderr=file, env={"HOME": str(tmp_path)}
        )
    url = f"http://127.0.0.1:{port}/explorer"
    # A name that Streamlit lets in only if the proxy passes it on.
    site = f"http://school.localhost:{port}/explorer"
    try:
        until_it_answers(f"{url}/_stcore/ready")
        yield SimpleNamespace(url=url, site=site, log=log, cookie=cookie)
    finally:
        proxy.terminate()
        proxy.wait()


@pytest.mark.slow
def test_a_visitor_behind_a_proxy_drags_and_uploads(opened, proxied, served):
    # The address without its last slash leads to the one with it.
    page = opened(proxied.site, {}, viewport={"width": 1280, "height": 1000})
    settled(page)
    page.goto(f"{proxied.site}/?data=iris")
    settled(page)
    drag(page, "mu", 0.3, 0.55)
    page.wait_for_url("**/explorer/?*mu=**")
    page.goto(f"{proxied.site}/data")
    page.get_by_text("Upload data").click()
    picker = page.get_by_test_id("stFileUploader").filter(has_text="Your table")
    # More than the megabyte that nginx takes by itself.
    rows = [f"{i % 7}.{'0' * 700},{'xy'[i % 7 > 3]}\n" for i in range(2000)]
    table = {"name": "t.csv", "mimeType": "text/csv"}
    table["buffer"] = "".join(["a,b\n", *rows]).encode()
    with page.expect_request("**/_stcore/upload_file/**") as request:
        picker.locator("input[type=file]").set_input_files(table)
    expect(page.get_by_text("t.csv").filter(has_text="Source")).to_be_visible()
    assert proxied.cookie in {cookie["name"] for cookie in page.context.cookies()}
    with pytest.raises(HTTPError, match="404"):
        urlopen(f"{proxied.url}/_stcore/metrics")
    log = proxied.log.read_text("utf-8")
    assert "/explorer/_stcore/upload_file/-" in log
    for name in (*request.value.url.split("/")[-2:], "data=iris", "_streamlit_xsrf"):
        assert name not in log
    assert "Traceback" not in served.log.read_text("utf-8")
