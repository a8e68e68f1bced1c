"""The one object: what was learned, and how it decides.

Every fitted model, of whatever family, is a `PrototypeModel`:

    x --scale--> x' --similarity--> s --mix, code--> activations --pool--> scores

Pictures, explanations, tables and C files are made from this object alone.
"""

from smpcore.model.calibration import Calibration, chance, log_odds
from smpcore.model.history import STATUS, History, Step, Trace
from smpcore.model.html import summary as _summary
from smpcore.model.portraits import Portraits, portraits, value_range
from smpcore.model.prototype_model import UNREPRESENTED, PrototypeModel
from smpcore.model.ties import training_tie

PrototypeModel._repr_html_ = _summary
