"""Visitors whose clicks start long jobs, over the app's own websocket protocol.

Each opens its page, clicks what starts the job, polls as the browser does, and starts
it again, on other rows, when it is done.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg


class Worker:
    """One browser tab on one page, without the browser.

    Parameters
    ----------
    port : int
    page : str
        As the URL has it.
    keys : tuple of str
        Of data sets, one after the other.
    steps : tuple of str
        Labels of what is clicked before the job runs: a segment, or a button.
    """

    def __init__(
        self, port: int, page: str, keys: tuple[str, ...], *steps: str
    ) -> None:
        self._url = f"ws://127.0.0.1:{port}/_stcore/stream"
        self.page, self._keys, self._steps = page, keys, steps
        self.errors: list[str] = []
        self.seen: list[str] = []
        self.n_starts = 0
        self.busy_seconds = 0.0
        #: More for the connection: headers, or the address that it comes from.
        self.connection: dict[str, object] = {}

    async def open(self) -> None:
        """Open the page as a new visitor, and see it whole."""
        self._hash = ""
        # What was swept is kept: with another seed the split is another one.
        key = self._keys[self.n_starts % len(self._keys)]
        self._query = f"data={key}&seed={self.n_starts}"
        self._buttons: dict[str, tuple[str, str]] = {}
        self._segments: dict[str, str] = {}
        self._states: dict[str, list[str]] = {}
        self._polls: dict[str, asyncio.Task] = {}
        self._idle = asyncio.Event()
        self._socket = await websockets.connect(
            self._url,
            subprotocols=["streamlit"],
            max_size=None,
            compression=None,
            **self.connection,
        )
        self._reader = asyncio.create_task(self._read())
        await self._rerun(page_name=self.page)
        await self._idle.wait()

    async def work(self) -> None:
        """Click through to the job; again and again, until cancelled."""
        try:
            while True:
                for label in self._steps:
                    await self._click(label)
                self.n_starts += 1
                started = time.monotonic()
                try:
                    await self._until(lambda: "Stop" not in self._buttons)
                finally:
                    self.busy_seconds += time.monotonic() - started
                await self._close()
                await self.open()
        except asyncio.CancelledError:
            pass
        except Exception as error:
            self.errors.append(repr(error))
        finally:
            await self._close()

    async def _close(self) -> None:
        for task in (self._reader, *self._polls.values()):
            task.cancel()
        await self._socket.close()

    async def _click(self, label: str) -> None:
        """Click what is there, and wait until the page shows what came of it."""
        await self._until(lambda: label in {*self._segments, *self._buttons})
        if label in self._segments:
            self._idle.clear()
            self._states[self._segments[label]] = [label]
            await self._rerun()
            await self._idle.wait()
        else:
            identity, fragment = self._buttons.pop(label)
            await self._rerun(trigger=identity, fragment_id=fragment)
            await self._until(lambda: {"Stop", label} & set(self._buttons))

    async def _until(self, stands: Callable[[], bool]) -> None:
        """Wait until a page that is there as a whole is like that."""
        while not (self._idle.is_set() and stands()):
            await asyncio.sleep(0.1)

    async def _rerun(self, trigger: str = "", **how: object) -> None:
        back = BackMsg()
        ask = back.rerun_script
        ask.query_string = self._query
        if self._hash:
            ask.page_script_hash = self._hash
        for name, value in how.items():
            setattr(ask, name, value)
        for identity, labels in self._states.items():
            state = ask.widget_states.widgets.add()
            state.id = identity
            state.string_array_value.data.extend(labels)
        if trigger:
            state = ask.widget_states.widgets.add()
            state.id, state.trigger_value = trigger, True
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
        elif kind == "new_session":
            if not message.metadata.run.fragment_ids:
                self._idle.clear()
                self._buttons.clear()
                self._segments.clear()
                for task in self._polls.values():
                    task.cancel()
                self._polls.clear()
        elif kind == "script_finished":
            if message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                self._idle.set()
        elif kind == "stop_auto_rerun":
            for fragment in message.stop_auto_rerun.fragment_ids:
                if fragment in self._polls:
                    self._polls.pop(fragment).cancel()
        elif kind == "auto_rerun":
            fragment, seconds = message.auto_rerun.fragment_id, message.auto_rerun
            if fragment not in self._polls:
                poll = self._poll(fragment, seconds.interval)
                self._polls[fragment] = asyncio.create_task(poll)
        elif kind == "delta":
            self._element(message.delta)

    def _element(self, delta: object) -> None:
        element = delta.new_element
        kind = element.WhichOneof("type")
        if kind == "exception":
            self.errors.append(element.exception.message)
        elif kind == "button":
            self._buttons[element.button.label] = element.button.id, delta.fragment_id
        elif kind == "button_group":
            for option in element.button_group.options:
                self._segments[option.content] = element.button_group.id
        elif kind == "progress" and re.search(r"\d", element.progress.text):
            self.seen.append(element.progress.text)
