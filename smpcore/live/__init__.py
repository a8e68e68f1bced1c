"""The live figure's engine: for the app, a notebook cell and a file."""

from smpcore.live.choice import (
    BUNDLED,
    MINE,
    NO_QUESTION,
    VIEW_KINDS,
    Choice,
)
from smpcore.live.computed import Computed, remember
from smpcore.live.context import ANSWERS, Context, resolve
from smpcore.live.controls import live_controls
from smpcore.live.figure import BACKGROUND, CANONICAL_SECONDS, Figure, Shown
from smpcore.live.host import Drawing, Host
from smpcore.live.lines import (
    BAND_NOTE,
    CALIBRATED,
    KINDS,
    NAMES,
    TITLES,
    calibration_basis,
    calibration_help,
    calibration_line,
    effect,
    kernel_weights,
    of_part,
    prototype_texts,
    quality,
    quality_of,
    shortcomings,
    solver_readouts,
)
from smpcore.live.messages import Message, Number, Record, pack, read_message
from smpcore.live.page_file import (
    FOLDER,
    STYLE,
    SavedFigure,
    saved_page,
    second_control,
    written_page,
)
from smpcore.live.parts import PARTS, STOPPED, Pairs, Parts, count_in_key, in_key, pairs
from smpcore.live.points import EDITABLE_ROWS, FAR, STEPS, changed
from smpcore.live.scene import Scene, flat_window, laid_out_rows, laying_out
from smpcore.live.scorm import scorm_package
from smpcore.live.settings import (
    OPERATING,
    SEED,
    SPLIT_PARAMS,
    flat_view,
    setting_text,
    validated,
    view_param,
    with_data_here,
    with_view,
)
from smpcore.live.words import GLOSSARY, MEANINGS, define, help_of
