"""Where machine code is kept, and that kernels run without being compiled."""

import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import time

import pytest

from smpcore import solvers

posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes of POSIX")


@pytest.fixture
def no_settings(monkeypatch, tmp_path):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    monkeypatch.setattr(solvers.tempfile, "gettempdir", lambda: str(tmp_path / "temp"))
    return tmp_path


def test_folder_follows_the_settings_and_the_sources(no_settings, monkeypatch):
    digest = solvers.source_digest()
    assert solvers.cache_folder() == str(no_settings / "own" / "smpcore" / digest)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(no_settings / "numba"))
    assert solvers.cache_folder() == str(no_settings / "numba" / "smpcore" / digest)


@pytest.mark.parametrize("version", ["numba.__version__", "sys.version"])
def test_another_compiler_has_another_folder(no_settings, monkeypatch, version):
    before = solvers.cache_folder()
    monkeypatch.setattr(f"smpcore.solvers.{version}", "0.0.1")
    assert solvers.cache_folder() != before


def test_folders_that_long_were_not_used_are_removed(no_settings):
    used = pathlib.Path(solvers.cache_folder())
    old, new, other = (used.with_name(name) for name in ("0" * 16, "1" * 16, "mine"))
    for folder, days in ((old, 61), (new, 59), (other, 99), (used, 99)):
        (folder / "code").mkdir(parents=True)
        os.utime(folder, (time.time() - 86_400 * days,) * 2)
    assert solvers.cache_folder() == str(used)
    assert {*used.parent.iterdir()} == {used, new, other}


def run(script, folder=pathlib.Path(__file__).parents[3], **environment):
    """What a script writes in a process of its own: numbers, and its log."""
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", script],
        env=os.environ | environment,
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [float(number) for number in done.stdout.split()], done.stderr


MAKER = "from smpcore.solvers import kernel\n"
HELPER = MAKER + "@kernel\ndef times(x):\n    return {} * x\n"
CALLER = MAKER + "from smpcore.{} import times\n"
CALLER += "@kernel\ndef answer(x):\n    return times(x) + 2.0\n"
RUN = "from smpcore.methods.one.kernel import answer\nprint(answer(5.0))"
#: What makes a kernel of a function.
COMPILED = re.compile(r"^@kernel|import .*\bn?jit\b|numba\.n?jit", re.MULTILINE)


@pytest.mark.parametrize("helper", ["solvers.helper", "methods.other.kernel_helper"])
def test_an_edit_of_another_file_changes_the_answer(tmp_path, helper):
    """Of a kernel that calls what was edited, and is itself what it was."""
    top = tmp_path / "smpcore"
    shutil.copytree(pathlib.Path(solvers.__file__).parent, top / "solvers")
    for name in ("one", "other"):
        (top / "methods" / name).mkdir(parents=True)
    (top / "methods" / "one" / "kernel.py").write_text(CALLER.format(helper))
    edited = top / (helper.replace(".", "/") + ".py")
    answers = []
    for factor in (1, 3):
        edited.write_text(HELPER.format(factor))
        answers += run(RUN, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "numba"))[0]
    assert answers == [7.0, 17.0]


def test_the_digest_covers_every_file_that_makes_a_kernel():
    top = pathlib.Path(solvers.__file__).parents[1]
    makers = {path for path in top.rglob("*.py") if COMPILED.search(path.read_text())}
    assert makers and makers <= {*solvers.kernel_files()}


@posix
@pytest.mark.parametrize("obstacle", ["writable by others", "a link", "none"])
def test_only_a_private_folder_is_used(no_settings, obstacle):
    """Neither one that others can write to nor a link that somebody has planted."""
    own, temporary = no_settings / "own", no_settings / "temp"
    planted = temporary / f"smpcore-{os.getuid()}"
    theirs = no_settings / "theirs"
    theirs.mkdir()
    if obstacle == "writable by others":
        (own / "smpcore").mkdir(parents=True)
        (own / "smpcore").chmod(0o777)
    elif obstacle == "a link":
        own.write_text("a file, so that no folder can be made")
        temporary.mkdir()
        planted.symlink_to(theirs)
    folder = pathlib.Path(solvers.cache_folder())
    places = {"writable by others": planted, "none": own / "smpcore"}
    assert folder.parent == places.get(obstacle, folder.parent)
    assert not any(theirs.iterdir())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


SCRIPT = """
from tests.smpcore.methods.smp_oracle import make_case
for loss in ("smooth", "max", "hinge"):
    case = make_case(0, m=12, lam=0.02, loss=loss)
    for solver, most in (("spg", 5000), ("primal-dual", 30)):
        print(case.but(solver=solver).solve(1e-2, max_iter=most).objective[-1])
"""


def test_kernels_run_without_the_compiler():
    """Plain Python checks every index and gives the same numbers."""
    outputs = [run(SCRIPT, NUMBA_DISABLE_JIT=disabled)[0] for disabled in "01"]
    assert len(outputs[0]) == 6
    assert outputs[1] == pytest.approx(outputs[0], rel=1e-6)


def _double(x):
    return 2.0 * x


def test_files_that_a_power_cut_left_half_written_are_written_anew(
    monkeypatch, tmp_path, caplog
):
    monkeypatch.setattr(solvers, "FOLDER", str(tmp_path))
    monkeypatch.setattr(solvers._Cache, "warned", False)
    for name, size in (("*.nbi", 0), ("*.nbi", 9), ("*.nbc", 0), ("*.nbc", 100)):
        assert solvers.kernel(_double)(2.0) == 4.0
        (file,) = tmp_path.rglob(name)
        file.write_bytes(file.read_bytes()[:size])
        assert solvers.kernel(_double)(2.0) == 4.0
        loaded = solvers.kernel(_double)
        assert loaded(2.0) == 4.0 and loaded.stats.cache_hits
    assert "machine code cannot be kept, or read" in caplog.text


@posix
def test_kernels_run_where_no_file_can_be_written(tmp_path):
    """No byte can be written, as on a full disk: not even a temporary folder is found.

    The log says that it costs time; nobody waits for a kernel in vain.
    """
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "from smpcore import solvers\n"
        "from tests.smpcore.solvers.test_cache_folder import _double\n"
        "print(solvers.kernel(_double)(2.0))"
    )
    numbers, log = run(script, XDG_CACHE_HOME=str(tmp_path))
    assert numbers == [4.0]
    assert "cannot be kept" in log


@posix
def test_without_any_folder_kernels_are_compiled_in_each_process(
    no_settings, monkeypatch, caplog
):
    def refuse(*_, **__):
        raise FileNotFoundError("No usable temporary directory found")

    (no_settings / "own").write_text("a file, so that no folder can be made")
    monkeypatch.setattr(solvers.tempfile, "gettempdir", refuse)
    monkeypatch.setattr(solvers.tempfile, "mkdtemp", refuse)
    assert solvers.cache_folder() == ""
    assert "compiled in each process anew" in caplog.text
    monkeypatch.setattr(solvers, "FOLDER", "")
    assert solvers.kernel(_double)(2.0) == 4.0


@posix
def test_a_chosen_folder_that_is_not_used_is_told(no_settings, monkeypatch, caplog):
    (no_settings / "numba").write_text("a file, so that no folder can be made")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(no_settings / "numba"))
    assert "own" in solvers.cache_folder()
    assert "NUMBA_CACHE_DIR" in caplog.text and "is not used" in caplog.text
