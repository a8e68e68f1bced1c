"""Which model a program has: ``python -m smpcore.codegen FIRMWARE [FOLDER]``.

FIRMWARE is an .elf, .hex or .bin file, or the ID of a model. In the folder, by default
the present one, are looked for: zips of exports and their JSON of the model, and the
state files that hold the choice which these were made from.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from smpcore.codegen.names import ID_MARKER

_ID = re.compile(rf"{ID_MARKER}([0-9a-f]{{8}})\b".encode())


def program_bytes(data: bytes) -> bytes:
    """Bytes of a program: those of Intel HEX by their addresses, any other as it is.

    Parameters
    ----------
    data : bytes
        Content of a file.

    Returns
    -------
    bytes
    """
    if not re.match(rb":[0-9A-Fa-f]{10}", data):
        return data
    base, memory = 0, {}
    for line in data.split():
        record = bytes.fromhex(line[1:].decode("ascii"))
        n, address, kind = record[0], int.from_bytes(record[1:3], "big"), record[3]
        content = record[4 : 4 + n]
        if kind == 0:
            memory |= dict(enumerate(content, base + address))
        elif kind in (2, 4):  # the upper part of the addresses that follow
            base = int.from_bytes(content, "big") << (4 if kind == 2 else 16)
    return bytes(memory[address] for address in sorted(memory))


def read_ids(firmware: str) -> list[str]:
    """IDs of the models in a program, or the ID itself."""
    if re.fullmatch("[0-9a-f]{8}", firmware):
        return [firmware]
    found = _ID.findall(program_bytes(Path(firmware).read_bytes()))
    return [*dict.fromkeys(one.decode() for one in found)]


def _documents(folder: Path) -> Iterator[tuple[str, Any]]:
    """All JSON below a folder, that in zips too, with its path."""
    for path in sorted(folder.rglob("*")):
        texts = {}
        if path.suffix == ".json":
            texts = {str(path): path.read_bytes()}
        elif path.suffix == ".zip" and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                names = [one for one in archive.namelist() if one.endswith(".json")]
                texts = {f"{path}: {name}": archive.read(name) for name in names}
        for name, text in texts.items():
            try:
                yield name, json.loads(text)
            except ValueError:
                continue


def main(firmware: str, folder: str = ".") -> int:
    """Print the models of a program, and the files that belong to them."""
    ids = read_ids(firmware)
    if not ids:
        print(f"{firmware}: no ID of a model")
    documents = [one for one in _documents(Path(folder)) if isinstance(one[1], dict)]
    for number in ids:
        exports = {name: one for name, one in documents if one.get("id") == number}
        links = [one["link"] for one in exports.values() if one.get("link")]
        states = [
            n for n, o in documents if n not in exports and o.get("link") in links
        ]
        lines = [f"model {number}"]
        for what, names in (("export", [*exports]), ("state file", states)):
            none = [f"none in {folder}"]
            lines += [f"  {what}: {name}" for name in names or none]
        addresses = dict.fromkeys(map(urlencode, links))
        print(*lines, *(f"  link: ?{one}" for one in addresses), sep="\n")
    return not ids


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
