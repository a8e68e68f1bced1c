"""A page with a part that takes its time, and a part within it."""

import sys
import time
from pathlib import Path

import streamlit as st

sys.path.insert(0, str(Path(__file__).parents[2]))
from pages.work import visitors

if "whole" not in st.session_state:
    st.session_state.whole = True
    visitors.draw_parts_whole()


@st.fragment
def inner(row):
    st.button(f"Inner part of row {row}")


@st.fragment
def outer():
    row = st.number_input("Row", value=1)
    time.sleep(2)
    with st.container(border=True):
        inner(row)


outer()
