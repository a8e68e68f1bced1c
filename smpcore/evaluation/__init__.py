"""How good a model is, how sure of that one can be, and what it costs to be smaller."""

from smpcore.evaluation.all_rows import AllRowsFit, fit_all_rows
from smpcore.evaluation.calibrate import (
    brier_score,
    calibrate,
    calibration_error,
    decision_curve,
    event,
    net_benefit,
    out_of_fold,
    reliability,
    threshold_probability,
)
from smpcore.evaluation.calibration_measures import (
    calibration_curve,
    calibration_intercept,
    calibration_measures,
    calibration_slope,
)
from smpcore.evaluation.comparison import (
    BUDGET,
    ComparedModel,
    corrected_t_test,
    fit_compared,
    pareto_front,
    smaller_and_as_good,
    summary,
    title_of,
)
from smpcore.evaluation.differences import (
    LEVEL,
    holm,
    paired_difference,
    simultaneous_differences,
)
from smpcore.evaluation.drift import column_drift
from smpcore.evaluation.executors import edition, end_with_parent, engine, run_one
from smpcore.evaluation.folds import (
    Fold,
    clusters,
    clusters_like,
    folds,
    n_draws,
    weights_like,
)
from smpcore.evaluation.journal import Subject, read_results
from smpcore.evaluation.measures import REST, two_class_measures
from smpcore.evaluation.new_rows import (
    Matched,
    answer_rows,
    carry_columns,
    known_rows,
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
from smpcore.evaluation.optimism import Optimism, Recipe, bootstrap_optimism
from smpcore.evaluation.prediction_intervals import (
    interval_coverage,
    quartile_coverage,
)
from smpcore.evaluation.recalibrate import (
    RECALIBRATIONS,
    recalibrate,
    recalibration_table,
)
from smpcore.evaluation.sample_size import (
    candidate_parameters,
    cox_snell_r2,
    expected_shrinkage,
    largest_r2,
    rows_for_classes,
    rows_for_numbers,
)
from smpcore.evaluation.scores import (
    STUDENT,
    WILSON,
    Rate,
    RegressionScores,
    Scores,
    class_numbers,
    class_rates,
    evaluate,
    predictive_value,
    rate,
    score_answers,
    wilson,
)
from smpcore.evaluation.sites import (
    MOST_SITES,
    SiteScores,
    internal_external,
    site_columns,
)
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
from smpcore.evaluation.sweep import (
    CHIP_SIZES,
    SAMPLED,
    SCORES,
    SIZES,
    ParameterPath,
    baseline_paths,
    measure,
    method_path,
    sweep,
    sweep_table,
)
from smpcore.evaluation.tuning import (
    IMKPLClassifierCV,
    MultiPrototypeSVCCV,
    PrototypeCV,
    SMaLLClassifierCV,
    SMPClassifierCV,
    SuperSparseClassifierCV,
    SuperSparseRegressorCV,
    Tuned,
    tune,
    tuning_paths,
)
