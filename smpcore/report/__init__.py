"""A model as one page of HTML to take away, on which it can be tried."""

from smpcore.report.calculator import Calculator, typical_row
from smpcore.report.document import report
from smpcore.report.page import Page, Section

__all__ = ["Calculator", "Page", "Section", "report", "typical_row"]
