"""The library as a package of its own: what it needs, and all that it reads."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

import smpcore
from smpcore.evaluation import edition
from smpcore.solvers import source_digest
from tests.guide import GUIDE, ROOT, blocks

PROJECT = tomllib.loads((ROOT / "smpcore/pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
#: Of the folder, but not of the package.
TOOLS = {"pyproject.toml", "LICENSE"}


def _pins(name: str) -> list[str]:
    return (ROOT / name).read_text("utf-8").split()


def test_what_it_needs_and_what_the_app_needs_is_what_is_pinned():
    needed = [*PROJECT["dependencies"], *EXTRAS["app"], *EXTRAS["onnx"]]
    assert sorted(needed) == sorted(_pins("requirements.txt"))
    pinned = {*_pins("requirements.txt"), *_pins("tests/requirements.txt")}
    assert {*EXTRAS["dask"], *EXTRAS["notebook"], *EXTRAS["gallery"]} < pinned
    assert {*EXTRAS} == {"app", "dask", "gallery", "notebook", "onnx"}


def _sources(folder: Path) -> set[str]:
    """Files below a folder, without what Python makes of them."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel of a copy of the folder, built with what is installed here."""
    pytest.importorskip("hatchling", reason="tests/requirements.txt is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "copy" / "smpcore"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "smpcore", copy, ignore=ignored)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index"]
    without = ["--no-build-isolation", "--no-deps", "--wheel-dir", str(folder)]
    subprocess.run([*pip, *without, str(copy)], check=True)
    assert _sources(copy) == _sources(ROOT / "smpcore"), "it builds in the sources"
    (path,) = folder.glob("*.whl")
    return path


def test_every_file_of_the_folder_is_in_the_wheel(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    there = {name for name in names if ".dist-info/" not in name}
    files = _sources(ROOT / "smpcore")
    assert {Path(name).suffix for name in files} >= {".py", ".json", ".csv", ".c"}
    assert there == {f"smpcore/{name}" for name in files - TOOLS}
    (license_text,) = (name for name in names if name.endswith("/LICENSE"))
    assert "2026" in zipfile.ZipFile(wheel).read(license_text).decode()


def test_its_version_and_license_stand_in_one_place(wheel):
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
    metadata = message_from_bytes(archive.read(name))
    assert "version" not in PROJECT
    assert metadata["Version"] == smpcore.__version__
    assert metadata["License-Expression"] == smpcore.__license__


def _run(python: str, program: str, folder: Path, **settings: str) -> str:
    """What a program prints in a folder outside the checkout."""
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NUMBA"))
    }
    run = subprocess.run(
        [python, "-W", "ignore", "-c", program],
        cwd=folder,
        env={**kept, "PYTHONDONTWRITEBYTECODE": "1", **settings},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return run.stdout


def test_an_installed_copy_has_the_digests_of_its_sources(wheel, tmp_path):
    """Else machine code of another version, or another cluster, would be taken."""
    site = tmp_path / "site-packages"
    zipfile.ZipFile(wheel).extractall(site)
    program = (
        "import smpcore\nfrom smpcore.evaluation import edition\n"
        "from smpcore.solvers import source_digest\n"
        "print(smpcore.__file__, source_digest(), edition())"
    )
    printed = _run(sys.executable, program, tmp_path, PYTHONPATH=str(site)).split()
    assert printed == [str(site / "smpcore/__init__.py"), source_digest(), edition()]


def test_types_of_an_installed_copy_pass_in_the_examples(wheel, tmp_path):
    venv.create(tmp_path / "venv")
    (site,) = tmp_path.glob("venv/lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    for path in GUIDE:
        program = "\n".join(code for code, _ in blocks(path))
        (tmp_path / f"{path.stem[2:]}_page.py").write_text(program)
    wrong = tmp_path / "wrong_page.py"
    wrong.write_text("import smpcore\n\nsmpcore.SMPClassifier(lam='much')\n")
    check = [sys.executable, "-m", "mypy", "--ignore-missing-imports"]
    check += ["--python-executable", str(tmp_path / "venv/bin/python")]
    pages = map(str, tmp_path.glob("*_page.py"))
    run = subprocess.run([*check, *pages], cwd=tmp_path, capture_output=True, text=True)
    *errors, _ = run.stdout.splitlines()
    assert [line.partition(": ")[0] for line in errors] == ["wrong_page.py:3"]


def test_an_editable_copy_is_the_folder_itself(wheel, tmp_path):
    copy = wheel.parent / "copy" / "smpcore"
    program = (
        "from hatchling.build import build_editable as b\nimport sys\nb(sys.argv[1])"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    subprocess.run(command, cwd=copy, check=True, stdout=subprocess.DEVNULL)
    archive = zipfile.ZipFile(next(tmp_path.glob("*.whl")))
    (name,) = (name for name in archive.namelist() if ".dist-info/" not in name)
    assert Path(archive.read(name).decode().strip()) == copy.parent


@pytest.mark.exhaustive
def test_a_fresh_environment_runs_the_tour_and_writes_nothing_into_it(wheel, tmp_path):
    """All that it needs is fetched: some minutes."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = str(next((tmp_path / "venv").glob("*/python")))
    install = [python, "-m", "pip", "install", "--quiet", f"{wheel}"]
    subprocess.run(install, check=True)
    package = Path(_run(python, "import smpcore; print(smpcore.__path__[0])", tmp_path))
    site = Path(str(package).strip())
    assert tmp_path in site.parents
    for path in [*site.rglob("*"), site]:
        path.chmod(path.stat().st_mode & 0o555)
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*")}
    (tour,) = ROOT.glob("assets/**/*tour.md")
    program = "\n".join(code for code, _ in blocks(tour))
    work = tmp_path / "work"
    work.mkdir()
    printed = _run(python, program, work, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert printed == "".join(text for _, text in blocks(tour))
    assert {path: path.stat().st_mtime_ns for path in site.rglob("*")} == before
    assert [*(tmp_path / "cache").rglob("*.nbi")], "machine code is kept elsewhere"
    assert (work / "model.zip").stat().st_size > 1000
