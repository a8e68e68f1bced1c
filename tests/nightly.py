"""Tests that only a change of what they watch can break; they last long.

`tests/run` leaves one out while every file that it watches, and its own, is as when it
passed last: `tests/nightly.json` remembers that, is written by the run itself and goes
into the commit. `tests/run --all` runs them whatever has changed.
"""

import hashlib
import json
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
PASSED = ROOT / "tests/nightly.json"
CHIP = ("smpcore/codegen/**/*", "smpcore/chips/*.[!j]*", "smpcore/model/*.py")
CHIP += ("tests/smpcore/codegen/[!t]*.py", "tests/smpcore/codegen/toolchain.py")
FITS = ("smpcore/methods/**/*.py", "smpcore/solvers/*.py")
PAPERS = ("smpcore/papers/**/*", "smpcore/datasets/*.py", "smpcore/baselines/*.py")
PAPERS += FITS
CLUSTER = ("smpcore/evaluation/*.py", "smpcore/threads.py", "tests/clusters.py")
SMPCORE = ("smpcore/**/*.py", *CHIP, "tests/smpcore/codegen/test_stream.py")
SMPCORE += ("tests/clusters.py",)
#: Another release of one of them is a change, too.
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pandas")
#: Test file -> the files it watches.
WATCHED = {
    "tests/smpcore/evaluation/test_engine.py": CLUSTER,
    "tests/smpcore/evaluation/test_executors.py": CLUSTER,
    "tests/smpcore/papers/test_trials.py": ("smpcore/papers/**/*.py", *FITS),
    "tests/smpcore/papers/test_stored.py": PAPERS,
    "tests/smpcore/methods/test_dask_rows.py": (*FITS, "tests/clusters.py"),
    "tests/smpcore/methods/test_row_files.py": (*FITS, "smpcore/datasets/*.py"),
    "tests/smpcore/datasets/test_openml_sets.py": ("smpcore/datasets/*.py",),
    "tests/smpcore/codegen/test_fitted.py": (*CHIP, *FITS),
    "tests/smpcore/codegen/test_costs.py": (*CHIP, *FITS, "tests/bench/costs.py"),
    **dict.fromkeys(
        (
            "tests/smpcore/codegen/test_export.py",
            "tests/smpcore/codegen/test_feature_stream.py",
            "tests/smpcore/codegen/test_names.py",
            "tests/smpcore/codegen/test_stream.py",
            "tests/smpcore/codegen/test_verilog.py",
            "tests/smpcore/evaluation/test_result_files.py",
            "tests/smpcore/solvers/test_cache_folder.py",
        ),
        SMPCORE,
    ),
    **dict.fromkeys(
        (
            "tests/smpcore/codegen/test_arduino.py",
            "tests/smpcore/codegen/test_chips.py",
            "tests/smpcore/codegen/test_codes.py",
            "tests/smpcore/codegen/test_scripts.py",
            "tests/smpcore/codegen/test_selftests.py",
            "tests/smpcore/codegen/test_c.py",
            "tests/smpcore/codegen/test_ties.py",
            "tests/smpcore/codegen/integers/test_conversions.py",
            "tests/smpcore/codegen/test_wrong_numbers.py",
            "tests/smpcore/codegen/integers/test_integers_linear.py",
            "tests/smpcore/codegen/integers/test_integers_sums.py",
        ),
        CHIP,
    ),
}


def digest(test_file):
    """Digest of a test file and of all that it watches (16 hexadecimal digits)."""
    found = hashlib.blake2b(" ".join(map(version, PACKAGES)).encode(), digest_size=8)
    for pattern in (test_file, "tests/requirements.txt", *WATCHED[test_file]):
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and path.suffix != ".pyc":
                found.update(path.relative_to(ROOT).as_posix().encode() + b"\0")
                found.update(path.read_bytes() + b"\0")
    return found.hexdigest()


def passed():
    """Test file -> digest of what it passed with."""
    return json.loads(PASSED.read_text("utf-8")) if PASSED.exists() else {}


def is_as_it_passed(name):
    """Whether a file is one of long tests, and nothing that it watches has changed."""
    return name in WATCHED and passed().get(name) == digest(name)


def remember(outcomes):
    """Write down which files passed as they are, and forget those that failed."""
    kept = {name: value for name, value in passed().items() if name in WATCHED}
    for name, good in outcomes.items():
        kept.pop(name, None)
        if good:
            kept[name] = digest(name)
    PASSED.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", "utf-8")
