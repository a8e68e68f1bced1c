"""Zips of models that no estimator has fitted, and what is in them."""

import io
import zipfile
from pathlib import Path

from smpcore.codegen import TARGETS, Package


def bundle(model, vectors, name="mdl", target="c99", stream=None) -> bytes:
    """A compiled or quantised model as the files of a target."""
    return TARGETS[target].zip(Package(model, vectors, name, stream))


def contents(packed) -> dict[str, bytes]:
    """The files of a zip, without the one folder that they are in."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        paths = [name.partition("/") for name in archive.namelist()]
        assert len({folder for folder, _, _ in paths}) == 1
        return {p: archive.read(f"{folder}/{p}") for folder, _, p in paths}


def unpack(packed, folder) -> list[str]:
    """Write the files of a zip into a folder and name them."""
    for path, content in contents(packed).items():
        file = Path(folder) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return list(contents(packed))


def readme(model, vectors, name="mdl", target="c99") -> str:
    """The page that explains a zip."""
    return contents(bundle(model, vectors, name, target))["README.md"].decode()
