"""The lock, the bill of materials and the licences are those of the requirements."""

import json
import re

import pandas as pd
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.next_versions import lifted, undocumented
from tests.supply import BILL, FOLDER, LICENCES, LOCK, REQUIREMENTS

TEXT = LOCK.read_text("utf-8")
#: Names and versions: some depend on Python's.
LOCKED = {*re.findall(r"^([\w.-]+)==([^\s;]+)", TEXT, re.MULTILINE)}


def test_every_requirement_is_locked_within_its_bounds():
    for line in REQUIREMENTS.read_text("utf-8").split():
        one = Requirement(line)
        versions = [v for name, v in LOCKED if name == canonicalize_name(one.name)]
        assert versions and all(Version(v) in one.specifier for v in versions)


def test_every_version_has_hashes_and_no_address():
    parts = re.split(r"^(?=[\w.-]+==)", TEXT, flags=re.MULTILINE)[1:]
    assert len(parts) == len(re.findall("==[^ ]+ ", TEXT)) >= len(LOCKED)
    assert all("--hash=sha256:" in part for part in parts)
    assert not re.search("://|index|file:", TEXT)


def test_what_is_installed_is_what_is_locked():
    parts = json.loads(BILL.read_text("utf-8"))["components"]
    listed = {(canonicalize_name(one["name"]), one["version"]) for one in parts}
    installers = {"pip", "setuptools"}
    assert {one for one in listed if one[0] not in installers} <= LOCKED
    table = pd.read_csv(LICENCES, keep_default_na=False)
    names = table["name"].map(canonicalize_name)
    assert {*zip(names, table["version"], strict=True)} == listed
    assert "file:" not in BILL.read_text("utf-8")


def test_the_container_installs_by_hashes():
    recipe = (FOLDER / "deploy" / "Containerfile").read_text("utf-8")
    assert "COPY .github/requirements.lock ./" in recipe
    assert "--require-hashes -r requirements.lock" in recipe


def test_bounds_are_lifted_of_what_is_named():
    text = "streamlit>=1.67,<1.70\nnumpy>=2.1,<3"
    assert lifted(text, {"streamlit"}) == "streamlit>=1.67\nnumpy>=2.1,<3"
    assert lifted(text, set()) == "streamlit>=1.67\nnumpy>=2.1"
    assert ("streamlit.runtime", "get_instance") in undocumented()
