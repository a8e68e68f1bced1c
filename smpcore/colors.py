"""Colours of classes, and of signs and directions, which are never near a class's."""

from __future__ import annotations

__all__ = [
    *("CLASS_COLORS", "GREY", "NEGATIVE", "OKABE_ITO", "POSITIVE"),
    *("blend", "channels", "class_color", "translucent"),
]

#: Okabe and Ito's colours: told apart with any kind of colour vision.
OKABE_ITO = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
)
#: Of classes: then four that differ from those in hue or lightness. The same in both
#: themes and in every file; `assets/canvas/marks.js` has them, too.
CLASS_COLORS = (*OKABE_ITO, "#AA3377", "#8C8C33", "#6A4FC9", "#8C510A")
#: For, above, right, better; and against, below, wrong, worse: seen on both grounds.
POSITIVE = "#00909C"
NEGATIVE = "#CC2430"
#: Grey that is told from both backgrounds.
GREY = "#7F858C"


def class_color(number: int) -> str:
    """The colour of a class; from the twelfth on the palette again, lighter or darker.

    Parameters
    ----------
    number : int
        Place of the class in the model's classes.

    Returns
    -------
    str
        As ``#RRGGBB``.
    """
    turn, place = divmod(number, len(CLASS_COLORS))
    away = 255 if turn % 2 else 0
    return blend(CLASS_COLORS[place], (away,) * 3, min(0.2 * turn, 0.6))


def blend(color: str, other: tuple[int, int, int], share: float) -> str:
    """A colour with a share of another one in it.

    Parameters
    ----------
    color : str
        As ``#RRGGBB``.
    other : tuple of three int
        Red, green and blue.
    share : float
        0: the colour itself; 1: the other one.

    Returns
    -------
    str
        As ``#RRGGBB``.
    """
    parts = zip(channels(color), other, strict=True)
    return "#" + "".join(f"{round(a + share * (b - a)):02X}" for a, b in parts)


def channels(color: str) -> tuple[int, int, int]:
    """Red, green and blue of a colour.

    Parameters
    ----------
    color : str
        As ``#RRGGBB``.

    Returns
    -------
    tuple of three int
    """
    red, green, blue = bytes.fromhex(color[1:])
    return red, green, blue


def translucent(color: str, opacity: float) -> str:
    """A colour that the ground shows through, as CSS and plotly write it.

    Parameters
    ----------
    color : str
        As ``#RRGGBB``.
    opacity : float
        How much of the ground it hides, from 0 to 1.

    Returns
    -------
    str
    """
    red, green, blue = channels(color)
    return f"rgba({red}, {green}, {blue}, {round(float(opacity), 2)})"
