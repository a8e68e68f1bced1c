"""Why a model answers as it does, and what its prototypes are."""

from smpcore.explain.case import Case, CaseExplainer, doubts
from smpcore.explain.contributions import (
    Contributions,
    contributions,
    deciding_prototypes,
)
from smpcore.explain.flip import Counterfactual, changed_columns, counterfactual
from smpcore.explain.kernel_plane import embedding
from smpcore.explain.moves import single_column_changes
from smpcore.explain.points import UnitEffect, rule_section, unit_effects
from smpcore.explain.prototype_facts import (
    Oddities,
    contrasts,
    facts_of_prototypes,
    likeness,
    measures_of_prototypes,
    nearest_examples,
    wins,
)
from smpcore.explain.prototype_rows import other_winners, typical_rows
from smpcore.explain.prototype_table import (
    heaviest_cases,
    merged_from,
    prototype_table,
    prototype_weights,
    score_leads,
)
from smpcore.explain.score_card import ScoreCard, card_section, score_card
from smpcore.explain.section import Section
from smpcore.explain.words import rule_in_words

__all__ = [
    "Case",
    "CaseExplainer",
    "Contributions",
    "Counterfactual",
    "Oddities",
    "ScoreCard",
    "Section",
    "UnitEffect",
    "card_section",
    "changed_columns",
    "contrasts",
    "contributions",
    "counterfactual",
    "deciding_prototypes",
    "doubts",
    "embedding",
    "facts_of_prototypes",
    "heaviest_cases",
    "likeness",
    "measures_of_prototypes",
    "merged_from",
    "nearest_examples",
    "other_winners",
    "prototype_table",
    "prototype_weights",
    "rule_in_words",
    "rule_section",
    "score_card",
    "score_leads",
    "single_column_changes",
    "typical_rows",
    "unit_effects",
    "wins",
]
