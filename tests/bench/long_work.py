"""Visitors whose clicks start long jobs, over the app's own websocket protocol.

Each opens its page, clicks what starts the job, polls as the browser does, and starts
it again when it is done.
"""

from __future__ import annotations

import asyncio
import re

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
    queries : tuple of str
        The data; the next ones when a job is done, as what was swept is kept.
    steps : tuple of str
        Labels of what is clicked before the job runs: a segment, or a button.
    """

    def __init__(
        self, port: int, page: str, queries: tuple[str, ...], *steps: str
    ) -> None:
        self._url = f"ws://127.0.0.1:{port}/_stcore/stream"
        self.page, self._queries, self._steps = page, queries, steps
        self._query = queries[0]
        self.errors: list[str] = []
        self.seen: list[str] = []
        self.n_starts = 0

    async def open(self) -> None:
        """Open the page as a new visitor, and see it whole."""
        self._hash = ""
        self._buttons: dict[str, tuple[str, str]] = {}
        self._segments: dict[str, str] = {}
        self._states: dict[str, list[str]] = {}
        self._polls: dict[str, asyncio.Task] = {}
        self._idle = asyncio.Event()
        self._socket = await websockets.connect(
            self._url, subprotocols=["streamlit"], max_size=None, compression=None
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
                while "Stop" in self._buttons:
                    await asyncio.sleep(0.1)
                self._query = self._queries[self.n_starts % len(self._queries)]
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
        while label not in self._segments and label not in self._buttons:
            await asyncio.sleep(0.1)
        self._idle.clear()
        if label in self._segments:
            self._states[self._segments[label]] = [label]
            await self._rerun()
        else:
            identity, fragment = self._buttons.pop(label)
            await self._rerun(trigger=identity, fragment_id=fragment)
        await self._idle.wait()

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
        if kind == "new_session":
            self._hash = message.new_session.page_script_hash
            if not message.metadata.run.fragment_ids:
                self._buttons.clear()
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
