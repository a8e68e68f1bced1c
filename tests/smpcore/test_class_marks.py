"""A class has one colour and one shape, on whatever page it is drawn."""

import re
from pathlib import Path

import numpy as np

from smpcore.figures import class_legend
from smpcore.figures.charts import CLASS_COLORS, class_mark

CANVAS = Path("assets/canvas/marks.js")


def test_the_colours_are_those_of_the_live_figure():
    listed = re.search(r"PALETTE = \[(.*?)\]", CANVAS.read_text("utf-8"), re.DOTALL)
    assert tuple(re.findall(r"#\w{6}", listed[1])) == CLASS_COLORS


def test_no_two_of_many_classes_look_alike():
    marks = [tuple(class_mark(j).values()) for j in range(110)]
    assert len(set(marks)) == 110
    assert len({color for color, _ in marks[:10]}) == 10


def test_the_legend_has_room_for_every_class_on_a_phone():
    few, many = (class_legend(np.arange(n)) for n in (3, 20))
    assert few.layout.height == 60
    assert many.layout.height > 80
    assert many.layout.legend.maxheight == 1.0
