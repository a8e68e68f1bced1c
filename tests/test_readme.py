"""What the README and the guide promise runs, and is so."""

import json
import os
import re
import subprocess
import sys
import tomllib

import pytest

import smpcore
from pages.state import table_store
from pages.work import classes, middleware, study_pool
from smpcore import METHODS, list_datasets, load_dataset
from smpcore.datasets import limits, parquet
from tests.app import opened, said
from tests.guide import GUIDE, ROOT, blocks

README = (ROOT / "README.md").read_text("utf-8")
PAGES = {path.stem[2:]: path.read_text("utf-8") for path in GUIDE}
#: Without line ends, in which a sentence may be cut.
FLOWING = {name: " ".join(text.split()) for name, text in PAGES.items()}


def test_the_readme_is_a_page():
    assert len(README.split()) <= 600


@pytest.mark.parametrize("path", GUIDE, ids=lambda path: path.stem)
def test_every_block_runs_and_prints_what_it_says(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for code, printed in blocks(path):
        exec(code, names)
        assert capsys.readouterr().out == printed
    if path.stem.endswith("tour"):
        written = {path.name for path in tmp_path.iterdir()}
        assert written == {"bars.html", "convergence.html", "model.zip", "report.html"}
    assert bool(names) == (path.stem[2:] in ("library", "tour"))


def test_the_library_in_ten_lines():
    ((code, _),) = blocks(next(path for path in GUIDE if "library" in path.stem))
    assert len([line for line in code.splitlines() if line]) <= 10
    assert code.startswith("from smpcore import")


def _commands() -> list[str]:
    texts = [README, *PAGES.values()]
    shells = [x for text in texts for x in re.findall(r"```sh\n(.*?)```", text, re.S)]
    return [line.split("  #")[0] for block in shells for line in block.splitlines()]


def test_every_command_is_one_that_a_test_knows():
    """A new one needs a test: below, in `test_package` or in tests of a cluster."""
    starts = (
        "python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt && ",
        "tests/run",
        ".venv/bin/python -m smpcore.evaluation --data ",
        ".venv/bin/python -m smpcore.papers list",
        '.venv/bin/pip install "distributed>=',
        ".venv/bin/python -m distributed.cli.dask_scheduler --port ",
        ".venv/bin/python -m distributed.cli.dask_worker tcp://",
        "SPE_DASK=tcp://HOST:8786 .venv/bin/streamlit run app.py",
        'pip install "./smpcore[onnx]"',
    )
    assert len(_commands()) == len(starts)
    for command, start in zip(_commands(), starts, strict=True):
        assert command.startswith(start)


@pytest.mark.parametrize(
    "command", [command for command in _commands() if " -m " in command][1:]
)
def test_a_module_that_a_command_runs_takes_its_options(command, tmp_path):
    words = command.split()[1:]
    program, options = words[:2], {w for w in words if w.startswith("--")}
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, *program, "--help"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert options <= {*re.findall(r"--[\w-]+", run.stdout)}


def test_the_run_line_starts_the_app_of_this_folder():
    assert "streamlit run app.py" in _commands()[0]
    assert (ROOT / "app.py").exists() and (ROOT / "requirements.txt").exists()


def test_the_cluster_is_of_the_version_that_is_pinned():
    pin = re.search(r'pip install "(distributed.*?)"', PAGES["clusters"])[1]
    project = tomllib.loads((ROOT / "smpcore/pyproject.toml").read_text("utf-8"))
    assert [pin] == project["project"]["optional-dependencies"]["dask"]


def test_changes_and_license_are_those_of_the_library():
    changes = (ROOT / "assets/changes.md").read_text("utf-8")
    newest = re.search(r"^## (\S+)", changes, re.MULTILINE).group(1)
    assert newest == smpcore.__version__
    name = (ROOT / "smpcore/LICENSE").read_text("utf-8").splitlines()[0]
    assert name.removesuffix(" License").replace(" ", "-") == smpcore.__license__
    assert name.removesuffix(" License") in README


def test_only_this_machine_reaches_the_server_that_it_starts():
    config = tomllib.loads((ROOT / ".streamlit/config.toml").read_text("utf-8"))
    assert config["server"]["address"] == "localhost"
    assert "`--server.address 0.0.0.0`" in PAGES["server"]
    assert "only this machine can reach the server" in README


def test_settings_of_a_server_are_those_that_the_program_reads():
    sources = [*ROOT.glob("pages/**/*.py"), *ROOT.glob("smpcore/**/*.py")]
    read = {
        name
        for path in sources
        for name in re.findall(r'"(SPE_[A-Z_]+)"', path.read_text("utf-8"))
    }
    told = {*re.findall(r"^- `(SPE_\w+)`: ", PAGES["server"], re.MULTILINE)}
    assert told == read


def test_numbers_of_the_guide_are_those_of_the_program():
    lessons = [
        json.loads(path.read_text("utf-8"))
        for path in sorted(ROOT.glob("assets/lessons/[0-9]*.json"))
    ]
    minutes = [lesson["minutes"] for lesson in lessons]
    assert minutes.pop(0) == 1 and "a tour of a minute" in FLOWING["teaching"]
    discussed = [sum("question" in s for s in lessons[n]["steps"]) for n in (1, 2, 5)]
    shorter = 5 + sum(minutes[n - 1] for n in (1, 2, 5)) + 2 * sum(discussed)
    teaching, tables, server = (FLOWING[n] for n in ("teaching", "tables", "server"))
    assert len(minutes) == 13 and f"take 1, 2 and 5: {shorter} min" in teaching
    several = f"{min(minutes)} to {max(minutes)} minutes, {sum(minutes)} in all"
    assert f"thirteen lessons of {several}" in teaching
    assert classes.MOST_SECONDS == 5 and "at most five seconds later" in teaching
    assert classes.KEEP_SECONDS == 4 * 3600 and "four hours after" in teaching
    megabytes = f"{limits.MAX_BYTES / 1e6:.0f} MB"
    assert f"at most {megabytes}, {limits.MAX_ROWS:,} rows and" in tables
    assert f"and {limits.MAX_TABLE_BYTES / 1e6:.0f} MB in memory" in tables
    assert f"at most {parquet.MOST_ROWS:,} of its rows" in tables
    assert table_store.KEEP_SECONDS == 30 * 60 and "until half an hour" in tables
    held = f"{middleware.SESSION_BYTES / 1e6:.0f} MB of uploaded files, all tabs"
    held += f" together {middleware.SERVER_BYTES / 1e9:.0f} GB, those of one address"
    assert f"{held} {middleware.ADDRESS_BYTES / 1e6:.0f} MB" in server
    assert study_pool.N_WORKERS <= 4 and "four at most, at a low priority" in server


def test_it_says_of_which_data_the_test_rows_are_open():
    opened = {info.key for info in list_datasets() if load_dataset(info.key).open_test}
    assert opened == {info.key for info in list_datasets() if info.params}
    assert "Generated points have no test rows to keep" in FLOWING["tables"]


def test_every_method_is_listed():
    for key in METHODS:
        assert f"| `{key}` |" in README


def test_links_and_pictures_lead_to_files():
    pages = [ROOT / "README.md", ROOT / ".github/CONTRIBUTING.md", *GUIDE]
    found = [
        path.parent / address
        for path in pages
        for address in re.findall(r"\]\((.*?)\)", path.read_text("utf-8"))
        if not address.startswith("http")
    ]
    assert len(found) > 8
    assert [path for path in found if not path.exists()] == []
    assert {*GUIDE} <= {path for path in found if path.parent.name == "guide"}


def test_the_app_shows_the_same_pages():
    page = opened({}, "guide.py")
    (chapters,) = page.get("button_group")
    titles = [text.split("\n")[0].removeprefix("# ") for text in PAGES.values()]
    assert chapters.options == ["Five minutes with the app", *titles]
    assert "opens on two moons" in said(page, *page.markdown)
    page = chapters.set_value(titles[2]).run()
    shown = said(page, *page.markdown)
    assert "lb_policy cookie" in shown and "two moons" not in shown
