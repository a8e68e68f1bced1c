"""A visitor in a real browser, who presses what a person finds by role and name.

What goes wrong on the way is a *finding*: an error of a script or of the console, a
page with an exception, a figure that stays stale, a request that fails, a download that
never comes or cannot be opened, a traceback in the server's log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import (
    ConsoleMessage,
    Download,
    ElementHandle,
    Locator,
    Page,
    Request,
    Response,
)
from playwright.sync_api import Error as BrowserError

from tests import PATIENCE, attempts
from tests.walks.opening import open_download

#: What the page can be found to do; asked of it once in 60 ms.
_WATCH = (Path(__file__).parent / "watch.js").read_text("utf-8")
PAGES = {
    "Explore": "",
    "Data": "data",
    "Prototypes": "prototypes",
    "Compare": "compare",
    "Trade-off": "tradeoff",
    "Performance": "performance",
    "Apply": "apply",
    "Export": "export",
    "Lessons": "lessons",
    "Papers": "papers",
    "Guide": "guide",
}
#: Sentences that no visitor may come to read.
_BROKEN = (
    "encountered an error|Internal error|Connection error|could not be drawn|Traceback"
)
#: For so many ms a page has rested; less where the next thing is to press again.
QUIET, QUIET_AFTER_A_PRESS = 120, 60
#: Waiting does not bring a hidden control back: after so many ms it is looked for anew.
_LOOKS_AGAIN = 10_000


@dataclass(frozen=True)
class Control:
    """A control as a person finds it.

    Parameters
    ----------
    role, name : str
    nth : int
        Which one of those with this role and name.
    visible, enabled : bool
    place : str
        What of the framework it belongs to, if it does.
    kind : str
        "download" if pressing it saves a file, "open" if it shuts a fold.
    """

    role: str
    name: str
    nth: int
    visible: bool
    enabled: bool
    place: str
    kind: str

    @property
    def key(self) -> tuple[str, str, int]:
        """The same for the same control after another run of the page."""
        return self.role, self.name, self.nth

    def __str__(self) -> str:
        again = f" ({self.nth + 1})" if self.nth else ""
        return f"{self.role} {self.name!r}{again}"


@dataclass
class Visit:
    """One browser tab of one visitor.

    Parameters
    ----------
    page : Page
    address : str
    log : callable
        Returns what the server has written since it was called last.
    """

    page: Page
    address: str
    log: Callable[[], str]
    state: str = "start"
    findings: list[str] = field(default_factory=list)
    pressed: list[tuple[str, Control]] = field(default_factory=list)
    downloads: list[Download] = field(default_factory=list)
    doing: str = "open"

    def __post_init__(self) -> None:
        self.page.on("pageerror", lambda error: self.found(f"page error: {error}"))
        self.page.on("console", self._heard)
        self.page.on("request", self._asked)
        self.page.on("requestfailed", self._failed)
        self.page.on("response", self._response)
        self.page.on("download", lambda file: self.downloads.append(file))
        self.page.add_init_script(_WATCH)

    def found(self, what: str) -> None:
        """Note a finding, with where it was found."""
        if not any(line.endswith(what) for line in self.findings):
            self.findings.append(f"{self.state} | {self.doing} | {what[:600]}")

    def _heard(self, message: ConsoleMessage) -> None:
        # Streamlit looks for its own health address beside a page's and then above it.
        if message.type == "error" and "_stcore/" not in message.location.get(
            "url", ""
        ):
            self.found(f"console: {message.text}")

    def _asked(self, request: Request) -> None:
        own = (self.address, "data:", "blob:", "about:", "file:")
        socket = self.address.replace("http", "ws", 1)
        if not request.url.startswith((*own, socket)):
            self.found(f"leaves the machine: {request.url}")

    def _failed(self, request: Request) -> None:
        # The browser breaks off what a page that was left had asked for.
        if "ERR_ABORTED" not in (request.failure or ""):
            self.found(f"request failed: {request.url}: {request.failure}")

    def _response(self, response: Response) -> None:
        if response.status >= 400 and "/_stcore/" not in response.url:
            self.found(f"answer {response.status}: {response.url}")

    # -- ways to go ---------------------------------------------------------------

    def open(self, path: str = "") -> Visit:
        """Open an address of the app as a bookmark would."""
        self.doing = f"open /{path}"
        self.page.goto(self.address + path)
        return self.rest()

    def go(self, title: str) -> Visit:
        """Choose a page in the bar."""
        self.doing = f"go to {title}"
        bar = self.page.get_by_test_id("stTopNavLinkContainer")
        link = bar.get_by_role("link", name=title, exact=True)
        if not link.count() or not link.first.is_visible():
            link = self.page.get_by_role("link", name=title, exact=True)
        link.first.click()
        path = PAGES[title]
        self.page.wait_for_url(lambda url: _path(url).endswith(f"/{path}"))
        return self.rest()

    def rest(self, pause: int = QUIET) -> Visit:
        """Wait until the page has answered what was done; look for findings."""
        for _ in attempts():
            if not (waits := self._waits(pause)):
                break
        else:
            self.found(f"still waiting after {PATIENCE:.0f} s for: {waits}")
        self.look()
        return self

    def _waits(self, pause: int) -> str:
        ask = "(pause) => globalThis.speWatch?.rest(pause) ?? 'a page'"
        try:
            return self.page.evaluate(ask, pause)
        except BrowserError as error:
            if "navigation" not in str(error) and "destroyed" not in str(error):
                raise
            return "a page"

    def finish(self) -> Visit:
        """Wait for the whole fit of the figure: a preview may come before it."""
        self.page.locator(
            "canvas.marks[data-canonical='1'][data-coarse='0']"
        ).first.wait_for()
        return self.rest()

    def look(self) -> None:
        """Note what can be seen to be wrong, and what the server has logged."""
        ask = "(broken) => globalThis.speWatch?.wrong(broken) ?? []"
        for text in self.page.evaluate(ask, _BROKEN):
            self.found(text)
        log = self.log()
        if "Traceback" in log:
            self.found(f"server log: {log[log.index('Traceback') :][-500:]}")
        while self.downloads:
            self._open(self.downloads.pop())

    def _open(self, download: Download) -> None:
        name = download.suggested_filename
        try:
            path = Path(download.path())
            open_download(name, path.read_bytes(), self.page.context.browser)
        except Exception as error:  # whatever it is, the visitor has no file
            self.found(f"download {name}: {type(error).__name__}: {error}")

    def text(self) -> str:
        """Everything that can be read on the page."""
        return self.page.evaluate("() => globalThis.speWatch?.text() ?? ''")

    # -- what a person presses -----------------------------------------------------

    def controls(self) -> list[Control]:
        """Every control in the document; of an open dialog only its own."""
        rows = self.page.evaluate("() => globalThis.speWatch.controls()")
        return [Control(**row) for row in rows]

    def press(self, control: Control) -> bool:
        """Press it, and wait for the answer; whether it was still there."""
        self.doing = f"press {control}"
        self.pressed.append((self.state, control))
        if control.kind == "download" and self._find(control):
            self.save(lambda: self._click(control))
            return True
        was_there = True
        try:
            was_there = self._click(control)
        except BrowserError as error:
            self.found(f"cannot be pressed: {str(error).splitlines()[0]}")
        self.rest(QUIET_AFTER_A_PRESS)
        return was_there

    def _find(self, control: Control) -> ElementHandle | None:
        return self.page.evaluate_handle(
            "([role, name, nth]) => globalThis.speWatch.find(role, name, nth)",
            list(control.key),
        ).as_element()

    def _click(self, control: Control) -> bool:
        failure = None
        for _ in range(5):  # drawn anew or hidden under the pointer: look again
            node, failure = self._find(control), None
            # Away from the button pressed last, whose tip may lie over this one.
            self.page.mouse.move(0, 0)
            try:
                if node is not None and node.is_enabled():
                    node.click(timeout=_LOOKS_AGAIN)
                    return True
            except BrowserError as error:
                failure = error
            self.rest()
        if failure:
            raise failure
        return False

    def save(self, act: Callable[[], Any]) -> bytes:
        """Press a download and open what comes, as a person would."""
        self.look()
        try:
            with self.page.expect_download() as coming:
                act()
            path = Path(coming.value.path())
        except BrowserError as error:
            self.found(f"no file came: {str(error).splitlines()[0]}")
            return b""
        data = path.read_bytes()
        self.rest()
        return data

    def choose(self, label: str, option: str, exact: bool = True) -> Visit:
        """Choose an option of a list of Streamlit's or of the figure's."""
        self.doing = f"choose {option!r} of {label!r}"
        own = self.page.locator(".spe select").and_(
            self.page.get_by_label(label, exact=exact)
        )
        if own.count():
            own.first.select_option(label=option)
            return self.rest()
        box = self.page.get_by_test_id("stSelectbox").filter(has_text=label)
        if box.locator("input").first.input_value() == option:
            return self.rest()
        item = self.page.get_by_role("option", name=option, exact=exact).first
        for _ in attempts():  # a list closes if the page moves under it: open it again
            box.get_by_role("button", name="Open").first.click()
            try:
                self.page.get_by_role("option").first.wait_for(timeout=5_000)
                if not item.count():
                    box.locator("input").first.fill(option)  # a long list shows a part
                item.click(timeout=5_000)
                return self.rest()
            except BrowserError:
                self.page.keyboard.press("Escape")
        self.found("it cannot be chosen")
        return self

    def click(
        self, role: str, name: str | re.Pattern[str], nth: int = 0, **options: Any
    ) -> Visit:
        """Press one control by its role and name."""
        self.doing = f"press {role} {name!r}"
        exact = options.pop("exact", isinstance(name, str))
        found = self._top().get_by_role(role, name=name, exact=exact)
        one = _visible(found, nth)
        if role in ("radio", "checkbox", "switch"):
            # What is drawn of these is their label, which lies over them.
            label = one.locator("xpath=ancestor::label[1]")
            one = label if label.count() else one
        self.page.mouse.move(0, 0)  # away from a tip that would lie over it
        one.click(**options)
        return self.rest()

    def unfold(self, title: str) -> Visit:
        """Open an expander."""
        self.doing = f"unfold {title!r}"
        _visible(self.page.locator("summary").filter(has_text=title)).click()
        return self.rest()

    def take(self, name: str) -> bytes:
        """Press a button that saves a file; the file, opened already."""
        self.doing = f"download {name!r}"
        found = self._top().get_by_role("button", name=name, exact=True)
        return self.save(_visible(found).click)

    def reads(self, text: str | re.Pattern[str]) -> re.Match[str]:
        """Wait until this can be read on the page."""
        self.doing = f"read {text!r}"
        pattern = re.compile(re.escape(text)) if isinstance(text, str) else text
        for _ in attempts():
            if match := pattern.search(self.text()):
                return match
            self.rest()
        words = f"never came to read {pattern.pattern}, but {self.text()[-1500:]}"
        raise AssertionError(words)

    def _top(self) -> Page | Locator:
        """The dialog that is open, or the page: nothing behind a dialog is pressed."""
        dialog = self.page.get_by_role("dialog").filter(visible=True)
        return dialog.last if dialog.count() else self.page

    def fill(self, label: str, value: str) -> Visit:
        """Type a value into a field, and Enter."""
        self.doing = f"type {value!r} into {label!r}"
        box = _visible(self.page.get_by_label(label, exact=True))
        box.fill(value)
        box.press("Enter")
        return self.rest()

    def upload(self, picker: str, name: str, data: bytes) -> Visit:
        """Give a file to the picker with this label."""
        self.doing = f"upload {name}"
        box = self.page.get_by_test_id("stFileUploader").filter(has_text=picker)
        box.locator("input[type=file]").set_input_files(
            {"name": name, "mimeType": "application/octet-stream", "buffer": data}
        )
        self.page.wait_for_timeout(300)
        while "Reading the file" in self.rest().text():
            self.page.wait_for_timeout(300)
        return self.rest()

    def drag(self, name: str, *shares: float, rest: bool = True) -> Visit:
        """Drag a slider of the figure by its label over places of its track."""
        self.doing = f"drag {name!r}"
        slider = self.slider(name)
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        y = box["y"] + box["height"] / 2
        # The middle of the thumb is never nearer to an end than half its width.
        places = [box["x"] + 8 + share * (box["width"] - 16) for share in shares]
        self.page.mouse.move(places[0], y)
        self.page.mouse.down()
        for place in places[1:]:
            self.page.mouse.move(place, y, steps=4)
        self.page.mouse.up()
        return self.rest() if rest else self

    def slider(self, name: str | re.Pattern[str]) -> Locator:
        """A slider, by the label that stands at it."""
        exact = isinstance(name, str)
        return _visible(self.page.get_by_role("slider", name=name, exact=exact))

    # -- the end -------------------------------------------------------------------

    def check(self) -> None:
        """Fail if anything was found."""
        assert not self.findings, "\n" + "\n".join(self.findings)


def _path(url: str) -> str:
    return url.split("?")[0].split("#")[0]


def _visible(found: Locator, nth: int = 0) -> Locator:
    """One that can be seen: Streamlit draws some twice, once to measure them."""
    found.first.wait_for(state="attached")
    return found.filter(visible=True).nth(nth)


@contextmanager
def visiting(
    context: Any, address: str, log: Callable[[], str]
) -> Iterator[Callable[[], Visit]]:
    """Make visits in tabs of one browser profile; nothing found is left unsaid."""
    visits: list[Visit] = []

    def come() -> Visit:
        visits.append(Visit(context.new_page(), address, log))
        return visits[-1]

    yield come
    for visit in visits:
        if not visit.page.is_closed():
            visit.look()
        visit.check()
