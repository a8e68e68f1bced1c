"""How do I ...? The pages of assets/guide, behind the README's five minutes."""

import re
from pathlib import Path

import streamlit as st

from pages.state import widget_state

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "assets" / "guide"
#: A picture by itself on a line; its address is that of a file beside the page.
PICTURE = re.compile(r"^!\[(.*)\]\((.*)\)$", re.MULTILINE)


def _five_minutes() -> tuple[str, str]:
    """Title and text of the README's section for a first visit."""
    sections = (ROOT / "README.md").read_text("utf-8").split("\n## ")
    title, text = next(s.split("\n", 1) for s in sections if s.startswith("Five "))
    return title, text


def _page(path: Path) -> tuple[str, str]:
    """Title and text of a page of the guide."""
    title, text = path.read_text("utf-8").split("\n", 1)
    return title.removeprefix("# "), text


chapters = dict([_five_minutes(), *map(_page, sorted(FOLDER.glob("*.md")))])
chapter = widget_state.choose_one(
    *(st, "Chapter", chapters, "guide_chapter"),
    buttons=True,
    label_visibility="collapsed",
)
before, *pictures = PICTURE.split(chapters[chapter])
st.markdown(before)
for meaning, address, after in zip(*[iter(pictures)] * 3, strict=True):
    st.image(FOLDER / address, caption=meaning)
    st.markdown(after)
