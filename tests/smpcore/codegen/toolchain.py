"""Zips of models that no estimator has fitted, and compilers for generated C."""

import io
import re
import subprocess
import zipfile
from pathlib import Path

import numpy as np

from smpcore.codegen import TARGETS, Package, emit_c99


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


#: Warnings, all of them errors.
STRICT = (
    "-std=c99 -O2 -pedantic -Wall -Wextra -Wconversion -Wdouble-promotion "
    "-Wfloat-conversion -Werror -ffp-contract=off"
).split()

#: Stop at the first undefined behaviour or bad address.
SANITIZE = "-fsanitize=address,undefined -fno-sanitize-recover=all -O1".split()


class CommandFailed(AssertionError):
    """A command ended with an error; the message is what it said."""


def run(*command, cwd=None, given=None, seconds=600) -> bytes:
    """Run a command and return what it wrote; one that never ends has failed."""
    words = [str(word) for word in command]
    how = {"input": given, "capture_output": True, "timeout": seconds}
    try:
        done = subprocess.run(words, cwd=cwd, **how)
    except subprocess.TimeoutExpired as error:
        raise CommandFailed(f"{' '.join(words)}\nhas not ended") from error
    if done.returncode:
        said = (done.stdout + done.stderr).decode(errors="replace")
        raise CommandFailed(f"{' '.join(words)}\n{said}")
    return done.stdout


def write(folder, files) -> Path:
    """Put files into a folder."""
    folder = Path(folder)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def write_sources(folder, model) -> Path:
    """Put the C of a model into a folder."""
    return write(folder, emit_c99(model))


def unnoticed(folder, files, source="mdl.c", flags=("-fsanitize=address",)):
    """Table and place of every number of a C file, and of those that may be wrong.

    The program is compiled once; then one number of its tables at a time is changed in
    the program's own bytes. Where it does not fail, nothing has noticed.
    """
    program = Path(folder) / "wrong"
    # Nothing is constant: or the compiler puts some of the numbers into its code.
    how = ["-std=c99", "-w", "-Dconst=", "-fno-zero-initialized-in-bss", *flags]
    run("gcc", *how, "-o", program, *files, cwd=folder)
    run(program)
    right, every, unseen = program.read_bytes(), [], []
    for table, numbers, at in _tables(program, (program.parent / source).read_text()):
        for place in range(len(numbers)):
            changed = _one_off(table, numbers, place).tobytes()
            program.write_bytes(right[:at] + changed + right[at + len(changed) :])
            every.append((table, place))
            try:
                run(program, seconds=5)  # a wrong end of a loop may be 2^32 off
                unseen.append((table, place))
            except CommandFailed:
                pass
    return every, unseen


def _tables(program, source):
    """Name and numbers of each table of a C file, and where a program holds them."""
    symbols, content = run("nm", program).decode(), program.read_bytes()
    sections = run("readelf", "-SW", program).decode()
    data = re.search(r" \.data +PROGBITS +(\w+) (\w+)", sections).groups()
    address, offset = (int(word, 16) for word in data)
    found = r"static const (\w+) (\w+)\[\d+\] MDL_CONST = \{([^}]*)\}"
    for kind, name, text in re.findall(found, source):
        numbers = np.array(
            [float(n.rstrip("fuUL")) for n in re.findall(r"[^\s,]+", text)]
        )
        numbers = numbers.astype(
            "float32" if kind == "float" else kind.removesuffix("_t")
        )
        at = int(re.search(rf"(\w+) \w {name}$", symbols, re.M)[1], 16)
        at += offset - address
        assert content[at:].startswith(numbers.tobytes())
        yield name, numbers, at


def _one_off(table, numbers, place):
    """A table with one number changed: an integer by 1, a float in its sixth digit.

    The last coefficients of 2^-u hardly count, and a zero has no digit.
    """
    wrong = numbers.copy()
    if numbers.dtype.kind == "f":
        small = table.endswith("exp2") or not numbers[place]
        wrong[place] = float(numbers[place]) * 1.00001 + (1e-3 if small else 1e-30)
    else:
        wrong[place] += wrong.dtype.type(1)
    return wrong
