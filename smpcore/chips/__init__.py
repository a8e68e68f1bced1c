"""What a model takes on a chip: its size, and its answers on a simulated one."""

from smpcore.chips.chip import CHIPS, Chip
from smpcore.chips.measuring import Measured, available, measure
from smpcore.chips.programs import Sizes, sizes

__all__ = ["CHIPS", "Chip", "Measured", "Sizes", "available", "measure", "sizes"]
