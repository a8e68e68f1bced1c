"""Sparse Prototype Explorer: ``streamlit run app.py``."""

import gc
import os
import sys
import threading
from importlib import import_module

import streamlit as st

# One core a visitor: threads that wait for their share of a small product take most of
# the time of a fit. scikit-learn reads this when it is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def _prepare() -> None:
    """Load and compile what the first visitor needs, before that visitor comes."""
    gc.disable()  # until all is loaded: hardly any of it is garbage
    import_module("pages.ui.navigation")  # and all that it imports
    import_module("pages.work.warmup").start_up()
    ready.set()


def _show_start() -> None:
    """What is being done, and first what a visitor has lost with the server before."""
    st.set_page_config(layout="wide")
    is_lost = {"mine", "class"} & {*st.query_params}
    if is_lost and os.environ.get("SPE_STORE"):
        st.info("The server was started anew. Your work comes back in a moment.")
    elif is_lost:
        st.warning(
            "The server was started anew. Uploaded tables, drawings and classes were "
            "in its memory only and are gone: upload your table again on Data; a "
            "teacher begins the class again on Lessons."
        )
    st.markdown(
        "**Sparse Prototype Explorer is starting.** Libraries are being loaded. After "
        "an installation the solvers are also compiled, once."
    )


if __name__ == "__main__":  # the run of a visitor
    waiting, server = st.empty(), sys.modules.get("app")
    if server and not server.ready.is_set():
        with waiting.container():
            _show_start()
    from pages.ui import navigation
    from pages.work import warmup

    warmup.start_up()
    waiting.empty()
    navigation.run()
elif __name__ == "app":
    # The server begins; processes of studies import this file under other names.
    from pages.work import compiler

    compiler.start()
    from pages.work.middleware import Guard
    from pages.work.visitors import (
        Middleware,
        send_at_once,
        set_log_lines,
        set_navigation,
        stay_offline,
    )

    set_log_lines()
    set_navigation()
    stay_offline()
    ready = threading.Event()
    guard = Middleware(Guard, is_loaded=ready.is_set)
    app = st.App(__file__, lifespan=send_at_once, middleware=[guard])
    threading.Thread(target=_prepare, name="start-up", daemon=True).start()
