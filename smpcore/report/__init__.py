"""The explanation sheet: a file of HTML that prints, and on which a model is tried."""

from smpcore.report.calculator import Calculator, typical_row
from smpcore.report.calibration import calibration_section
from smpcore.report.document import printed, report
from smpcore.report.numbers import numbers_section
from smpcore.report.page import Page
from smpcore.report.sections import (
    cleaning_section,
    columns_section,
    confusion_section,
    parts_section,
    subgroups_section,
    versions_section,
)

__all__ = [
    "Calculator",
    "Page",
    "calibration_section",
    "cleaning_section",
    "columns_section",
    "confusion_section",
    "numbers_section",
    "parts_section",
    "printed",
    "report",
    "subgroups_section",
    "typical_row",
    "versions_section",
]
