"""Who a script runs for, and who is still there.

The only file with names that Streamlit does not document; a test says for which
versions they were tried.
"""

from __future__ import annotations

import streamlit as st
from streamlit.runtime import exists, get_instance
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx


def visitor() -> str:
    """Name the browser tab that the running script serves; empty outside a script."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context else ""


def is_here(owner: object) -> bool:
    """Whether a tab is still connected; who is no tab is always here."""
    if not (owner and isinstance(owner, str) and exists()):
        return True
    return get_instance().is_active_session(owner)


def drop_files() -> None:
    """Forget the files that this tab has uploaded: Streamlit keeps them as they came.

    Their pickers are empty when they are drawn again.
    """
    if exists():
        get_instance().uploaded_file_mgr.remove_session_files(visitor())


def force_navigation() -> None:
    """Run app.py first when a link straight to a page is the server's first request.

    Streamlit takes a folder named pages for its older kind of multipage app until
    app.py has called st.navigation, and runs the page alone.
    """
    if PagesManager.uses_pages_directory:
        PagesManager.uses_pages_directory = False
        st.rerun()
