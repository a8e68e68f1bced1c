"""Two servers behind the guide's proxy: one dies, and its visitors lose nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import pytest
from playwright.sync_api import Page, expect

from tests import attempts
from tests.bench.classroom import free_port, start_server
from tests.browser.test_app import drag, settled
from tests.browser.test_share import saved

ROOT = Path(__file__).parents[2]


class Proxied(NamedTuple):
    """The proxy's address, that of its own interface, and the servers by address."""

    url: str
    admin: str
    servers: dict[str, subprocess.Popen]

    def visited(self) -> str:
        """The server that holds a visitor's connection."""
        with urlopen(f"http://{self.admin}/reverse_proxy/upstreams") as answer:
            upstreams = json.load(answer)
        (busy,) = [one["address"] for one in upstreams if one["num_requests"]]
        return busy


@pytest.fixture
def proxied(tmp_path: Path, tool: Callable[[str], str]) -> Iterator[Proxied]:
    tool("caddy")
    text = (ROOT / "assets/guide/3-server.md").read_text("utf-8")
    block = re.search(r"```caddyfile\n(.*?)```", text, re.DOTALL)[1]
    addresses = re.findall(r"127\.0\.0\.1:\d+", block)
    assert len(addresses) == 2
    url, admin = (f"127.0.0.1:{free_port()}" for _ in range(2))
    servers = {}
    for printed in addresses:
        port = free_port()
        servers[f"127.0.0.1:{port}"] = start_server(port)
        block = block.replace(printed, f"127.0.0.1:{port}")
    block = block.replace(":80 {", f"http://{url} {{")
    (tmp_path / "Caddyfile").write_text(f"{{\n admin {admin}\n}}\n{block}", "utf-8")
    proxy = subprocess.Popen(
        ["caddy", "run", "--config", "Caddyfile"],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        stderr=subprocess.DEVNULL,
    )
    for _ in attempts(0.1):
        with suppress(OSError):
            urlopen(f"http://{url}/_stcore/health").close()
            break
    yield Proxied(f"http://{url}/", admin, servers)
    for process in (proxy, *servers.values()):
        process.kill()
        process.wait()


def picture(page: Page) -> bytes:
    """The figure with its caption, once the fit on it is the converged one."""
    settled(page)
    expect(page.locator("canvas.marks")).to_have_attribute("data-canonical", "1")
    return saved(page, "Save as SVG")


@pytest.mark.slow
def test_visitors_of_a_dead_server_go_on_with_the_same_model(opened, proxied):
    page = opened(
        proxied.url + "?data=iris", {}, viewport={"width": 1280, "height": 1000}
    )
    settled(page)
    drag(page, "mu", 0.3, 0.55)
    page.wait_for_url("**mu=**")
    before, link = picture(page), page.url
    first = proxied.visited()
    proxied.servers[first].kill()
    proxied.servers[first].wait()
    # The page connects again by itself, to the other server.
    drag(page, "mu", 0.55, 0.7)
    assert proxied.visited() != first
    page.goto(link)
    assert picture(page) == before
