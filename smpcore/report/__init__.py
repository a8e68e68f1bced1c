"""The explanation sheet: a file of HTML that prints, and on which a model is tried."""

from smpcore.report.document import (
    Calculator,
    Page,
    printed,
    report,
    summary_section,
    typical_row,
)
from smpcore.report.manuscript import manuscript, markdown_files
from smpcore.report.resampling import (
    instability_section,
    optimism_section,
    predicted_in_words,
    sample_size_section,
    unit_of,
)
from smpcore.report.sections import (
    ABOUT_CALIBRATION,
    BY_PREDICTION,
    CALIBRATED,
    SOFTMAX,
    calibration_lines,
    calibration_section,
    characteristics_section,
    class_lines,
    cleaning_section,
    columns_section,
    compared_probabilities,
    confusion_section,
    interval_lines,
    numbers_section,
    parts_section,
    quartile_lines,
    residuals_section,
    sites_section,
    subgroups_section,
    text_rule,
    versions_section,
)
from smpcore.report.tripod import FIELDS, LONGEST, stated_section, tripod_section
