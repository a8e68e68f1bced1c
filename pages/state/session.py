"""What a page computed last, kept while the visit lasts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st


def remembered(name: str, key: Any, compute: Callable[[], Any]) -> Any:
    """Return the last result of this name, computed anew for another key."""
    if st.session_state.get(name, (None, None))[0] != key:
        st.session_state[name] = (key, compute())
    return st.session_state[name][1]
