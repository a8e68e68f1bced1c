"""Present mode: the figure asks for it, the link keeps it."""

from streamlit.testing.v1 import AppTest

from tests.app import session_of
from tests.test_live import Browser, kernels

fixtures = (kernels,)


def test_the_link_keeps_present_mode_until_it_is_left():
    browser = Browser()
    assert browser.scene["present"] is False
    browser.send("set", values={}, dragging=False, present=True)
    assert session_of(browser.app).live.present
    assert browser.app.query_params["present"] == "1"
    browser.send("set", values={}, dragging=False)
    assert "present" not in browser.app.query_params


def test_a_link_opens_in_present_mode_without_a_warning():
    app = AppTest.from_function(_opened, default_timeout=60)
    app.query_params["present"] = "1"
    app.run()
    assert app.text[0].value == "True 0"


def _opened():
    import streamlit as st

    from pages.state import session

    visit = session.get()
    st.text(f"{visit.live.present} {len(visit.notices)}")
