"""What the README promises runs."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import smpcore
from smpcore import METHODS, list_datasets, load_dataset

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


def test_the_tour_runs_and_prints_what_it_says(tmp_path, monkeypatch, capsys):
    tour = (ROOT / "assets/tour.md").read_text("utf-8")
    block = r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?"
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for code, printed in re.findall(block, tour, re.DOTALL):
        exec(code, names)
        assert capsys.readouterr().out == printed
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"bars.html", "convergence.html", "model.zip", "report.html"}


def test_the_run_line_installs_from_this_folder():
    run = next(line for line in README.splitlines() if "streamlit run" in line)
    assert "pip install -q -r requirements.txt" in run
    assert (ROOT / "app.py").exists()


def test_a_notebook_elsewhere_finds_the_library(tmp_path):
    program = re.search(r'PYTHONPATH="\$PWD" .* -c "(.*)"', README).group(1)
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == smpcore.__version__


def test_changes_and_license_are_those_of_the_library():
    changes = (ROOT / "assets/changes.md").read_text("utf-8")
    newest = re.search(r"^## (\S+)", changes, re.MULTILINE).group(1)
    assert newest == smpcore.__version__
    name = README.split("## License\n")[1].strip().splitlines()[0]
    assert name.removesuffix(" License").replace(" ", "-") == smpcore.__license__


def test_only_this_machine_reaches_the_server_that_it_starts():
    config = tomllib.loads((ROOT / ".streamlit/config.toml").read_text("utf-8"))
    assert config["server"]["address"] == "localhost"
    assert "`--server.address 0.0.0.0`" in README


def test_it_says_of_which_data_the_test_rows_are_open():
    opened = {info.key for info in list_datasets() if load_dataset(info.key).open_test}
    assert opened == {info.key for info in list_datasets() if info.params}
    assert "Generated\npoints have no test rows to keep" in README


def test_the_benches_it_names_exist():
    for name in re.findall(r"`(?:python -m tests\.bench)?\.(\w+)`", README):
        assert (ROOT / "tests" / "bench" / f"{name}.py").exists(), name


def test_every_method_is_listed():
    for key in METHODS:
        assert f"| `{key}` |" in README


def test_its_pictures_exist():
    for path in re.findall(r"!\[.*?\]\((.*?)\)", README):
        assert (ROOT / path).exists()
