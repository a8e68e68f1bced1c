"""Lessons: a question first, then the figure's answer. Start one, or make one."""

import streamlit as st

from pages.lessons import editor, files
from pages.state import lesson_run
from pages.state.lesson_files import Lesson
from pages.ui.lesson_bar import plain
from smpcore.datasets import plural

st.title("Lessons")
st.caption(
    "A lesson goes on beside the figure of Explore: predict first, then see. Your own "
    "settings come back when you leave it."
)


def _card(name: str, lesson: Lesson | str) -> None:
    """A lesson with its aim and Start; or what is wrong with its file."""
    with st.container(border=True):
        if isinstance(lesson, str):
            st.warning(plain(f"{name}: {lesson}"))
            return
        content, n_steps = lesson.content, len(lesson.steps)
        st.markdown(f"**{plain(lesson.title)}**")
        st.markdown(plain(content["aim"]))
        row = st.container(horizontal=True, vertical_alignment="center")
        if row.button(
            "Start", key=f"start_{name}", help=f"Start: {plain(lesson.title)}"
        ):
            lesson_run.start(lesson)
            st.switch_page("pages/explore.py")
        row.caption(f"{content['minutes']} min · {plural(n_steps, 'step')}")


if (run := lesson_run.current()) is not None:
    st.info(f"Under way: {plain(run.lesson.title)}, step {run.at + 1}.")
    st.page_link("pages/explore.py", label="Go on", icon=":material/arrow_forward:")

for name, lesson in files.all_lessons().items():
    _card(name, lesson)

with st.expander("For teachers: open or make a lesson", icon=":material/edit:"):
    files.upload()
    editor.show()
