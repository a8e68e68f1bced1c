"""Crates of Rust: many rows of each structure, and texts of users."""

from functools import partial

import numpy as np

from smpcore.codegen import compile_model
from smpcore.codegen.targets.rust.source import emit_rust
from tests.smpcore.codegen.models import every_kind
from tests.smpcore.codegen.scripts import answers_of_script
from tests.smpcore.codegen.test_scripts import compare
from tests.smpcore.codegen.toolchain import run


def test_ten_thousand_rows_give_the_same_bits(tool, tmp_path):
    def answers(tasks):
        return answers_of_script("rust", tasks, tool, tmp_path)

    answers.rows = slice(None)
    compare(answers, every_kind().values(), 10_000)


def test_no_text_of_a_user_breaks_out(tool, tmp_path, random_model):
    hostile = ['"); panic!("{}', "a\\\n\r\0\u202e", 'r#"😀"# \ud800', "*/ // '"]
    model = compile_model(random_model(4, 4, classes=np.array(hostile)))
    (tmp_path / "m.rs").write_text(emit_rust(model), "ascii")
    tell = 'for k in 0..4 { println!("{:?}", m::label(k).as_bytes()); }'
    (tmp_path / "tell.rs").write_text(f"fn main() {{ {tell} }}")
    rustc = partial(run, tool("rustc"), "--edition", "2021", cwd=tmp_path)
    rustc("--crate-type", "rlib", "-D", "warnings", "m.rs")
    rustc("-L", ".", "--extern", "m", "tell.rs")
    told = run(tmp_path / "tell").decode().splitlines()
    wanted = [list(label.encode("utf-8", "replace")) for label in hostile]
    assert [list(map(int, line[1:-1].split(","))) for line in told] == wanted
