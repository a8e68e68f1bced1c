"""Zips of models that no estimator has fitted, and compilers for generated C."""

import io
import re
import subprocess
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


#: Changes a number of each table at a time, runs the self-test in a child, and tells.
_TRY = """
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "{source}"
#include "mdl_selftest.h"
static void tell(const char *table, unsigned place)
{{
    int status;
    if (fork() == 0) {{
        alarm(5); /* a wrong end of a loop may be 2^32 off */
        _exit({test}() != 0);
    }}
    wait(&status);
    printf("%s %u %d\\n", table, place, status != 0);
}}
#define TRY(table, wrong) for (i = 0; i < sizeof table / sizeof *table; ++i) \\
    {{ right = table[i]; table[i] = wrong; tell(#table, i); table[i] = right; }}
int main(void)
{{
    double right;
    unsigned i;
    tell("none", 0);
{calls}
    return 0;
}}
"""


def unnoticed(folder, source, test, flags=("-fsanitize=address",)):
    """Table and place of every number of a C file, and of those that may be wrong.

    An integer is changed by 1, a float in its sixth digit; but the last coefficients
    of 2^-u hardly count, and a zero has no digit.
    """
    found = re.findall(
        r"static const (\w+) (\w+)\[\d+\] MDL_CONST", (folder / source).read_text()
    )
    calls = ""
    for kind, name in found:
        wrong = "(long)right + 1"
        if kind == "float":
            small = "1" if name.endswith("exp2") else "right == 0"
            wrong = f"right * 1.00001 + ({small} ? 1e-3 : 1e-30)"
        calls += f"    TRY({name}, {wrong});\n"
    main = _TRY.format(source=source, test=test, calls=calls)
    write(folder, {"try.c": main.encode()})
    # Nothing is constant: it is changed.
    how = ["-std=gnu99", "-w", "-Dconst=", *flags, "-o", "try"]
    run("gcc", *how, "try.c", f"mdl_selftest{test[12:]}.c", cwd=folder)
    told = [line.split() for line in run(folder / "try").decode().splitlines()]
    assert told.pop(0) == ["none", "0", "0"]
    every = {(table, int(place)): seen for table, place, seen in told}
    return [*every], [one for one, seen in every.items() if seen == "0"]
