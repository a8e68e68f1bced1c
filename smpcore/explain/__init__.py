"""Why a model answers as it does, and what its prototypes are."""

from smpcore.explain.alignment import aligns_series, warping_path
from smpcore.explain.case import Case, CaseExplainer, doubts, single_column_changes
from smpcore.explain.contributions import (
    Contributions,
    contributions,
    deciding_prototypes,
    reference_input,
)
from smpcore.explain.flip import Counterfactual, changed_columns, counterfactual
from smpcore.explain.points import (
    NUMBERS,
    UnitEffect,
    rule_in_words,
    rule_section,
    unit_effects,
)
from smpcore.explain.prototypes import (
    Oddities,
    contrasts,
    embedding,
    facts_of_prototypes,
    heaviest_cases,
    likeness,
    measures_of_prototypes,
    merged_from,
    nearest_examples,
    other_winners,
    prototype_table,
    prototype_weights,
    score_leads,
    typical_rows,
    wins,
)
from smpcore.explain.risk_score import MAX_LINES, MAX_POINTS, RiskScore, risk_score
from smpcore.explain.score_card import ScoreCard, card_section, score_card
from smpcore.explain.score_sheet import (
    score_code,
    score_files,
    score_section,
    search_words,
)
