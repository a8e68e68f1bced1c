"""What a model takes on a chip: its size, and its answers on a simulated one."""

from smpcore.chips.costs import (
    ChipCosts,
    PredictionCost,
    estimate_costs,
    measure_costs,
    needs_conversion,
)
from smpcore.chips.peers import measured_names, measured_peers, points_of
from smpcore.chips.programs import (
    CHIPS,
    Chip,
    Measured,
    Sizes,
    available,
    measure,
    sizes,
)
