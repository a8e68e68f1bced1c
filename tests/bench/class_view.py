"""A class by a code: ``python -m tests.bench.class_view [--students 30]``.

Students on real websockets take the lesson on fusion for two minutes while a teacher's
view is open, and answer its first question. Printed are the times from a click to the
whole page, the time until the teacher's view counts an answer, processor and memory.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import time

from streamlit.proto.BackMsg_pb2 import BackMsg

from tests.bench.classroom import (
    free_port,
    megabytes,
    percentile,
    processor_seconds,
    start_server,
)
from tests.bench.long_work import Worker

LESSON = "02-fusion.json"


class Tab(Worker):
    """A tab whose buttons are clicked by the ends of their keys."""

    def __init__(self, port: int, page: str, query: str = "") -> None:
        super().__init__(port, page, ("moons",))
        self.query, self.keys, self.numbers = query, {}, {}
        self.texts: dict[str, str] = {}
        self.times: list[float] = []
        self.counted: list[float] = []

    async def _rerun(self, trigger: str = "", **how: object) -> None:
        self._query = self.query
        await super()._rerun(trigger, **how)

    def _element(self, delta: object) -> None:
        super()._element(delta)
        element = delta.new_element
        kind = element.WhichOneof("type")
        if kind == "button":
            self.keys[element.button.id.split("-", 2)[-1]] = (
                element.button.id,
                delta.fragment_id,
            )
        elif kind == "number_input":
            self.numbers[element.number_input.id] = delta.fragment_id
        elif kind == "metric":
            self.texts[element.metric.label] = element.metric.body
        elif kind == "markdown":
            if counted := re.match(r"(\d+) answers?:", element.markdown.body):
                while len(self.counted) < int(counted[1]):
                    self.counted.append(time.perf_counter())

    async def click(self, key: str, number: float | None = None) -> None:
        """Click a button, a number typed before; wait for the whole page."""
        for _ in range(600):
            if key in self.keys:
                break
            await asyncio.sleep(0.05)
        identity, _ = self.keys[key]
        started = time.perf_counter()
        self._idle.clear()
        back = BackMsg()
        ask = back.rerun_script
        ask.query_string, ask.page_script_hash = self.query, self._hash
        if number is not None:
            state = ask.widget_states.widgets.add()
            state.id, state.double_value = list(self.numbers)[-1], number
        state = ask.widget_states.widgets.add()
        state.id, state.trigger_value = identity, True
        await self._socket.send(back.SerializeToString())
        await self._idle.wait()
        self.times.append(time.perf_counter() - started)


async def _student(tab: Tab, end: float, answered: list[float]) -> None:
    """Answer once, then go to and fro, as slowly as somebody who reads."""
    await asyncio.sleep(random.uniform(0, 20))
    await tab.click("lesson_answer_0_sent", random.randint(1, 8))
    answered.append(time.perf_counter())
    while time.perf_counter() < end:
        await asyncio.sleep(random.uniform(5, 10))
        await tab.click(random.choice(("lesson_next", "lesson_restart")))
        await asyncio.sleep(random.uniform(5, 10))
        await tab.click("lesson_back")


async def run(n_students: int, seconds: float) -> None:
    """Run the class and print its figures."""
    port = free_port()
    server = start_server(port)
    try:
        teacher = Tab(port, "lessons")
        await teacher.open()
        await asyncio.sleep(20)  # the background compilation is done
        await teacher.click(f"class_{LESSON}")
        code = teacher.texts["Code"]
        before = megabytes(server.pid)
        students = [Tab(port, "", f"class={code}") for _ in range(n_students)]
        opened = []
        for student in students:
            started = time.perf_counter()
            await student.open()
            opened.append(time.perf_counter() - started)
        answered: list[float] = []
        used, began = processor_seconds(server.pid)[0], time.perf_counter()
        end = began + seconds
        work = [_student(student, end, answered) for student in students]
        failed = [
            repr(one)
            for one in await asyncio.gather(*work, return_exceptions=True)
            if one is not None
        ]
        took = time.perf_counter() - began
        used = processor_seconds(server.pid)[0] - used
        after = megabytes(server.pid)
    finally:
        server.kill()
    times = [t for student in students for t in student.times]
    errors = failed + [e for tab in (teacher, *students) for e in tab.errors]
    print(f"{n_students} students, {took:.0f} s, {len(times)} clicks")
    for name, values in (("open by link", opened), ("click", times)):
        middle, late = percentile(values, 0.5), percentile(values, 0.95)
        print(f"{name:14} median / p95 {1e3 * middle:.0f} / {1e3 * late:.0f} ms")
    # The n-th answer counted may be another one's than the n-th given: a mean is exact.
    lags = [b - a for a, b in zip(sorted(answered), teacher.counted, strict=False)]
    print(f"answers        {len(answered)}, counted by the teacher's view ", end="")
    print(f"{len(lags)}, {sum(lags) / max(1, len(lags)):.1f} s later on average")
    print(f"processor      {used / took:.0%} of one core")
    print(f"memory         {(after - before) / n_students:.1f} MB a student")
    print(f"errors         {len(errors)} {errors[:3]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=120)
    chosen = parser.parse_args()
    asyncio.run(run(chosen.students, chosen.seconds))
