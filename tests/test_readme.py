"""What the README promises runs."""

import re
from pathlib import Path

from smpcore import METHODS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def test_the_library_in_ten_lines(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    lines = [line for line in block.splitlines() if line]
    assert len(lines) <= 10
    names: dict = {}
    exec(block, names)
    hits, rows = re.match(r"(\d+) of (\d+)", capsys.readouterr().out).groups()
    assert int(hits) / int(rows) > 0.9
    assert names["compiled"].inputs


def test_the_run_line_installs_from_this_folder():
    run = next(line for line in README.splitlines() if "streamlit run" in line)
    assert "pip install -q -r requirements.txt" in run
    assert (ROOT / "app.py").exists()


def test_the_benches_it_names_exist():
    for name in re.findall(r"`(?:python -m tests\.bench)?\.(\w+)`", README):
        assert (ROOT / "tests" / "bench" / f"{name}.py").exists(), name


def test_every_method_is_listed():
    for key in METHODS:
        assert f"| `{key}` |" in README


def test_its_pictures_exist():
    for path in re.findall(r"!\[.*?\]\((.*?)\)", README):
        assert (ROOT / path).exists()
