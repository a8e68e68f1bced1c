"""JSON files from anywhere: every value is checked before any of them counts."""

from __future__ import annotations

import codecs
import re
from typing import NoReturn, TypeVar

import msgspec

from smpcore import SmpcoreError

Content = TypeVar("Content")


def refuse(name: str, what: str) -> NoReturn:
    """Say what is wrong with a file: ``The state file should be JSON ...``."""
    raise SmpcoreError(f"The {name} {what}. Nothing was changed.")


def decode(data: bytes, kind: type[Content], name: str, most_bytes: int) -> Content:
    """The content of a JSON file; one of another kind is refused."""
    if len(data) > most_bytes:
        most = f"{most_bytes / 1e6:g}"
        refuse(name, f"should have at most {most} MB, it has {len(data) / 1e6:.1f} MB")
    try:
        return msgspec.json.decode(data.removeprefix(codecs.BOM_UTF8), type=kind)
    except msgspec.ValidationError as error:
        why, _, path = str(error).partition(" - at ")
        if why.startswith("Object contains unknown"):
            why += "; remove it"
        path = path.replace("[...]", "").split("$")[-1].strip("`.").replace(".", ": ")
        where = re.sub(r"\[(\d+)\]", lambda row: f": {int(row[1]) + 1}", path)[:60]
        why, where = why.replace("`", "")[:150], where or "its top level"
        refuse(name, f"is not valid at “{where}”: {why}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        refuse(name, "should be JSON; it is damaged, cut off or another kind of file")
