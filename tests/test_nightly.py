"""A long test is left out only while nothing that it watches has changed."""

import pytest

from tests import nightly


@pytest.fixture
def copy(monkeypatch, tmp_path):
    """A checkout with one long test, which watches one folder."""
    for name in ("tests/test_long.py", "smpcore/chips/sizes.py", "smpcore/other.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1\n")
    monkeypatch.setattr(nightly, "ROOT", tmp_path)
    monkeypatch.setattr(nightly, "PASSED", tmp_path / "tests/nightly.json")
    monkeypatch.setattr(nightly, "WATCHED", {"tests/test_long.py": ["smpcore/chips/*"]})
    return tmp_path


def left_out():
    return nightly.is_as_it_passed("tests/test_long.py")


def test_it_runs_until_it_passed_and_again_after_a_change(copy):
    assert not left_out()
    nightly.remember({"tests/test_long.py": True})
    assert left_out()
    (copy / "smpcore/other.py").write_text("2\n")
    assert left_out()
    for name in ("smpcore/chips/sizes.py", "smpcore/chips/new.c", "tests/test_long.py"):
        (copy / name).write_text("2\n")
        assert not left_out()
        nightly.remember({"tests/test_long.py": True})
        assert left_out()


def test_one_that_fails_runs_until_it_passes(copy):
    nightly.remember({"tests/test_long.py": True})
    nightly.remember({"tests/test_long.py": False})
    assert not left_out()


@pytest.mark.parametrize("name", nightly.WATCHED)
def test_what_is_watched_is_there(name):
    assert (nightly.ROOT / name).is_file()
    for pattern in nightly.WATCHED[name]:
        assert any(nightly.ROOT.glob(pattern)), pattern
