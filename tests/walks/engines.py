"""Other engines than Chromium's, driven over the protocols that W3C describes.

Both take the same list of actions: WebKit over HTTP (WebDriver), Firefox over a
websocket (WebDriver BiDi). So neither needs more than its package of Debian.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from websockets.sync.client import connect

from tests import PATIENCE, attempts
from tests.bench.classroom import free_port

#: The browser of WebKitGTK that takes commands.
MINI_BROWSER = "/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser"
#: Firefox as on a screen that is touched.
PREFERENCES = 'user_pref("dom.w3c_touch_events.enabled", 1);\n'
#: Finds nodes that can be seen, those in the shadow of others too.
NODES = """
function* every(root) {
  for (const node of root.querySelectorAll("*")) {
    yield node;
    if (node.shadowRoot) yield* every(node.shadowRoot);
  }
}
const all = (selector) => [...every(document)]
  .filter((node) => node.matches(selector) && node.checkVisibility());
"""


class Engine(ABC):
    """A browser with one window of 1280 x 720.

    Parameters
    ----------
    folder : Path
        Where a profile is written.
    stack : ExitStack
        Ends what is started here.
    """

    #: Commands that it takes.
    commands: tuple[str, ...]
    #: Kinds of pointers that its driver has.
    pointers: tuple[str, ...] = ("mouse",)

    @abstractmethod
    def __init__(self, folder: Path, stack: ExitStack) -> None: ...

    @abstractmethod
    def open(self, url: str) -> None:
        """Go to an address."""

    @abstractmethod
    def _evaluate(self, function: str, *args: object) -> object:
        """What a function of the page returns."""

    @abstractmethod
    def _act(self, source: dict) -> None:
        """Perform the actions of one source."""

    @abstractmethod
    def picture(self) -> bytes:
        """What the window shows, as PNG."""

    def run(self, function: str, *args: object) -> object:
        """What a function returns that finds nodes by ``all(selector)``."""
        code = f"(...args) => {{ {NODES} return ({function})(...args) ?? null; }}"
        return self._evaluate(code, *args)

    def wait(self, function: str, *args: object) -> None:
        """Wait for a function to return something."""
        assert any(self.run(function, *args) for _ in attempts(0.05)), (
            f"never came: {function} {args}"
        )

    def drag(self, *places: tuple[float, float], pointer: str = "mouse") -> None:
        """Press at the first place, move over the others, and let go; or click."""
        start, *moves = [
            {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 20}
            for x, y in places
        ]
        down, up = [{"type": f"pointer{way}", "button": 0} for way in ("Down", "Up")]
        source = {
            "type": "pointer",
            "id": pointer,
            "actions": [start, down, *moves, up],
        }
        self._act(source | {"parameters": {"pointerType": pointer}})

    def press(self, key: str) -> None:
        """Press a key, by its character in the protocol."""
        actions = [{"type": f"key{way}", "value": key} for way in ("Down", "Up")]
        self._act({"type": "key", "id": "keys", "actions": actions})


class WebKit(Engine):
    """WebKitGTK's, in a window of a screen that nobody sees."""

    commands = ("WebKitWebDriver", "Xvfb")

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        display = stack.enter_context(_screen())
        port = free_port()
        # Without a graphics card its compositor crashes now and then, in Mesa.
        still = {"WEBKIT_DISABLE_COMPOSITING_MODE": "1"}
        environment = {**os.environ, **still, "DISPLAY": display}
        command = ["WebKitWebDriver", f"--port={port}"]
        stack.enter_context(_running(command, env=environment))
        self._url = f"http://127.0.0.1:{port}"
        _started(lambda: self._call("GET", "/status"))
        options = {"binary": MINI_BROWSER, "args": ["--automation"]}
        wanted = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        session = self._call("POST", "/session", capabilities=wanted)
        self._url += f"/session/{session['sessionId']}"
        stack.callback(self._call, "DELETE", "")
        self._call("POST", "/window/rect", width=1280, height=758)

    def _call(self, method: str, path: str, **body: object) -> object:
        data = json.dumps(body).encode() if method == "POST" else None
        headers = {"Content-Type": "application/json"}
        request = Request(self._url + path, data, headers, method=method)
        try:
            with urlopen(request) as answer:
                return json.load(answer)["value"]
        except HTTPError as error:
            raise RuntimeError(error.read().decode()) from None

    def open(self, url: str) -> None:
        self._call("POST", "/url", url=url)

    def _evaluate(self, function: str, *args: object) -> object:
        script = f"return ({function})(...arguments)"
        return self._call("POST", "/execute/sync", script=script, args=args)

    def _act(self, source: dict) -> None:
        self._call("POST", "/actions", actions=[source])

    def picture(self) -> bytes:
        return base64.b64decode(self._call("GET", "/screenshot"))


class Firefox(Engine):
    """Debian's Firefox ESR, without a screen."""

    commands = ("firefox-esr",)
    pointers = ("mouse", "touch")

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        (folder / "user.js").write_text(PREFERENCES, "utf-8")
        port = free_port()
        command = ["firefox-esr", "--headless", "--no-remote", f"--profile={folder}"]
        command += [f"--remote-debugging-port={port}"]
        stack.enter_context(_running(command, stderr=subprocess.DEVNULL))
        url = f"ws://127.0.0.1:{port}/session"
        self._wire = _started(
            lambda: stack.enter_context(
                connect(url, max_size=None, open_timeout=PATIENCE)
            )
        )
        self._call("session.new", capabilities={})
        tree = self._call("browsingContext.getTree")
        self._window = {"context": tree["contexts"][0]["context"]}
        size = {"width": 1280, "height": 720}
        self._call("browsingContext.setViewport", **self._window, viewport=size)

    def _call(self, method: str, **params: object) -> dict:
        self._wire.send(json.dumps({"id": 1, "method": method, "params": params}))
        while "id" not in (answer := json.loads(self._wire.recv())):
            pass  # an event
        assert answer["type"] == "success", answer
        return answer["result"]

    def open(self, url: str) -> None:
        self._call("browsingContext.navigate", **self._window, url=url, wait="complete")

    def _evaluate(self, function: str, *args: object) -> object:
        given = ", ".join(map(json.dumps, args))
        found = self._call(
            "script.evaluate",
            expression=f"JSON.stringify(({function})({given}))",
            target=self._window,
            awaitPromise=False,
        )
        assert found["type"] == "success", found
        return json.loads(found["result"]["value"])

    def _act(self, source: dict) -> None:
        self._call("input.performActions", **self._window, actions=[source])

    def picture(self) -> bytes:
        shot = self._call("browsingContext.captureScreenshot", **self._window)
        return base64.b64decode(shot["data"])


ENGINES = {"webkit": WebKit, "firefox": Firefox}


def _started(ask: Callable[[], object]) -> object:
    """What a process answers that has just been started."""
    for _ in attempts(0.1):
        with contextlib.suppress(OSError):
            return ask()
    raise AssertionError("the browser did not start")


@contextlib.contextmanager
def _running(command: list[str], **options: object) -> Iterator[subprocess.Popen]:
    """Run a process until it is not needed any more."""
    with subprocess.Popen(command, **options) as process:
        yield process
        process.terminate()


@contextlib.contextmanager
def _screen() -> Iterator[str]:
    """Display of an X server that nobody sees."""
    command = ["Xvfb", "-displayfd", "1", "-nolisten", "tcp"]
    command += ["-screen", "0", "1600x1200x24"]
    with _running(command, stdout=subprocess.PIPE, text=True) as server:
        yield f":{server.stdout.readline().strip()}"
