"""QR codes of links: what they hold, and when there is none."""

import io

import numpy as np
import pytest
from PIL import Image

from pages.ui import qr
from smpcore import SmpcoreError
from tests.app import kernels, opened, said, sound

pytestmark = pytest.mark.usefixtures(kernels.__name__)


def test_a_code_is_dark_on_white_with_its_quiet_zone():
    picture = np.asarray(Image.open(io.BytesIO(qr.image("http://x/?data=moons"))))
    assert set(np.unique(picture > 0)) == {False, True}
    edge = qr._SCALE * qr._BORDER
    assert (picture[:edge] > 0).all() and (picture[:, -edge:] > 0).all()
    assert not picture[edge : edge + qr._SCALE, edge : edge + qr._SCALE].any()


def test_a_link_that_is_too_long_is_a_sentence():
    with pytest.raises(SmpcoreError, match="too long for a QR code"):
        qr.image("x" * 3000)


def test_the_button_shows_the_link_of_the_model_on_the_screen():
    page = opened({"data": "circles", "lam": "0.02"})
    page.button(key="qr").click().run()
    pictures = sound(page).get("image")
    assert "data=circles&lam=0.02" in str(pictures[0].proto)


def test_a_table_of_ones_own_has_no_code(monkeypatch):
    monkeypatch.setattr(qr, "MINE", "moons")
    page = opened({"data": "moons"})
    page.button(key="qr").click().run()
    assert not sound(page).get("image")
    assert "opens nowhere else" in said(page)


def test_a_link_to_this_machine_says_so(monkeypatch):
    shown = []
    monkeypatch.setattr(qr.st, "info", shown.append)
    for host in ("localhost:8501", "127.0.0.1", "[::1]:8501", "192.168.1.7", "lab.edu"):
        qr.warn_of_local(f"http://{host}/?class=ABCDEF")
    assert len(shown) == 3 and all("--server.address" in text for text in shown)
