"""Colours of signs are near no class's, and a class has one colour everywhere."""

import ast
import json
import re
import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pytest

from smpcore import figures
from smpcore.colors import (
    CLASS_COLORS,
    NEGATIVE,
    POSITIVE,
    channels,
    class_color,
    translucent,
)
from smpcore.datasets import load_dataset
from smpcore.figures.charts import class_line, class_mark

ROOT = Path(__file__).parents[2]
THEMES = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())["theme"]
GROUNDS = [THEMES[name]["backgroundColor"] for name in ("light", "dark")]
#: Machado, Oliveira and Fernandes (2009), of linear light, severity 1.
BLIND = {
    "none": np.eye(3),
    "protan": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deutan": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritan": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}


def linear(color: str) -> np.ndarray:
    parts = np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(color: str, sight: str = "none") -> np.ndarray:
    """CIE L*a*b*, D65."""
    light = np.clip(BLIND[sight] @ linear(color), 0, 1)
    to_xyz = [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
    x, y, z = np.cbrt(np.maximum(to_xyz @ light / [0.95047, 1, 1.08883], 0.008856))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(a: str, b: str, sight: str = "none") -> float:
    """CIE 1976; 2.3 is just noticed."""
    return float(np.linalg.norm(lab(a, sight) - lab(b, sight)))


def luminance(color: str) -> float:
    return float([0.2126, 0.7152, 0.0722] @ linear(color))


def test_a_sign_is_near_no_class():
    """In both themes: neither palette knows them."""
    for sign in (POSITIVE, NEGATIVE):
        near = {color: distance(sign, color) for color in CLASS_COLORS}
        assert min(near.values()) > 25, (sign, near)
        assert sign not in {class_color(number) for number in range(110)}


@pytest.mark.parametrize("sight", BLIND)
def test_both_signs_are_told_apart_by_everybody(sight):
    assert distance(POSITIVE, NEGATIVE, sight) > 35


@pytest.mark.parametrize("ground", GROUNDS)
def test_signs_are_seen_on_both_grounds(ground):
    for sign in (POSITIVE, NEGATIVE):
        low, high = sorted([luminance(sign), luminance(ground)])
        assert (high + 0.05) / (low + 0.05) >= 3


def test_the_live_figure_has_the_same_colours():
    script = (
        "import('./assets/canvas/marks.js').then((m) => console.log(JSON.stringify([m.P"
        "OSITIVE, m.NEGATIVE, ...[...Array(60).keys()].map((k) => m.classColour(k))])))"
    )
    run = subprocess.run(
        ["node", "-e", script], cwd=ROOT, capture_output=True, check=True
    )
    ours = [POSITIVE, NEGATIVE, *map(class_color, range(60))]
    difference = np.array(json.loads(run.stdout)) - [channels(one) for one in ours]
    assert np.abs(difference).max() <= 1  # halves are rounded up there, to even here
    style = (ROOT / "smpcore/live/figure.css").read_text()
    for name, color in (("positive", POSITIVE), ("negative", NEGATIVE)):
        assert f"--{name}: {color.lower()};" in style


def test_a_class_has_one_colour_in_every_chart():
    iris = load_dataset("iris")
    rows, values = np.arange(len(iris.y)), iris.frame.iloc[:, 0].to_numpy()
    drawn = [
        figures.scatter(iris, rows, *iris.feature_columns[:2]),
        figures.densities(values, iris.y_encoded, iris.classes, "x"),
        figures.class_legend(iris.classes),
    ]
    for figure in drawn:
        colors = [one.marker.color or one.line.color for one in figure.data]
        assert colors == [class_color(number) for number in range(3)]
    for number in range(30):
        colors = class_mark(number)["color"], class_line(number, 2)["color"]
        assert {*colors} == {class_color(number)}


def test_signed_charts_have_the_colours_of_signs():
    bars = figures.signed_bars(np.array([2.0, -1.0]), ["a", "b"], "weight")
    assert list(bars.data[0].marker.color) == [POSITIVE, NEGATIVE]
    image = figures.picture(np.ones(4), (2, 2), "", (-1, 1), True, 100)
    scale = image.data[0].colorscale
    assert (scale[0][1], scale[-1][1]) == (NEGATIVE, POSITIVE)
    assert scale[1][1] == translucent(NEGATIVE, 0.0)  # zero is the ground


def test_no_other_file_has_a_colour_of_its_own():
    """Greys may be: of lines, texts and pixels."""
    for path in [*ROOT.glob("smpcore/**/*.py"), *ROOT.glob("pages/**/*.py")]:
        if path.name == "colors.py":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            text = node.value if isinstance(node, ast.Constant) else ""
            for color in re.findall(r"#[0-9a-fA-F]{6}\b", str(text)):
                assert np.ptp(channels(color)) <= 20, f"{path}: {color}"
