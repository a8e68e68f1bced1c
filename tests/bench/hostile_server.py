"""What harms a server: ``python -m tests.bench.hostile_server [--only WORD ...]``.

Each row starts a server of its own (those of classes share one), does to it what a
machine, a clock or somebody in a class may do, and prints the seconds that it took, the
tracebacks in the server's log, and what a visitor came to see. Mounts and owners are
changed in a mount namespace of that server alone, so that this needs root and Linux.
Rows are marked with ``FAILS`` where somebody would have been left without an answer.
Run it at two commits for a table of before and after: ``--append FILE`` adds the rows
to a file of JSON lines, ``--table BEFORE AFTER`` prints two such files beside each
other.
"""

from __future__ import annotations

import argparse
import asyncio
import atexit
import contextlib
import functools
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright
from streamlit.proto.BackMsg_pb2 import BackMsg

from tests.bench.class_view import Tab
from tests.bench.classroom import ROOT, Visitor, free_port, megabytes
from tests.bench.live import FLAGS
from tests.bench.uploads import processes, processor_seconds
from tests.smpcore.datasets.openml_server import Served, serving

#: A lesson whose first question asks for a number, one of choices, one of a place.
NUMBER = "02-fusion.json"
#: What a page says instead of a traceback, where nobody wrote a sentence.
RAW = ("This app has encountered an error", "Internal error", "Oh no", "AxiosError")
#: In which a server has compiled all, beside another and whatever a machine does.
COMPILED_SECONDS = 1800.0
TABLE = b"a,b,class\n" + b"1.25,2.5,x\n5.125,4.5,y\n" * 250_000

#: Mounts of a server. $STAY has what must outlive them, $SIZE a file system's size.
READ_ONLY_APP = 'mount --bind "$ROOT" "$ROOT" && mount -o remount,ro,bind "$ROOT"'
SMALL_DISK = (
    f"{READ_ONLY_APP} && mount -t tmpfs -o size=$SIZE tmpfs /tmp && mkdir /tmp/home"
    " && mount --bind /tmp /var/tmp"
)
FILL = "; (dd if=/dev/zero of=/tmp/fills bs=4k 2>/dev/null; true)"
READ_ONLY_HOME = (
    f"{READ_ONLY_APP} && mount -t tmpfs -o size=1m tmpfs /srv && mkdir /srv/home"
    " && mount -o remount,ro /srv"
)
READ_ONLY_TEMP = " && mount -t tmpfs -o ro tmpfs /tmp && mount -t tmpfs -o ro tmpfs"
READ_ONLY_TEMP += " /var/tmp"
NOBODY = (
    f"{READ_ONLY_APP} && mount --bind /root/.pyenv /mnt"
    " && mount -t tmpfs -o mode=755 tmpfs /root && mkdir -p /root/.pyenv /root/home"
    " && mount --bind /mnt /root/.pyenv && mkdir -p /root/theirs/smpcore"
)
AS_NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups"

#: The wall clock of a process is as many seconds off as a file says.
CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
static const volatile long *off;
__attribute__((constructor)) static void begin(void) {
  int file = open(getenv("CLOCK_OFF"), O_RDONLY);
  off = mmap(0, sizeof *off, PROT_READ, MAP_SHARED, file, 0);
}
int clock_gettime(clockid_t clock, struct timespec *at) {
  int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
  int done = real(clock, at);
  if (clock == CLOCK_REALTIME) at->tv_sec += *off;
  return done;
}
int gettimeofday(struct timeval *at, void *zone) {
  struct timespec now;
  int done = clock_gettime(CLOCK_REALTIME, &now);
  at->tv_sec = now.tv_sec, at->tv_usec = now.tv_nsec / 1000;
  return done;
}
time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
"""


class Server:
    """The app on a port, with its log."""

    def __init__(self, mounts: str = "", runner: str = "", **environment: str) -> None:
        self.port, self.folder = free_port(), Path(tempfile.mkdtemp())
        self.log, self.looked_at = self.folder / "log", 0
        known = {"NUMBA_CACHE_DIR", "XDG_CACHE_HOME"}
        kept = {k: v for k, v in os.environ.items() if k not in known}
        program = f'{mounts or "true"}; exec {runner} "$@"'
        command = ["unshare", "-m", "sh", "-c", program, "sh", sys.executable]
        command += ["-m", "streamlit", "run", "app.py", f"--server.port={self.port}"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "--server.address=127.0.0.1"],
                cwd=ROOT,
                env=kept | {"ROOT": str(ROOT), "SIZE": "64k"} | environment,
                stdout=log,
                stderr=log,
            )

    @property
    def address(self) -> str:
        """Where a browser finds it."""
        return f"http://127.0.0.1:{self.port}/"

    def wait(self, seconds: float = 90.0) -> None:
        """Wait until it answers."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{self.address}_stcore/health")
                return
            time.sleep(0.1)
        raise RuntimeError(f"the server did not start: {self.last_line()}")

    def warm_up(self) -> None:
        """Wait until all is compiled, and its processes have started."""
        picture(self)  # the first page begins the start-up
        _until(lambda: self.children("forkserver"), COMPILED_SECONDS)
        _until(lambda: self.children("serve()"), 60)
        time.sleep(3)

    def said(self) -> str:
        """Its log since the row began."""
        return self.log.read_bytes()[self.looked_at :].decode("utf-8", "replace")

    def last_line(self) -> str:
        """The last line of the log that says something."""
        return ([line for line in self.said().splitlines() if line.strip()] or [""])[-1]

    def children(self, part: str) -> list[int]:
        """Its processes whose command line has a text, eldest first."""
        found = []
        for pid in sorted(processes(self.process.pid)):
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes().decode()
                if part in line and pid != self.process.pid:
                    found.append(pid)
        return found

    def megabytes(self) -> float:
        """Memory of it and its processes."""
        return sum(processes(self.process.pid).values())

    def stop(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()


@contextmanager
def server(*args: str, warm: bool = False, **environment: str) -> Iterator[Server]:
    """A server that answers; warm: all is compiled, its processes have started."""
    one = Server(*args, **environment)
    RUNNING.append(one)
    try:
        one.wait()
        if warm:
            one.warm_up()
        yield one
    finally:
        one.stop()


#: Servers of the row that is measured.
RUNNING: list[Server] = []


def _until(holds: Callable[[], Any], seconds: float) -> Any:
    end = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > end:
            raise TimeoutError(f"nothing after {seconds:.0f} s")
        time.sleep(0.1)
    return found


async def _picture(port: int) -> str:
    """What the live figure answers to a first visitor, who moves a slider then."""
    visitor = Visitor(0, port)
    with contextlib.suppress(TimeoutError):  # a busy machine compiles for a minute
        await asyncio.wait_for(Visitor(0, port).open(), 60)
    try:
        opening = asyncio.create_task(visitor.open())
        while not (opening.done() or visitor.errors):
            await asyncio.sleep(0.1)
        if visitor.errors:
            opening.cancel()
            return f"FAILS: the page has an error: {visitor.errors[0][:60]}"
        await opening
        for i in range(5):
            await visitor.move({"mu": 0.01 + i / 1e3}, dragging=i < 4)
        return "pictures follow the slider"
    except Exception as error:
        return f"FAILS: no picture ({type(error).__name__})"


def picture(one: Server) -> str:
    """See `_picture`."""
    with ThreadPoolExecutor(1) as apart:  # a browser has the loop of this thread
        return apart.submit(asyncio.run, _picture(one.port)).result()


@contextmanager
def browser() -> Iterator[Page]:
    """A page of Chromium."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=FLAGS
        )
        page = chromium.new_page()
        page.set_default_timeout(90e3)
        yield page
        chromium.close()


def shown(page: Page, seconds: float = 60.0) -> str:
    """The alerts and errors that a page comes to show."""
    alert = page.get_by_test_id("stAlert").or_(page.get_by_test_id("stException"))
    try:
        alert.first.wait_for(timeout=1e3 * seconds)
    except Exception:
        return "no alert"
    page.wait_for_timeout(500)
    return judged(" | ".join(dict.fromkeys(alert.all_inner_texts())))


def judged(text: str) -> str:
    """The text, marked where it is none that somebody wrote."""
    return f"FAILS: {text}" if any(raw in text for raw in RAW) else text


def uploaded(one: Server, page: Page, data: bytes = TABLE) -> str:
    """Upload a table on Data; what the page says of it."""
    path = one.folder / "t.csv"
    path.write_bytes(data)
    page.goto(f"{one.address}data")
    page.get_by_text("Upload data").click()
    picker = page.get_by_test_id("stFileUploader").filter(has_text="Your table")
    picker.locator("input[type=file]").set_input_files(path)
    problem = picker.get_by_role("alert")
    done = page.get_by_text("Source").filter(has_text="t.csv")
    alert = page.get_by_test_id("stAlert").or_(page.get_by_test_id("stException"))
    try:
        alert.or_(problem).or_(done).first.wait_for(timeout=90e3)
    except Exception:
        return "FAILS: no answer to the upload"
    page.wait_for_timeout(300)
    if done.count():
        return "the table is read"
    return judged(alert.or_(problem).first.inner_text())


def swept(one: Server, page: Page, key: str = "iris") -> str:
    """Run a sweep on Trade-off; what the page says of it."""
    page.goto(f"{one.address}tradeoff?data={key}")
    refine = page.get_by_role("button", name="Refine")
    chart = page.locator(".js-plotly-plot")
    alert = page.get_by_test_id("stAlert").or_(page.get_by_test_id("stException"))
    try:
        chart.or_(alert).first.wait_for(timeout=90e3)
        refine.wait_for(timeout=90e3)
        page.wait_for_timeout(3000)
        if not chart.count():  # the first sweep has two seconds
            refine.click()
            page.get_by_role("button", name="Stop").wait_for(timeout=30e3)
            raw = page.get_by_text(RAW[1])
            chart.or_(raw).first.wait_for(timeout=90e3)
    except Exception as problem:
        return judged(" | ".join(alert.all_inner_texts())) or f"FAILS: {problem}"
    texts = " | ".join(dict.fromkeys(alert.all_inner_texts()))
    return judged(texts) if not chart.count() else "the sweep has its chart"


# Disk and folders -------------------------------------------------------------------


def full_disk() -> str:
    """Home, temporary folders and all: not a byte is left."""
    with server(SMALL_DISK + FILL, HOME="/tmp/home") as one:
        return picture(one)


def disk_fills() -> str:
    """The disk is full when half of the machine code is written."""
    with server(SMALL_DISK, HOME="/tmp/home", SIZE="2m") as one:
        said = picture(one)
        _until(lambda: one.children("serve()"), 60)
        time.sleep(60)  # the other methods are compiled
        return f"{said}; later {picture(one)}"


def full_disk_upload() -> str:
    """A table is uploaded where not a byte is left."""
    with server(SMALL_DISK + FILL, HOME="/tmp/home") as one, browser() as page:
        return f"{picture(one)}; upload: {uploaded(one, page)}"


def full_disk_sweep() -> str:
    """A sweep where the disk became full after the start."""
    script = f"{SMALL_DISK} && mkdir $STAY/open"
    stay = tempfile.mkdtemp(dir="/var/lib")
    mounts = script.replace("$STAY", stay)
    try:
        with server(mounts, HOME=stay, SIZE="1m", warm=True) as one, browser() as page:
            inside = f"/proc/{one.process.pid}/root/tmp/fills"
            with contextlib.suppress(OSError), open(inside, "wb", 0) as file:
                while True:
                    file.write(bytes(4096))
            return f"{swept(one, page)}; upload: {uploaded(one, page)}"
    finally:
        shutil.rmtree(stay)


def read_only_home() -> str:
    """The home folder cannot be written to, the temporary one can."""
    with server(READ_ONLY_HOME, HOME="/srv/home") as one:
        return picture(one)


def read_only_all() -> str:
    """No folder can be written to, not even the temporary one."""
    mounts = READ_ONLY_HOME + READ_ONLY_TEMP
    with server(mounts, HOME="/srv/home") as one, browser() as page:
        return f"{picture(one)}; {swept(one, page)}; upload: {uploaded(one, page)}"


def read_only_cache() -> str:
    """NUMBA_CACHE_DIR lies in a file system that is read-only."""
    with server(READ_ONLY_HOME, HOME="/tmp", NUMBA_CACHE_DIR="/srv/home") as one:
        return picture(one)


def foreign_cache() -> str:
    """The user nobody has root's folder as NUMBA_CACHE_DIR, and no home."""
    folders = {"HOME": "/nonexistent", "NUMBA_CACHE_DIR": "/root/theirs"}
    with server(NOBODY, AS_NOBODY, **folders) as one:
        return picture(one)


def two_servers() -> str:
    """Two servers begin at the same moment with one empty cache; a third follows."""
    home = tempfile.mkdtemp()
    began = time.monotonic()
    both = [Server(HOME=home), Server(HOME=home)]
    RUNNING.extend(both)
    try:
        for one in both:
            one.wait()
        said = [picture(one) for one in both]
        for one in both:
            _until(lambda one=one: one.children("forkserver"), COMPILED_SECONDS)
        took = time.monotonic() - began
    finally:
        for one in both:
            one.stop()
    left = [*Path(home).rglob("*.tmp.*")]
    with server(HOME=home) as third:
        began = time.monotonic()
        said.append(picture(third))
        _until(lambda: third.children("forkserver"), COMPILED_SECONDS)
        again = time.monotonic() - began
    slow = "FAILS: the third compiles again, " * (again > took / 2)
    return (
        f"{'; '.join(dict.fromkeys(said))}; {slow}{took:.0f} s, then {again:.0f} s; "
        + (f"FAILS: {len(left)} files left over" if left else "no file left over")
    )


def cut_cache() -> str:
    """Machine code whose files a power cut has left empty."""
    home = tempfile.mkdtemp()
    with server(HOME=home, warm=True) as one:
        picture(one)
    for path in Path(home).rglob("*.nb[ic]"):
        path.write_bytes(path.read_bytes()[: 0 if path.suffix == ".nbi" else 100])
    with server(HOME=home) as one:
        return picture(one)


# Processes --------------------------------------------------------------------------


def _refining(page: Page, one: Server, key: str) -> None:
    """A fine sweep goes on."""
    page.goto(f"{one.address}tradeoff?data={key}")
    page.get_by_role("button", name="Refine").click(timeout=90e3)
    page.get_by_role("button", name="Stop").wait_for(timeout=30e3)


def study_killed(how: signal.Signals) -> str:
    """A process that computes a sweep is ended, and then the one it branched from."""
    with server(warm=True) as one, browser() as page:
        parent = one.children("forkserver")[0]
        _refining(page, one, "breast_cancer")
        mine = _until(
            lambda: [p for p in one.children("forkserver") if p != parent], 30
        )
        os.kill(mine[-1], how)
        first = shown(page, 30)
        again = swept(one, page, "wine")
        os.kill(parent, how)
        time.sleep(1)
        return f"{first}; again: {again}; parent: {swept(one, page, 'digits')}"


def reading_killed(how: signal.Signals) -> str:
    """The process that reads a file is ended while it does, and while it is idle."""
    with server(warm=True) as one, browser() as page:
        for idle in one.children("serve()"):
            os.kill(idle, how)
        time.sleep(0.5)
        first = uploaded(one, page)
        path = one.folder / "slow.arff"
        path.write_bytes(b"%\n" * 2_500_000)
        page.goto(f"{one.address}data")
        page.get_by_text("Upload data").click()
        picker = page.get_by_test_id("stFileUploader").filter(has_text="Your table")
        picker.locator("input[type=file]").set_input_files(path)
        time.sleep(3)
        os.kill(max(one.children("serve()"), key=processor_seconds), how)
        second = shown(page)
        return f"idle: {first}; at work: {second}; again: {uploaded(one, page)}"


def openml_killed(how: signal.Signals) -> str:
    """The process that talks to OpenML is ended while it waits for rows."""
    sets = [Served(4, "slow", trouble="slow"), Served(61, "kinds")]
    folder = tempfile.mkdtemp()
    settings = {"OPENML_CACHE_DIR": folder, "XDG_CONFIG_HOME": folder}
    with serving(*sets) as service, browser() as page:
        settings["SPE_OPENML_SERVER"] = service.url
        with server(**settings) as one:
            page.goto(f"{one.address}data?data=openml:4")
            (busy,) = _until(lambda: one.children("openml_process"), 60)
            _until(lambda: any("/download/" in asked for asked in service.asked), 60)
            os.kill(busy, how)
            first = shown(page)
            page.goto(f"{one.address}data?data=openml:4")
            second = shown(page)
            left = one.children("openml_process")
            return f"{first} | later: {second} | processes left: {len(left)}"


def openml_disk() -> str:
    """OpenML's cache folder has no room for a list of data sets."""
    folder = "/tmp/home"
    settings = {"OPENML_CACHE_DIR": folder, "XDG_CONFIG_HOME": folder, "HOME": folder}
    mounts = SMALL_DISK + FILL
    with serving(Served(61, "kinds")) as service, browser() as page:
        settings["SPE_OPENML_SERVER"] = service.url
        with server(mounts, **settings) as one:
            page.goto(f"{one.address}data?data=openml:61")
            return shown(page, 90)


# Clock ------------------------------------------------------------------------------


def clock(seconds: int) -> str:
    """The wall clock jumps while visitors drag, learn in a class and sweep."""
    folder = Path(tempfile.mkdtemp(dir="/var/lib"))
    (folder / "clock.c").write_text(CLOCK)
    library, off = folder / "clock.so", folder / "off"
    compiler = ["cc", "-shared", "-fPIC", "-O2", "-o", library, folder / "clock.c"]
    subprocess.run([*compiler, "-ldl"], check=True)
    off.write_bytes((0).to_bytes(8, sys.byteorder))
    cache = {"OPENML_CACHE_DIR": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with (
        serving(Served(61, "kinds")) as service,
        server(
            warm=True,
            LD_PRELOAD=str(library),
            CLOCK_OFF=str(off),
            SPE_OPENML_SERVER=service.url,
            **cache,
        ) as one,
        browser() as page,
    ):
        with ThreadPoolExecutor(1) as apart:
            over = _class_over(one, lambda: _jump(off, seconds))
            before = apart.submit(asyncio.run, over).result()
        said = f"{picture(one)}; {before}; {swept(one, page, 'wine')}"
        return f"{said}; {_listing(one, page, service)}; {uploaded(one, page)}"


def _jump(off: Path, seconds: int) -> None:
    with off.open("r+b") as file:
        file.write(seconds.to_bytes(8, sys.byteorder, signed=True))


async def _class_over(one: Server, jump: Callable[[], None]) -> str:
    """A class that is taught before the clock jumps, and after it."""
    teacher = Guest(one.port)
    code = await teacher.teach()
    student = Guest(one.port, code=code)
    student.page = ""
    await student.open()
    jump()
    later = Guest(one.port, code=code)
    await later.open()
    await student.click("lesson_answer_0_sent", 3)
    await asyncio.sleep(6)
    n_here = teacher.here
    await asyncio.gather(*(guest.close() for guest in (teacher, student, later)))
    return "the class goes on" if n_here == 2 else f"FAILS: {n_here} of 2 are counted"


def _listing(one: Server, page: Page, service: Any) -> str:
    """A list of data sets that was fetched at a time that is still to come."""
    folder = Path(service_folder(one))
    listing = next(folder.rglob("listing.json"), None)
    if listing is None:
        _search(page, one)
        listing = _until(lambda: next(folder.rglob("listing.json"), None), 60)
    ahead = time.time() + 30 * 86_400
    os.utime(listing, (ahead, ahead))
    asked = sum("/data/list" in path for path in service.asked)
    _search(page, one)
    anew = sum("/data/list" in path for path in service.asked) > asked
    return "the list of OpenML is fetched anew" if anew else "FAILS: an old list stays"


def service_folder(one: Server) -> str:
    """OpenML's cache of a server."""
    lines = Path(f"/proc/{one.process.pid}/environ").read_bytes().split(b"\0")
    return next(x for x in lines if x.startswith(b"OPENML_CACHE_DIR=")).decode()[17:]


def _search(page: Page, one: Server) -> None:
    page.goto(f"{one.address}data")
    page.get_by_text("Fetch from OpenML").click()
    page.get_by_label("Name, a part of it, or OpenML's id", exact=True).fill("k")
    page.keyboard.press("Enter")
    page.wait_for_timeout(8000)


# Classes ----------------------------------------------------------------------------


class Guest(Tab):
    """A tab on Lessons, of a teacher, a student or neither."""

    def __init__(
        self, port: int, code: str = "", cookie: str = "", at: str = "127.0.0.1"
    ) -> None:
        super().__init__(port, "lessons", f"class={code}" if code else "")
        headers = {}
        if cookie:
            headers["Cookie"] = f"_streamlit_xsrf=2|00000000|{cookie}|0"
        self.connection = {"additional_headers": headers, "local_addr": (at, 0)}
        self.alerts: list[str] = []
        self.captions: list[str] = []
        self.fields: dict[str, str] = {}
        self.here = -1

    @property
    def refused(self) -> str:
        """Why there is no way into the class; empty if there is one."""
        words = "no class with this code", "Too many wrong codes", "is the most"
        return next((a for a in self.alerts if any(w in a for w in words)), "")

    async def close(self) -> None:
        """Close the tab."""
        await self._close()

    def _element(self, delta: Any) -> None:
        super()._element(delta)
        element = delta.new_element
        kind = element.WhichOneof("type")
        if kind == "alert":
            self.alerts.append(element.alert.body)
        elif kind == "markdown":
            body = element.markdown.body
            self.captions.append(body)
            if " here, no names are kept" in body:
                self.here = int(body.split()[0])
        elif kind in ("text_input", "number_input", "radio"):
            field = getattr(element, kind).id
            if field.split("-", 2)[-1].startswith(("class_code", "lesson_answer")):
                self.fields[kind] = field

    async def teach(self, lesson: str = NUMBER) -> str:
        """Begin a class; its code."""
        await self.open()
        await self.click(f"class_{lesson}")
        return self.texts.get("Code", "")

    async def forge(self, trigger: str = "", **fields: tuple[str, Any]) -> None:
        """Send what no control of the page would: values by kind of field."""
        back = BackMsg()
        ask = back.rerun_script
        ask.query_string, ask.page_script_hash = self.query, self._hash
        for kind, (name, value) in fields.items():
            state = ask.widget_states.widgets.add()
            state.id = self.fields[kind]
            setattr(state, name, value)
        if trigger:
            state = ask.widget_states.widgets.add()
            state.id, state.trigger_value = trigger, True
        self._idle.clear()
        await self._socket.send(back.SerializeToString())
        await asyncio.wait_for(self._idle.wait(), 30)

    async def guess(self, code: str) -> str:
        """Type a code on Lessons; what is said then."""
        del self.alerts[:]
        join = next(
            identity for key, (identity, _) in self.keys.items() if "Join" in key
        )
        await self.forge(join, text_input=("string_value", code))
        return " ".join(self.alerts)


def _code() -> str:
    return "".join(secrets.choice("23456789ABCDEFGH") for _ in range(6))


@functools.cache
def _school() -> Server:
    """The server of all rows of classes; each has addresses of its own."""
    one = Server()
    atexit.register(one.stop)
    one.wait()
    one.warm_up()
    return one


def classroom_of(act: Callable[[Server], Awaitable[str]]) -> str:
    """A row of a class."""
    one = _school()
    one.looked_at = one.log.stat().st_size
    RUNNING.append(one)
    return asyncio.run(act(one))


async def thousand_joins(one: Server) -> str:
    """1,000 students of whom each leaves at once, and then one who stays."""
    teacher = Guest(one.port)
    code = await teacher.teach()
    before, n_refused = megabytes(one.process.pid), 0
    for _ in range(0, 1000, 10):
        guests = [Guest(one.port, code=code) for _ in range(10)]
        await asyncio.gather(*(guest.open() for guest in guests))
        n_refused += sum(bool(guest.refused) for guest in guests)
        await asyncio.gather(*(guest.close() for guest in guests))
    await asyncio.sleep(30)
    last = Guest(one.port, code=code)
    await last.open()
    joined = not last.refused
    await asyncio.sleep(5)
    grown = (megabytes(one.process.pid) - before) / 1000
    said = f"{n_refused} of 1,000 refused; the class counts {teacher.here} here; "
    said += "one more joins" if joined else "FAILS: one more finds no place"
    return f"{said}; {1e3 * grown:.0f} kB a student are left"


async def codes_guessed(one: Server) -> str:
    """20 tabs of one address guess codes for 30 s beside a class of that address."""
    teacher = Guest(one.port, at="127.0.1.9")
    code = await teacher.teach()
    student = Guest(one.port, code=code, cookie="ab" * 16, at="127.0.1.2")
    await student.open()
    tabs = [Guest(one.port, at="127.0.1.2") for _ in range(20)]
    for tab in tabs:
        await tab.open()
    said = await _guessing(tabs, 30)
    await student.close()
    await asyncio.sleep(1)
    back = Guest(one.port, code=code, cookie="ab" * 16, at="127.0.1.2")
    other = Guest(one.port, code=code, at="127.0.1.3")
    await back.open()
    await other.open()
    bad = [w for w, g in (("student", back), ("neighbour", other)) if g.refused]
    return f"{said}; " + (f"FAILS: {bad} kept out" if bad else "the class goes on")


async def forged_address(one: Server) -> str:
    """Tabs guess codes at once, each under an address that it claims to have."""
    tabs = [Guest(one.port) for _ in range(70)]
    for i, tab in enumerate(tabs):
        headers = tab.connection["additional_headers"]
        headers["X-Forwarded-For"] = f"198.51.100.{i}"
        await tab.open()
    return await _guessing(tabs, 40)


async def _guessing(tabs: list[Guest], seconds: float) -> str:
    """Guess codes for a while; how many were looked up, and whether they may be."""
    tried, began = [0, 0], time.monotonic()

    async def go_on(tab: Guest) -> None:
        while time.monotonic() < began + seconds:
            said = await tab.guess(_code())
            tried["no class with this code" not in said] += 1

    await asyncio.gather(*map(go_on, tabs))
    took = time.monotonic() - began
    said = f"{tried[0]} of {sum(tried)} codes were looked up in {took:.0f} s"
    return f"FAILS: {said}" if tried[0] > 60 * (took // 60 + 2) else said


async def many_classes(one: Server) -> str:
    """One address begins 250 classes; somebody taught one before."""
    teacher = Guest(one.port, cookie="dc" * 16, at="127.0.2.2")
    code = await teacher.teach()
    student = Guest(one.port, code=code, at="127.0.2.2")
    await student.open()
    before = megabytes(one.process.pid)
    said: list[str] = []
    for _ in range(250):
        other = Guest(one.port, at="127.0.2.1")
        await other.teach("01-several-prototypes.json")
        said += [other.refused] * bool(other.refused)
        await other.close()
    late = Guest(one.port, code=code, at="127.0.2.3")
    await late.open()
    grown = megabytes(one.process.pid) - before
    alive = not late.refused
    words = "the class goes on" if alive else "FAILS: the teacher's class was ended"
    told = f"; told: {said[0][:80]}" if said else ""
    return f"{words}; {grown:.0f} MB for 250{told}"


async def ended_by_another(one: Server) -> str:
    """A student sends what the teacher's End would send, by message and by link."""
    teacher = Guest(one.port, cookie="cd" * 16)
    code = await teacher.teach()
    end = teacher.keys["class_end"][0]
    student = Guest(one.port, code=code, cookie="ee" * 16)
    await student.open()
    with contextlib.suppress(TimeoutError):
        await student.forge(end)
    forger = Guest(one.port, code=code, cookie="")
    forger.query += f"&class_end=1&classroom={code}&end={code}"
    forger.connection["additional_headers"]["Cookie"] = "_streamlit_xsrf=2|00||0"
    await forger.open()
    for guess in ("class_end", f"class_{NUMBER}"):
        with contextlib.suppress(TimeoutError, StopIteration):
            await forger.forge(teacher.keys.get(guess, (end,))[0])
    late = Guest(one.port, code=code)
    await late.open()
    return "FAILS: the class was ended" if late.refused else "the class goes on"


async def absurd_answers(one: Server) -> str:
    """A student answers by forged messages: 1e308, NaN, text, twice, another step."""
    teacher = Guest(one.port, cookie="cd" * 16)
    code = await teacher.teach()
    student = Guest(one.port, code=code, cookie="ee" * 16)
    student.page = ""
    await student.open()
    send = await _sent(student, "lesson_answer_0_sent")
    bad = []
    for name, value in (
        ("double_value", 1e308),
        ("double_value", float("nan")),
        ("string_value", "9" * 10_000),
        ("int_value", -(2**60)),
        ("json_value", "{"),
        ("bool_value", True),
    ):
        with contextlib.suppress(TimeoutError):
            await student.forge(send, number_input=(name, value))
        if student.errors:
            bad.append(f"{name} {str(value)[:6]}")
            student = Guest(one.port, code=code, cookie="ee" * 16)
            student.page = ""
            await student.open()
            send = await _sent(student, "lesson_answer_0_sent")
    await asyncio.sleep(6)
    counted = max(len(teacher.counted), 0)
    for value in (3.0, 5.0):
        with contextlib.suppress(TimeoutError):
            await student.forge(send, number_input=("double_value", value))
    second = Guest(one.port, code=code, cookie="ee" * 16)
    second.page = ""
    await second.open()
    with contextlib.suppress(TimeoutError, KeyError, StopIteration):
        send = await _sent(second, "lesson_answer_0_sent")
        await second.forge(send, number_input=("double_value", 7.0))
    await asyncio.sleep(6)
    n = len(teacher.counted)
    said = f"FAILS: a traceback for {', '.join(bad)}; " if bad else ""
    said += f"FAILS: {counted} absurd answers counted; " if counted else ""
    said += (
        f"FAILS: {n} answers of one browser" if n != 1 else "one browser, one answer"
    )
    return f"{said}; teacher's page: {teacher.errors[:1] or 'without an error'}"


async def _sent(tab: Guest, key: str) -> str:
    for _ in range(200):
        if key in tab.keys:
            return tab.keys[key][0]
        await asyncio.sleep(0.05)
    raise KeyError(key)


async def absurd_codes(one: Server) -> str:
    """A code of 10 kB, of other signs, a number; a step that is not there."""
    tab = Guest(one.port)
    await tab.open()
    said = []
    for name, value in (
        ("string_value", "x" * 10_000),
        ("string_value", "\u202e\x00<img onerror=alert(1)>"),
        ("double_value", 1e308),
    ):
        join = next(
            identity for key, (identity, _) in tab.keys.items() if "Join" in key
        )
        del tab.alerts[:]
        with contextlib.suppress(TimeoutError):
            await tab.forge(join, text_input=(name, value))
        error = f"FAILS: {tab.errors[0][:60]}" if tab.errors else ""
        said.append(error or (tab.alerts[-1][:60] if tab.alerts else "nothing"))
        if tab.errors:
            tab = Guest(one.port)
            await tab.open()
    for step in ("99", "-1", "1e9", "9" * 60):
        visitor = Visitor(0, one.port, f"moons&lesson={NUMBER}&step={step}")
        await visitor.open()
        said += [f"FAILS: {error[:60]}" for error in visitor.errors]
    return "; ".join(dict.fromkeys(said))


KILLS = (signal.SIGTERM, signal.SIGKILL)
#: What is tried, in words -> what does it.
ROWS: dict[str, Callable[[], str]] = {
    "disk full: first visitor": full_disk,
    "disk full: upload": full_disk_upload,
    "disk fills while compiling": disk_fills,
    "disk fills after the start: sweep, upload": full_disk_sweep,
    "disk full: OpenML": openml_disk,
    "home read-only": read_only_home,
    "home and temporary folders read-only": read_only_all,
    "NUMBA_CACHE_DIR read-only": read_only_cache,
    "NUMBA_CACHE_DIR of another user": foreign_cache,
    "two servers, one empty cache": two_servers,
    "machine code cut by a power cut": cut_cache,
    **{f"{k.name}: studies": lambda k=k: study_killed(k) for k in KILLS},
    **{f"{k.name}: reading": lambda k=k: reading_killed(k) for k in KILLS},
    **{f"{k.name}: OpenML": lambda k=k: openml_killed(k) for k in KILLS},
    "clock back by an hour": lambda: clock(-3600),
    "clock forward by a day": lambda: clock(86_400),
    "class: 1,000 joins": lambda: classroom_of(thousand_joins),
    "class: codes guessed": lambda: classroom_of(codes_guessed),
    "class: codes guessed under forged addresses": lambda: classroom_of(forged_address),
    "class: 250 classes of one address": lambda: classroom_of(many_classes),
    "class: ended by another": lambda: classroom_of(ended_by_another),
    "class: absurd and second answers": lambda: classroom_of(absurd_answers),
    "class: absurd codes and steps": lambda: classroom_of(absurd_codes),
}


def measure(name: str, act: Callable[[], str]) -> dict[str, Any]:
    """Do a row; what came of it."""
    del RUNNING[:]
    began = time.monotonic()
    try:
        said = act()
    except Exception as problem:
        said = f"FAILS: {type(problem).__name__}: {problem}"
    took = time.monotonic() - began
    logs = [one.said() for one in RUNNING]
    n_tracebacks = sum(log.count("Traceback (most recent call last)") for log in logs)
    row = {"row": name, "said": " ".join(said.split()), "seconds": took}
    row |= {"tracebacks": n_tracebacks, "logs": [str(one.log) for one in RUNNING]}
    print(f"{name:<45} {took:5.0f} s | {n_tracebacks:3} tracebacks | ", end="")
    print(row["said"][:400], flush=True)
    return row


def compared(before: Path, after: Path) -> None:
    """Print two files of rows beside each other, as Markdown."""
    rows: list[dict[str, dict]] = []
    for path in (before, after):
        lines = map(json.loads, path.read_text("utf-8").splitlines())
        rows.append({line["row"]: line for line in lines})
    print("| what was tried | before | after |\n|---|---|---|")
    for name in ROWS:
        cells = [
            f"{of[name]['said']} ({of[name]['tracebacks']} tracebacks)"
            if name in of
            else ""
            for of in rows
        ]
        print(f"| {name} | {' | '.join(c.replace('|', '/') for c in cells)} |")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=[""], help="words of rows")
    parser.add_argument("--append", type=Path, help="a file of JSON lines")
    parser.add_argument("--table", type=Path, nargs=2, metavar=("BEFORE", "AFTER"))
    chosen = parser.parse_args()
    if chosen.table:
        compared(*chosen.table)
        return
    for name, act in ROWS.items():
        if any(word in name for word in chosen.only):
            row = measure(name, act)
            if chosen.append:
                with chosen.append.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
