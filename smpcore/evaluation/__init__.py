"""How good a model is, how sure of that one can be, and what it costs to be smaller."""

from smpcore.evaluation.all_rows import AllRowsFit, fit_all_rows
from smpcore.evaluation.calibrate import calibrate
from smpcore.evaluation.comparison import (
    BUDGET,
    ComparedModel,
    fit_compared,
    title_of,
)
from smpcore.evaluation.differences import (
    holm,
    paired_difference,
    simultaneous_differences,
)
from smpcore.evaluation.engine import edition, engine
from smpcore.evaluation.executors import end_with_parent
from smpcore.evaluation.folds import Fold, clusters, clusters_like, folds, n_draws
from smpcore.evaluation.known_rows import known_rows
from smpcore.evaluation.new_rows import (
    Matched,
    answer_rows,
    carry_columns,
    labelled,
    match_columns,
    suggest_carried,
)
from smpcore.evaluation.number_formats import (
    ComparedFormat,
    ComparedRows,
    Rows,
    compare_number_formats,
)
from smpcore.evaluation.operating import (
    at_threshold,
    band_for_error,
    margins,
    operating_points,
    rates_at,
    reject_curve,
    roc_area,
    threshold_for_cost,
    threshold_for_sensitivity,
)
from smpcore.evaluation.out_of_fold import out_of_fold
from smpcore.evaluation.pareto import (
    LEVEL,
    corrected_t_test,
    pareto_front,
    smaller_and_as_good,
    summary,
)
from smpcore.evaluation.paths import ParameterPath, baseline_paths, method_path
from smpcore.evaluation.probabilities import (
    brier_score,
    calibration_error,
    decision_curve,
    event,
    interval_coverage,
    reliability,
)
from smpcore.evaluation.rates import (
    Rate,
    class_rates,
    predictive_values,
    rate,
)
from smpcore.evaluation.regression_scores import RegressionScores
from smpcore.evaluation.result_files import Subject, read_results
from smpcore.evaluation.scores import (
    Scores,
    class_numbers,
    evaluate,
    score_answers,
    wilson,
)
from smpcore.evaluation.sizes import CHIP_SIZES, SIZES, measure
from smpcore.evaluation.stability import (
    FEWEST_REFITS,
    SAME_PROTOTYPE,
    Stability,
    TrainingRows,
    match_prototypes,
    refits,
    stability,
)
from smpcore.evaluation.subgroups import (
    FEWEST_ROWS,
    RowMeasure,
    group_rows,
    row_measures,
    subgroups,
)
from smpcore.evaluation.sweep import SCORES, sweep, sweep_table

__all__ = [
    "BUDGET",
    "CHIP_SIZES",
    "FEWEST_REFITS",
    "FEWEST_ROWS",
    "LEVEL",
    "SAME_PROTOTYPE",
    "SCORES",
    "SIZES",
    "AllRowsFit",
    "ComparedFormat",
    "ComparedModel",
    "ComparedRows",
    "Fold",
    "Matched",
    "ParameterPath",
    "Rate",
    "RegressionScores",
    "RowMeasure",
    "Rows",
    "Scores",
    "Stability",
    "Subject",
    "TrainingRows",
    "answer_rows",
    "at_threshold",
    "band_for_error",
    "baseline_paths",
    "brier_score",
    "calibrate",
    "calibration_error",
    "carry_columns",
    "class_numbers",
    "class_rates",
    "clusters",
    "clusters_like",
    "compare_number_formats",
    "corrected_t_test",
    "decision_curve",
    "edition",
    "end_with_parent",
    "engine",
    "evaluate",
    "event",
    "fit_all_rows",
    "fit_compared",
    "folds",
    "group_rows",
    "holm",
    "interval_coverage",
    "known_rows",
    "labelled",
    "margins",
    "match_columns",
    "match_prototypes",
    "measure",
    "method_path",
    "n_draws",
    "operating_points",
    "out_of_fold",
    "paired_difference",
    "pareto_front",
    "predictive_values",
    "rate",
    "rates_at",
    "read_results",
    "refits",
    "reject_curve",
    "reliability",
    "roc_area",
    "row_measures",
    "score_answers",
    "simultaneous_differences",
    "smaller_and_as_good",
    "stability",
    "subgroups",
    "suggest_carried",
    "summary",
    "sweep",
    "sweep_table",
    "threshold_for_cost",
    "threshold_for_sensitivity",
    "title_of",
    "wilson",
]
