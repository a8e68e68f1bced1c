"""The static site: an index whose links lead to pages that hold their figures."""

import re

from smpcore import METHODS, load_dataset
from smpcore.gallery import write_gallery
from tests.test_saved_page import payload_of


def test_each_method_that_learns_a_table_has_a_page(tmp_path):
    pages = write_gallery(tmp_path / "site", ["moons", "sine"])
    index = (tmp_path / "site/index.html").read_text("utf-8")
    links = re.findall(r'href="([^"]+)"', index)
    assert links == [page.name for page in pages]
    learn = {
        f"{key}-{method.key}.html"
        for key in ("moons", "sine")
        for method in METHODS.values()
        if method.learns(load_dataset(key), load_dataset(key).task)
    }
    assert set(links) == learn and len(learn) > 5
    for page in pages:
        header = payload_of(page.read_bytes())
        assert len(header["knots"]) == len(header["path"]["values"]) >= 2
    assert "<script" not in index and "http" not in index.replace("<!doctype", "")
