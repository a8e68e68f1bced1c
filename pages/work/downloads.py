"""A download: a task that waits for another machine and says what it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pages.work.tasks import DOWNLOADS, Task


class Download(Task):
    """A download, begun at once.

    Parameters
    ----------
    fetch : callable
        ``fetch(stop=flag, doing=tell)``: gives up when ``flag[0]`` is not 0, and tells
        in words what it does.
    """

    def __init__(self, fetch: Callable[..., Any]) -> None:
        super().__init__(
            lambda stop, _: fetch(stop=stop, doing=self._tell), line=DOWNLOADS
        )

    def _tell(self, words: str) -> None:
        self.doing = words

    @property
    def found(self) -> Any:
        """What was fetched; None before, and if nothing was."""
        return self.result() if self.done and not self.problem else None
