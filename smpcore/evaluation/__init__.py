"""How good a model is, how sure of that one can be, and what it costs to be smaller."""

from smpcore.evaluation.contest import (
    BUDGET,
    Contender,
    Difference,
    contend,
    holm,
    holm_levels,
    paired_difference,
    simultaneous_differences,
    title_of,
)
from smpcore.evaluation.engine import Engine, edition, engine
from smpcore.evaluation.errors import RegressionScores
from smpcore.evaluation.folds import Fold, clusters, clusters_like, folds, n_draws
from smpcore.evaluation.known_rows import known_rows
from smpcore.evaluation.new_rows import Matched, answer_rows, labelled, match_columns
from smpcore.evaluation.number_formats import (
    NUMBER_FORMATS,
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
    corrected_error,
    corrected_t_test,
    pareto_front,
    smaller_and_as_good,
    summary,
)
from smpcore.evaluation.results import Subject, read_results
from smpcore.evaluation.scores import (
    Scores,
    class_numbers,
    count_answers,
    evaluate,
    score_answers,
    wilson,
)
from smpcore.evaluation.sizes import SIZES, measure
from smpcore.evaluation.stability import (
    FEWEST_REFITS,
    Stability,
    redraw,
    refits,
    stability,
)
from smpcore.evaluation.sweep import (
    SCORES,
    ParameterPath,
    sweep,
    sweep_table,
    walk_baselines,
    walk_method,
)

__all__ = [
    "BUDGET",
    "FEWEST_REFITS",
    "LEVEL",
    "NUMBER_FORMATS",
    "SCORES",
    "SIZES",
    "ComparedFormat",
    "ComparedRows",
    "Contender",
    "Difference",
    "Engine",
    "Fold",
    "Matched",
    "ParameterPath",
    "RegressionScores",
    "Rows",
    "Scores",
    "Stability",
    "Subject",
    "answer_rows",
    "at_threshold",
    "band_for_error",
    "class_numbers",
    "clusters",
    "clusters_like",
    "compare_number_formats",
    "contend",
    "corrected_error",
    "corrected_t_test",
    "count_answers",
    "edition",
    "engine",
    "evaluate",
    "folds",
    "holm",
    "holm_levels",
    "known_rows",
    "labelled",
    "margins",
    "match_columns",
    "measure",
    "n_draws",
    "operating_points",
    "out_of_fold",
    "paired_difference",
    "pareto_front",
    "rates_at",
    "read_results",
    "redraw",
    "refits",
    "reject_curve",
    "roc_area",
    "score_answers",
    "simultaneous_differences",
    "smaller_and_as_good",
    "stability",
    "summary",
    "sweep",
    "sweep_table",
    "threshold_for_cost",
    "threshold_for_sensitivity",
    "title_of",
    "walk_baselines",
    "walk_method",
    "wilson",
]
