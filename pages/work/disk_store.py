"""What outlives the server: encrypted items in a folder that the operator names.

Each item is under a key that is in no file: a visitor's is in a cookie of its browser,
a class's is its long code. Of who that is the folder has digests only. Several servers
may share it. Whoever asks without a key, or where no folder is named, gets nothing.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from pages.work import visitors
from pages.work.operation import STORE

log = logging.getLogger(__name__)

#: Items of a key that nobody has used for so long are deleted.
KEEP_SECONDS = 24 * 3600
#: Bytes of all items of one key, and of all keys, encrypted.
MOST_OWNED, MOST = 100_000_000, 5_000_000_000
#: What changes again within this time is written once.
WAIT_SECONDS, LOOK_SECONDS = 0.2, 60.0

_SETTINGS = """
PRAGMA auto_vacuum = FULL;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS item (
  id BLOB PRIMARY KEY, owner BLOB, used REAL, size INTEGER, version BLOB, salt BLOB
);
CREATE INDEX IF NOT EXISTS owned ON item (owner, used, size);
CREATE TABLE IF NOT EXISTS content (
  id BLOB PRIMARY KEY REFERENCES item ON DELETE CASCADE, sealed BLOB
);
"""
#: Of a connection, and not of the file.
_OF_CONNECTION = "PRAGMA secure_delete = ON; PRAGMA foreign_keys = ON"
_CONTENT = "SELECT version, salt, sealed FROM item JOIN content USING (id)"
_UNUSED = "SELECT owner FROM item GROUP BY owner HAVING max(used) < ?"
_OLDEST_OF_OWNER = """
DELETE FROM item WHERE id IN (
  SELECT id FROM item JOIN (
    SELECT id AS one, sum(size) OVER (PARTITION BY owner ORDER BY used DESC) AS total
    FROM item
  ) ON id = one WHERE total > ?
)
"""
_OLDEST_OWNERS = """
DELETE FROM item WHERE owner IN (
  SELECT owner FROM (
    SELECT owner, sum(sum(size)) OVER (ORDER BY max(used) DESC) AS total
    FROM item GROUP BY owner
  ) WHERE total > ?
)
"""


def _digest(key: str, what: bytes, use: bytes, size: int = 16) -> bytes:
    keyed = hashlib.blake2b(what, digest_size=size, key=key.encode(), person=use)
    return keyed.digest()


def _item(key: str, name: str) -> bytes:
    return _digest(key, name.encode(), b"item")


def _owner(key: str) -> bytes:
    return _digest(key, b"", b"owner")


@contextmanager
def _logged() -> Iterator[None]:
    """Go on with what is in memory where the disk is full."""
    try:
        yield
    except sqlite3.Error:
        log.exception("the folder of %s cannot be written", STORE)


@dataclass
class Changed:
    """An item that is changed: what another server has left, and what it becomes."""

    content: bytes = b""


class DiskStore:
    """Items by key and name; written by a thread of its own, all that wait at once."""

    def __init__(self, folder: Path) -> None:
        # Loaded by those only who have a store.
        aead = import_module("cryptography.hazmat.primitives.ciphers.aead")
        self._cipher = aead.AESGCM
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._database = sqlite3.connect(
            folder / "work.sqlite", timeout=30.0, check_same_thread=False
        )
        self._database.executescript(_SETTINGS + _OF_CONNECTION)
        #: Key and name -> who makes the bytes that are to be written.
        self._waiting: dict[tuple[str, str], Callable[[], bytes]] = {}
        #: Id of an item -> its version as it is known here.
        self._versions: dict[bytes, bytes] = {}
        self._is_wanted, self._is_closed = threading.Event(), False
        self._writing, self._reading = threading.Lock(), threading.Lock()
        threading.Thread(target=self._write, name="disk store", daemon=True).start()
        atexit.register(self.close)

    def put(self, key: str, name: str, make: Callable[[], bytes]) -> None:
        """Have an item written in a moment, in place of the one before."""
        self._waiting[key, name] = make
        self._is_wanted.set()

    def get(self, key: str, name: str) -> bytes | None:
        """An item, which is used now; None if it is not here."""
        if make := self._waiting.get((key, name)):
            return make()
        item = _item(key, name)
        with self._reading, self._database as database:
            row = database.execute(f"{_CONTENT} WHERE id = ?", (item,)).fetchone()
            self._use(item)
        if row is None:
            return None
        try:
            known = self._opened(key, item, *row[1:])
        except Exception:  # damaged
            log.exception("an item of %s cannot be read", STORE)
            return None
        self._versions[item] = row[0]
        return known

    def is_stale(self, key: str, name: str) -> bool:
        """Whether another server has changed or deleted an item that was here."""
        item = _item(key, name)
        known = self._versions.get(item)
        if known is None or (key, name) in self._waiting:
            return False
        with self._reading:
            words = "SELECT version FROM item WHERE id = ?"
            row = self._database.execute(words, (item,)).fetchone()
        return row != (known,)

    def has(self, key: str, name: str) -> bool:
        """Whether an item is here or about to be; it is used now."""
        if (key, name) in self._waiting:
            return True
        with self._reading, self._database:
            return self._use(_item(key, name))

    def delete(self, key: str, name: str | None = None) -> None:
        """Delete an item, or all of a key, with the salts that open them."""
        with self._writing:  # what is being written would come back
            for place in list(self._waiting):
                if place[0] == key and name in (None, place[1]):
                    del self._waiting[place]
            column, one = "id", name is not None and _item(key, name)
            if name is None:
                column, one = "owner", _owner(key)
            with self._reading, self._database as database:
                database.execute(f"DELETE FROM item WHERE {column} = ?", (one,))
            with self._reading:  # nor does the file of changes have them any longer
                self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def exclusive(self, key: str, name: str) -> Iterator[Changed]:
        """Change an item while no server else does; an error leaves it as it was."""
        item, changed = _item(key, name), Changed()
        with self._reading, self._database as database:
            with _logged():
                database.execute("BEGIN IMMEDIATE")
                row = database.execute(f"{_CONTENT} WHERE id = ?", (item,)).fetchone()
                if row and row[0] != self._versions.get(item):
                    changed.content = self._opened(key, item, *row[1:])
            yield changed
            with _logged():
                row, sealed = self._row(key, name, lambda: changed.content)
                self._insert(database, row, sealed)
                self._versions[item] = row[4]

    def flush(self) -> None:
        """Write all that waits: all of it, or nothing where the server is killed."""
        with self._writing:
            rows = []
            while self._waiting:
                place, make = self._waiting.popitem()
                try:
                    rows.append(self._row(*place, make))
                except Exception:
                    log.exception("an item of %s cannot be written", STORE)
            if self._is_closed:
                return
            with _logged():
                with self._reading, self._database as database:
                    for row, sealed in rows:
                        self._insert(database, row, sealed)
                    self._make_room(database)
                self._versions.update((row[0], row[4]) for row, _ in rows)

    def close(self) -> None:
        """Write what waits, and let the folder go."""
        self.flush()
        with self._writing, self._reading:
            self._is_closed = True
            self._database.close()

    def _write(self) -> None:
        while not self._is_closed:
            self._is_wanted.wait(LOOK_SECONDS)
            time.sleep(WAIT_SECONDS)
            self._is_wanted.clear()
            self.flush()

    def _row(
        self, key: str, name: str, make: Callable[[], bytes]
    ) -> tuple[tuple, bytes]:
        """An item's row, and its content; each time it has another salt and key."""
        item, salt = _item(key, name), secrets.token_bytes(16)
        sealed = self._cipher_of(key, salt).encrypt(salt[:12], make(), item)
        version = secrets.token_bytes(8)
        row = item, _owner(key), time.time(), len(sealed), version, salt
        return row, sealed

    def _insert(self, database: sqlite3.Connection, row: tuple, sealed: bytes) -> None:
        database.execute("DELETE FROM item WHERE id = ?", row[:1])
        if len(sealed) <= MOST_OWNED:
            database.execute("INSERT INTO item VALUES (?, ?, ?, ?, ?, ?)", row)
            words = "INSERT INTO content VALUES (?, ?)"
            database.execute(words, (row[0], sealed))

    def _opened(self, key: str, item: bytes, salt: bytes, sealed: bytes) -> bytes:
        return self._cipher_of(key, salt).decrypt(salt[:12], sealed, item)

    def _cipher_of(self, key: str, salt: bytes) -> Any:
        return self._cipher(_digest(key, salt, b"content", 32))

    def _use(self, item: bytes) -> bool:
        """Note that an item is used; whether it is here."""
        words, now = "UPDATE item SET used = ? WHERE id = ?", time.time()
        return self._database.execute(words, (now, item)).rowcount > 0

    def _make_room(self, database: sqlite3.Connection) -> None:
        """Delete what nobody has used, and where there is too much the oldest."""
        unused = f"DELETE FROM item WHERE owner IN ({_UNUSED})"
        database.execute(unused, (time.time() - KEEP_SECONDS,))
        database.execute(_OLDEST_OF_OWNER, (MOST_OWNED,))
        database.execute(_OLDEST_OWNERS, (MOST,))


@cache
def opened() -> DiskStore | None:
    """The store of this server; None if its operator has named no folder."""
    if not (folder := os.environ.get(STORE)):
        return None
    try:
        return DiskStore(Path(folder))
    except (ImportError, OSError, sqlite3.Error):  # nor is the server ready
        log.exception("nothing is stored in the folder of %s", STORE)
        return None


def _place(key: str) -> tuple[DiskStore, str] | None:
    """The store, and this visitor's key or another one; None if there is none."""
    store = opened()
    key = store and (key or visitors.key())
    return (store, key) if key else None


def exclusive(name: str, key: str) -> AbstractContextManager[Changed | None]:
    """Change an item of a key while no server else does; None without a store."""
    place = _place(key)
    return place[0].exclusive(place[1], name) if place else nullcontext()


def is_used() -> bool:
    """Whether this visitor's work outlives the server."""
    return _place("") is not None


def put(name: str, make: Callable[[], bytes], key: str = "") -> None:
    """Have an item of this visitor, or of another key, written in a moment."""
    if place := _place(key):
        place[0].put(place[1], name, make)


def get(name: str, key: str = "") -> bytes | None:
    """An item of this visitor, or of another key; None if it is not here."""
    place = _place(key)
    return place and place[0].get(place[1], name)


def has(name: str) -> bool:
    """Whether this visitor has an item."""
    place = _place("")
    return place is not None and place[0].has(place[1], name)


def is_stale(name: str, key: str = "") -> bool:
    """Whether another server has changed or deleted an item that was here."""
    place = _place(key)
    return place is not None and place[0].is_stale(place[1], name)


def delete(name: str | None = None, key: str = "") -> None:
    """Delete an item of this visitor, or of another key; without a name all."""
    if place := _place(key):
        place[0].delete(place[1], name)
