"""Models in the languages that are run from their source: ask them for answers."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from smpcore.codegen.targets.javascript.source import emit_javascript
from smpcore.codegen.targets.python.source import emit_plain_python
from smpcore.codegen.targets.rust.source import emit_rust
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

#: Answers of a model, whatever the type of their numbers.
_RUST = """
use std::fs::{read, write};
trait Answer { fn put(self, out: &mut Vec<u8>); }
macro_rules! numbers { ($($kind:ty)*) => {$(impl Answer for $kind {
    fn put(self, out: &mut Vec<u8>) { out.extend((self as f64).to_le_bytes()); }
})*} }
numbers! { f32 f64 i8 i16 i32 i64 u16 usize }
impl Answer for bool { fn put(self, out: &mut Vec<u8>) { (self as i8).put(out) } }
impl<T: Answer, const N: usize> Answer for [T; N] {
    fn put(self, out: &mut Vec<u8>) { for one in self { one.put(out) } }
}
fn number(bytes: &[u8]) -> f64 { f64::from_le_bytes(bytes.try_into().unwrap()) }
macro_rules! ask { ($model:ident $n:literal $kind:ty, $($name:ident)*) => {
    let (mut out, place) = (Vec::new(), &stringify!($model)[1..]);
    for row in read(format!("{place}.rows")).unwrap().chunks(8 * $n) {
        let mut x = [0 as $kind; $n];
        for (i, cell) in row.chunks(8).enumerate() { x[i] = number(cell) as $kind; }
        $($model::$name(&x).put(&mut out);)*
    }
    write(format!("{place}.out"), out).unwrap();
} }
"""

#: Language -> how a module is written, the end of its name, the program that asks it.
LANGUAGES = {
    "javascript": (emit_javascript, "mjs", _NODE),
    "python": (emit_plain_python, "py", _PYTHON),
    "micropython": (emit_plain_python, "py", _PYTHON),
    "rust": (emit_rust, "rs", _RUST),
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


def _ask_crates(told, tool, folder):
    """Build each model as a crate that checks for overflow, and a program of all."""
    flags = "--edition 2021 -O -C overflow-checks=on -D warnings -L .".split()
    calls = ""
    for place, (names, n, _) in enumerate(told):
        crate = f"m{place}"
        run(tool("rustc"), *flags, "--crate-type", "rlib", f"{crate}.rs", cwd=folder)
        kind = "f32" if names == ["quantise"] else f"{crate}::Cell"
        calls += f"    ask!({crate} {n} {kind}, {' '.join(names)});\n"
        flags += ["--extern", crate]
    (folder / "program.rs").write_text(f"{_RUST}fn main() {{\n{calls}}}\n")
    run(tool("rustc"), *flags, "program.rs", cwd=folder)
    run(folder / "program", cwd=folder)


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
    if language == "rust":
        _ask_crates(told, tool, folder)
    elif language == "micropython":
        in_micropython(tool)(folder, "program.py")
    else:
        command = sys.executable if language == "python" else tool("node")
        run(command, f"program.{end}", cwd=folder)
    for place, (_, rows, names) in enumerate(tasks):
        found = np.fromfile(folder / f"{place}.out").reshape(len(rows), -1)
        ends = np.cumsum(list(names.values()))
        assert found.shape[1] == ends[-1]
        yield dict(zip(names, np.split(found, ends[:-1], axis=1), strict=True))
