"""A download: a task that waits for another machine, with a message of its progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pages.work.tasks import DOWNLOADS, Task


class Download(Task):
    """A download, begun at once.

    Parameters
    ----------
    fetch : callable
        ``fetch(stop=flag, doing=set_message)``: gives up when ``flag[0]`` is not 0,
        and passes messages of its progress.
    """

    def __init__(self, fetch: Callable[..., Any]) -> None:
        super().__init__(
            lambda stop, _: fetch(stop=stop, doing=self._set_message), line=DOWNLOADS
        )

    def _set_message(self, message: str) -> None:
        self.message = message

    @property
    def content(self) -> Any:
        """What was fetched; None before, and if nothing was."""
        return self.result() if self.done and not self.problem else None
