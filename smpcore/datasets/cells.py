"""How one cell of a table is read as a number: by tables, Apply and exported Python.

Standard library only: the exported Python carries this very function.
"""

#: The same language for whole columns at once (RE2's syntax), infinite values apart.
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"

#: No other text stands for a number; most of these do.
MAYBE_NUMBER = (
    r"(?i)^[\x00-\x20\x{85}\pZ]*([0-9+\-.e]*|[+\-]*inf(inity)?)[\x00-\x20\x{85}\pZ]*$"
)


def parse_cell(text):
    """Number that a text stands for, with blanks around it or not; NaN: none."""
    text = text.strip()
    infinite = text.lstrip("+-").lower() in ("inf", "infinity")
    try:
        if infinite or not text.strip("0123456789+-.eE"):
            return float(text)
    except ValueError:
        pass
    return float("nan")
