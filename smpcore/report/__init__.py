"""The explanation sheet: a file of HTML that prints, and on which a model is tried."""

from smpcore.report.document import Calculator, Page, printed, report, typical_row
from smpcore.report.sections import (
    calibration_section,
    cleaning_section,
    columns_section,
    confusion_section,
    numbers_section,
    parts_section,
    subgroups_section,
    versions_section,
)
