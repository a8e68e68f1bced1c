"""A class by a code: ``python -m tests.bench.class_view [--students 60]``.

Students on real websockets take the lesson on fusion with a teacher who holds them
together: they join within half a minute, then nothing happens, then the class is moved
every six seconds (open, vote again, show, next, back) and answers what is asked.
Printed are the times of joining, from the teacher's click to each student's page, from
a student's answer to the whole page and to the teacher's count, from each place of the
teacher's slider to the pictures of all who follow, of a drag on Explore without and
beside the class (while it waits), processor and memory. Aims of a class of 60 on two
cores: joining 2 s, voting 1 s and following 0.5 s (p95).
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import re
import struct
import time
from collections.abc import Iterable
from functools import lru_cache

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.bench.classroom import (
    Visitor,
    free_port,
    megabytes,
    percentile,
    processor_seconds,
    start_server,
)

LESSON = "02-fusion.json"
#: Seconds in which nothing happens.
QUIET = 8.0
#: Seconds in which all students join.
JOINING = 30.0
#: How the server knows the teacher's browser.
COOKIE = f"_streamlit_xsrf=2|00000000|{'ab' * 16}|0"
#: Seconds that the teacher drags while all follow, and places of the slider in one.
DRAGGED, PLACES_A_SECOND = 10.0, 20


class Tab:
    """A browser tab on a page, without the browser: it polls as the browser does.

    Parameters
    ----------
    port : int
    page : str
        As the URL has it.
    query, cookie : str
    """

    def __init__(self, port: int, page: str, query: str = "", cookie: str = "") -> None:
        self._headers = {"Cookie": cookie} if cookie else {}
        self._url = f"ws://127.0.0.1:{port}/_stcore/stream"
        self.page, self.query, self._hash = page, query, ""
        self.errors: list[str] = []
        #: Identities of buttons by the ends of their keys, and of fields for numbers.
        self.keys: dict[str, str] = {}
        self.numbers: list[str] = []
        self.texts: dict[str, str] = {}
        self.times: list[float] = []
        self.counted: list[float] = []
        #: When the lesson's bar came, by whatever brought it.
        self.moved: list[float] = []
        self.answered: list[float] = []
        self._polls: dict[str, asyncio.Task] = {}
        self._idle = asyncio.Event()

    async def open(self) -> None:
        """Open the page as a new visitor, and see it whole."""
        self._socket = await websockets.connect(
            self._url,
            subprotocols=["streamlit"],
            additional_headers=self._headers,
            max_size=None,
            compression=None,
        )
        self._reader = asyncio.create_task(self._read())
        await self._rerun(page_name=self.page)
        await self._idle.wait()

    async def close(self) -> None:
        """Close the tab."""
        self._end_polls(list(self._polls))
        self._reader.cancel()
        await self._socket.close()

    async def _rerun(self, **how: object) -> None:
        back = BackMsg()
        back.rerun_script.query_string = self.query
        back.rerun_script.page_script_hash = self._hash
        for name, value in how.items():
            setattr(back.rerun_script, name, value)
        await self._socket.send(back.SerializeToString())

    async def _poll(self, fragment: str, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            await self._rerun(fragment_id=fragment, is_auto_rerun=True)

    async def _read(self) -> None:
        try:
            while True:
                message = ForwardMsg()
                message.ParseFromString(await self._socket.recv())
                self._note(message)
        except Exception as error:
            self.errors.append(repr(error))

    def _note(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "navigation":
            self._hash = message.navigation.page_script_hash
        elif kind == "new_session" and not message.metadata.run.fragment_ids:
            self._idle.clear()
            self._end_polls(list(self._polls))
        elif kind == "script_finished":
            if message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                self._idle.set()
        elif kind == "stop_auto_rerun":
            self._end_polls(message.stop_auto_rerun.fragment_ids)
        elif kind == "auto_rerun":
            fragment, seconds = message.auto_rerun.fragment_id, message.auto_rerun
            if fragment not in self._polls:
                poll = self._poll(fragment, seconds.interval)
                self._polls[fragment] = asyncio.create_task(poll)
        elif kind == "delta":
            self._element(message.delta.new_element)

    def _end_polls(self, fragments: Iterable[str]) -> None:
        for fragment in fragments:
            if fragment in self._polls:
                self._polls.pop(fragment).cancel()

    def _element(self, element: Element) -> None:
        kind = element.WhichOneof("type")
        if kind == "exception":
            self.errors.append(element.exception.message)
        elif kind == "button":
            self.keys[element.button.id.split("-", 2)[-1]] = element.button.id
        elif kind == "checkbox":
            self.keys[element.checkbox.label] = element.checkbox.id
        elif kind == "code":
            self.texts["link"] = element.code.code_text
        elif kind == "number_input":
            self.numbers.append(element.number_input.id)
        elif kind == "progress":
            self.moved.append(time.perf_counter())
        elif kind == "metric":
            self.texts[element.metric.label] = element.metric.body
        elif kind == "markdown":
            if counted := re.match(r"(\d+) answers?:", element.markdown.body):
                while len(self.counted) < int(counted[1]):
                    self.counted.append(time.perf_counter())

    async def turn_on(self, label: str) -> None:
        """Turn a switch on."""
        back = BackMsg()
        back.rerun_script.query_string = self.query
        back.rerun_script.page_script_hash = self._hash
        state = back.rerun_script.widget_states.widgets.add()
        state.id, state.bool_value = self.keys[label], True
        self._idle.clear()
        await self._socket.send(back.SerializeToString())
        await self._idle.wait()

    async def click(self, key: str, number: float | None = None) -> None:
        """Click a button, a number typed before; wait for the whole page."""
        for _ in range(600):
            if key in self.keys and (number is None or self.numbers):
                break
            await asyncio.sleep(0.05)
        started = time.perf_counter()
        self._idle.clear()
        back = BackMsg()
        ask = back.rerun_script
        ask.query_string, ask.page_script_hash = self.query, self._hash
        if number is not None:
            state = ask.widget_states.widgets.add()
            state.id, state.double_value = self.numbers[-1], number
        state = ask.widget_states.widgets.add()
        state.id, state.trigger_value = self.keys[key], True
        await self._socket.send(back.SerializeToString())
        await self._idle.wait()
        self.times.append(time.perf_counter() - started)


async def _join(tab: Tab) -> float:
    """Join within the time of the class; the seconds until the page is whole."""
    await asyncio.sleep(random.uniform(0, JOINING))
    started = time.perf_counter()
    await tab.open()
    return time.perf_counter() - started


async def _answer(tab: Tab, key: str) -> None:
    """Answer what was opened, as slowly as somebody who reads."""
    await asyncio.sleep(random.uniform(1, 4))
    await tab.click(key, random.randint(1, 8))
    tab.answered.append(time.perf_counter())


async def _taught(teacher: Tab, students: list[Tab], end: float) -> list[float]:
    """Seconds from each move of the teacher to the page of each student."""
    lags = []
    key = "lesson_answer_0"
    moves = ("open", f"{key}_sent"), ("vote", f"{key}_second_sent"), ("show", "")
    for move, answered in (*moves, *[("next", ""), ("step", "")] * 1000):
        if time.perf_counter() > end:
            return lags
        for student in students:
            student.moved.clear()
        began = time.perf_counter()
        await teacher.click(f"class_move_{move}")
        work = [_answer(student, answered) for student in students if answered]
        await asyncio.gather(asyncio.sleep(6), *work)
        lags += [(one.moved or [float("inf")])[0] - began for one in students]
    return lags


@lru_cache(50)
def _place(data: bytes) -> float:
    """Where the slider is in a picture that a class sees."""
    data = gzip.decompress(data)
    (length,) = struct.unpack_from("<I", data)
    rows = json.loads(data[4 : 4 + length])["controls"]
    return next(row["value"] for row in rows if row["name"] == "lam")


async def _watched(port: int, link: str, sent: dict[float, float]) -> list[float]:
    """Seconds from each place that is seen, as a browser asks for pictures."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lags, number = [], 0
    try:
        while True:
            writer.write(
                f"GET /_class/{link}/{number} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
            )
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            if " 204 " in head.split("\r\n")[0]:
                continue
            data = await reader.readexactly(
                int(re.search(r"content-length: (\d+)", head)[1])
            )
            lags.append(time.perf_counter() - sent.get(_place(data), float("inf")))
            number = _number(data)
    except asyncio.CancelledError:
        return lags
    finally:
        writer.close()


@lru_cache(50)
def _number(data: bytes) -> int:
    return int(re.search(rb'"number": (\d+)', gzip.decompress(data))[1])


async def _followed(port: int, link: str, n_students: int) -> tuple[list, list]:
    """Seconds to each picture of those who follow the teacher, and of the teacher's."""
    switches = Tab(port, "", f"class={link}", COOKIE)
    await switches.open()
    await switches.turn_on("Follow me")
    await switches.close()
    teacher, sent = Visitor(0, port, query=f"class={link}", cookie=COOKIE), {}
    await teacher.open()
    await asyncio.sleep(4)  # all have opened their figures anew
    work = [asyncio.create_task(_watched(port, link, sent)) for _ in range(n_students)]
    await asyncio.sleep(1)
    for i in range(int(DRAGGED * PLACES_A_SECOND)):
        place = round(0.01 + 0.0002 * i, 6)
        sent[place] = time.perf_counter()
        await teacher.move({"lam": place}, dragging=True)
        late = 1 / PLACES_A_SECOND - (time.perf_counter() - sent[place])
        await asyncio.sleep(max(0.0, late))
    await asyncio.sleep(2)
    for one in work:
        one.cancel()
    lags = [lag for one in await asyncio.gather(*work) for lag in one[1:]]
    return lags, teacher.times


async def _dragged(visitor: Visitor) -> list[float]:
    """Seconds from each place of a slider that is dragged on Explore to its picture."""
    await visitor.open()  # a tab that nobody reads from is closed
    visitor.times = []
    await visitor.drag(QUIET)
    return visitor.times


async def run(n_students: int, seconds: float) -> None:
    """Run the class and print its figures."""
    port = free_port()
    server = start_server(port)
    try:
        teacher = Tab(port, "lessons", cookie=COOKIE)
        await teacher.open()
        await asyncio.sleep(20)  # the background compilation is done
        visitor = Visitor(0, port)
        drags = {"drag alone": await _dragged(visitor)}
        await teacher.click(f"class_{LESSON}")
        link = teacher.texts["link"].split("class=")[1]
        before = megabytes(server.pid)
        students = [Tab(port, "", f"class={link}") for _ in range(n_students)]
        opened = await asyncio.gather(*map(_join, students))
        used = -processor_seconds(server.pid)
        await asyncio.sleep(QUIET)
        used += processor_seconds(server.pid)
        drags["beside it"] = await _dragged(visitor)
        lags = await _taught(teacher, students, time.perf_counter() + seconds)
        after = megabytes(server.pid)
        for move in ("next", "skip"):  # to the step that leaves the slider free
            await teacher.click(f"class_move_{move}")
        followed, led = await _followed(port, link, n_students)
        for student in students:
            await student.close()
        drags["drag alone"] += await _dragged(visitor)  # as the machine may be busier
    finally:
        server.kill()
    times = [t for student in students for t in student.times]
    answered = sorted(t for student in students for t in student.answered)
    n_pictures = len(followed) / n_students
    print(f"{n_pictures / DRAGGED:.1f} pictures a second for each who follows")
    errors = [e for tab in (teacher, *students) for e in tab.errors]
    print(f"{n_students} students, {len(lags)} moves of a screen")
    rows = {"joining": opened, "screen follows": lags, "voting": times, **drags}
    rows |= {"leading": led, "following": followed}
    for name, values in rows.items():
        middle, late = percentile(values, 0.5), percentile(values, 0.95)
        print(f"{name:14} median / p95 {1e3 * middle:.0f} / {1e3 * late:.0f} ms")
    # The n-th answer counted may be another one's than the n-th given: a mean is exact.
    waits = [b - a for a, b in zip(answered, teacher.counted, strict=False)]
    print(f"answers        {len(answered)}, counted by the teacher's view ", end="")
    print(f"{len(waits)}, {sum(waits) / max(1, len(waits)):.1f} s later on average")
    alone, beside = (percentile(values, 0.95) for values in drags.values())
    print(f"drag           p95 {beside / alone:.2f} times that without a class")
    print(f"nothing moves  {used / QUIET:.0%} of one core")
    print(f"memory         {(after - before) / n_students:.1f} MB a student")
    print(f"errors         {len(errors)} {errors[:3]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=30)
    chosen = parser.parse_args()
    asyncio.run(run(chosen.students, chosen.seconds))
