"""Lessons: a question first, then the figure's answer. Start one, or make one."""

import base64

import streamlit as st

from pages.lessons import class_view, editor, files, sheets, wall
from pages.state import lesson_files, lesson_run
from pages.state.lesson_files import Lesson
from pages.ui.lesson_bar import as_markdown
from smpcore.datasets import plural

if (run := lesson_run.current()) is not None and run.is_wall:
    wall.show(run)
    st.stop()
st.caption(
    "A lesson goes on beside the figure of Explore. Your own settings come back when "
    "you leave it."
)


def _card(name: str, lesson: Lesson | str) -> None:
    """A lesson with its aim and Start; or what is wrong with its file."""
    with st.container(border=True, height="stretch"):
        if isinstance(lesson, str):
            st.warning(as_markdown(f"{name}: {lesson}"))
            return
        left, right = st.columns([1, 3], vertical_alignment="center")
        picture = lesson_files.HOME / name.replace(".json", ".png")
        if name in listed and picture.exists():
            # In the page itself: a file of its own may be gone before a browser, on
            # its way to the next page, asks for it.
            inline = base64.b64encode(picture.read_bytes()).decode()
            left.image(f"data:image/png;base64,{inline}", width=96, alt="")
        words = as_markdown(lesson.story or lesson.aim)
        right.markdown(f"**{as_markdown(lesson.title)}**\n\n{words}")
        row = st.container(horizontal=True, vertical_alignment="center")
        if row.button(
            "Start", key=f"start_{name}", help=f"Start: {as_markdown(lesson.title)}"
        ):
            lesson_run.start(lesson, name=name if name in listed else "")
            st.switch_page("pages/explore.py")
        is_taught = classroom is not None and classroom.lesson == lesson
        row.button(
            "Teach a class" if classroom is None else "Teach next",
            key=f"class_{name}",
            on_click=class_view.start,
            args=(lesson,),
            disabled=is_taught,
            help="Students join by a code and keep it for the next lesson. Whoever has "
            "the code can take this lesson, also one that you have uploaded.",
        )
        row.caption(f"{lesson.minutes} min · {plural(len(lesson.steps), 'step')}")


classroom = class_view.current()
if classroom is not None:
    class_view.show(classroom)
else:
    class_view.join()
if run is not None:
    st.info(f"Under way: {as_markdown(run.lesson.title)}, step {run.at + 1}.")
    st.page_link("pages/explore.py", label="Go on", icon=":material/arrow_forward:")

with st.expander(
    "For teachers: open or make a lesson",
    bool(files.of_browser()),
    key="lessons_teachers",
    icon=":material/edit:",
):
    sheets.sheets()
    files.upload()
    editor.show()
listed = lesson_files.listed()
every = list(files.all_lessons().items())
for i in range(0, len(every), 2):
    for place, (name, lesson) in zip(st.columns(2), every[i : i + 2], strict=False):
        with place:
            _card(name, lesson)
