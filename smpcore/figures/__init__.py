"""Pure functions: model, data or table in; plotly figure or raster out."""

from smpcore.figures.charts import (
    class_balance,
    convergence,
    missing_values,
    scatter,
)
from smpcore.figures.chip_peers import MarkedModel, chip_peers, memory_bars
from smpcore.figures.embedding import (
    FOLDS,
    MOST_LAID_OUT,
    MOST_PLACED,
    NEAR,
    Agreement,
    MapView,
    agreement,
    lay_out,
    map_problem,
    map_view,
    move_to_answers,
    shown_rightly,
)
from smpcore.figures.forest import (
    forest,
    group_values,
    mean_differences,
    verdict_strip,
)
from smpcore.figures.maps import (
    answer_map,
    change_map,
    class_legend,
    difference_map,
    similarity_map,
)
from smpcore.figures.performance import (
    answer_counts,
    answer_numbers,
    answer_places,
    coverage,
    decision_curve,
    precision_recall,
    predicted_actual,
    predicted_ranges,
    reliability,
    residual_quantiles,
    residuals,
    roc,
)
from smpcore.figures.portraits import (
    OUTSIDE,
    columns_beside,
    densities,
    embeddings,
    picture,
    recovery,
    signed_bars,
)
from smpcore.figures.reported import (
    accuracy_size,
    critical_difference,
    reported_measured,
)
from smpcore.figures.series import Spread, aligned, channels, series, spreads, time_axis
from smpcore.figures.tradeoff import tradeoff
from smpcore.figures.views import (
    Raster,
    View,
    axis_view,
    curve_view,
    decision_raster,
    nearest_view,
    pca_view,
    prediction_raster,
    similarity_view,
)
