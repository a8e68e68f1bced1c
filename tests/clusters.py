"""A Dask scheduler and workers as processes of their own, to be killed in tests."""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]


class Cluster:
    """Local processes that know nothing of this one.

    Parameters
    ----------
    n_workers : int
    folder : Path
        Where all start: they find the package there, or not.
    """

    def __init__(self, n_workers: int, folder: Path = ROOT) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        where = "--host=127.0.0.1", f"--port={port}", "--no-dashboard"
        self.scheduler = _started("scheduler", folder, *where)
        self.workers: list[subprocess.Popen] = []
        for _ in range(n_workers):
            self.add(folder)
        self.wait(n_workers)

    def add(self, folder: Path = ROOT) -> None:
        """Start one more worker."""
        options = "--nthreads=1", "--no-nanny", "--no-dashboard", "--memory-limit=0"
        self.workers.append(_started("worker", folder, self.address, *options))

    def wait(self, n_workers: int) -> None:
        """Wait until so many workers are there."""
        from distributed import Client

        until = time.monotonic() + 60
        while True:
            try:
                with Client(self.address, timeout=5, set_as_default=False) as client:
                    client.wait_for_workers(n_workers, timeout=60)
                return
            except OSError:
                if time.monotonic() > until:
                    raise
            gc.collect()  # see `_asked` of engine.py
            time.sleep(0.2)

    def close(self) -> None:
        """End everything."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


def _started(what: str, folder: Path, *options: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{what}", *options],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
