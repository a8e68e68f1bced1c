"""Sparse Prototype Explorer: ``streamlit run app.py``."""

import gc
import os
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


if __name__ == "__main__":  # the run of a visitor
    from pages.ui import navigation

    navigation.run()
elif __name__ == "app":
    # The server begins; processes of studies import this file under other names.
    from pages.work.middleware import Guard
    from pages.work.visitors import Middleware, send_at_once

    app = st.App(__file__, lifespan=send_at_once, middleware=[Middleware(Guard)])
    threading.Thread(target=_prepare, name="start-up", daemon=True).start()
