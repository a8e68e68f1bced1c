"""Models in the languages that are run from their source: ask them for answers."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from smpcore.codegen.targets.javascript.source import emit_javascript
from smpcore.codegen.targets.python.source import emit_plain_python
from tests.smpcore.codegen.toolchain import run

#: Where tests/run puts MicroPython, if npm and its registry can be reached.
_PACKAGE = "node_modules/@micropython/micropython-webassembly-pyscript/micropython.mjs"
_MICROPYTHON = Path(sys.prefix) / "node" / _PACKAGE

_NODE = """
import { readFileSync, writeFileSync } from "node:fs";
const floats = (file) => {
  const { buffer, byteOffset, length } = readFileSync(file);
  return new Float64Array(buffer.slice(byteOffset, byteOffset + length));
};
for (const [place, [names, n]] of JSON.parse(readFileSync("tasks.json")).entries()) {
  const model = await import(`./m${place}.mjs`);
  const numbers = floats(`${place}.rows`);
  const found = [];
  for (let k = 0; k < numbers.length; k += n) {
    const x = Array.from(numbers.slice(k, k + n));
    for (const name of names) found.push(...[model[name](x)].flat(2).map(Number));
  }
  writeFileSync(`${place}.out`, new Float64Array(found));
}
"""

#: Runs a script in a copy of the folder, and takes back what it writes.
_LOADER = """
import fs from "node:fs";
const { loadMicroPython } = await import(process.argv[2]);
const stdout = (line) => console.log(line);
const heapsize = 1 << 26;
const mp = await loadMicroPython({ stdout, heapsize, linebuffer: true });
for (const name of fs.readdirSync(".")) {
  mp.FS.writeFile("/" + name, fs.readFileSync(name));
}
mp.runPython("import os, sys\\nos.chdir('/')\\nsys.path.append('/')");
mp.runPython(fs.readFileSync(process.argv[3], "utf8"));
for (const name of mp.FS.readdir("/").filter((name) => name.endsWith(".out"))) {
  fs.writeFileSync(name, mp.FS.readFile("/" + name));
}
"""

_PYTHON = """
import json, struct
for place, (names, n, whole) in enumerate(json.loads(open("tasks.json").read())):
    model = __import__("m%d" % place)
    data = open("%d.rows" % place, "rb").read()
    with open("%d.out" % place, "wb") as out:
        for k in range(0, len(data), 8 * n):
            x = struct.unpack("<%dd" % n, data[k : k + 8 * n])
            x = [int(value) for value in x] if whole else x
            for name in names:
                found = getattr(model, name)(x)
                found = found if isinstance(found, list) else [found]
                out.write(struct.pack("<%dd" % len(found), *found))
"""

#: Language -> how a module is written, the end of its name, the program that asks it.
LANGUAGES = {
    "javascript": (emit_javascript, "mjs", _NODE),
    "python": (emit_plain_python, "py", _PYTHON),
    "micropython": (emit_plain_python, "py", _PYTHON),
}


def in_micropython(tool):
    """Run a script of a folder by MicroPython and return what it prints."""
    node = tool("node")
    if not _MICROPYTHON.exists():
        pytest.skip("tests/run could not install MicroPython by npm")

    def ask(folder, script):
        (folder / "loader.mjs").write_text(_LOADER)
        said = run(node, "loader.mjs", _MICROPYTHON.as_uri(), script, cwd=folder)
        return said.decode().splitlines()

    return ask


def answers_of_script(language, tasks, tool, folder):
    """Ask one process of a language what functions of models give for rows.

    A task is a model, its rows, and names of functions with how many numbers each
    gives; the names are those of C in snake case.
    """
    emit, end, program = LANGUAGES[language]
    folder.mkdir(exist_ok=True)
    told = []
    for place, (model, rows, names) in enumerate(tasks):
        (folder / f"m{place}.{end}").write_text(emit(model))
        rows.astype(np.float64).tofile(folder / f"{place}.rows")
        if language == "javascript":
            names = [re.sub("_(.)", lambda m: m[1].upper(), name) for name in names]
        told.append((list(names), rows.shape[1], rows.dtype.kind == "i"))
    (folder / "tasks.json").write_text(json.dumps(told))
    (folder / f"program.{end}").write_text(program)
    if language == "micropython":
        in_micropython(tool)(folder, "program.py")
    else:
        command = sys.executable if language == "python" else tool("node")
        run(command, f"program.{end}", cwd=folder)
    for place, (_, rows, names) in enumerate(tasks):
        found = np.fromfile(folder / f"{place}.out").reshape(len(rows), -1)
        ends = np.cumsum(list(names.values()))
        assert found.shape[1] == ends[-1]
        yield dict(zip(names, np.split(found, ends[:-1], axis=1), strict=True))
