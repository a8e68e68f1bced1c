"""Export: settings, number formats, boards, ranges and the lines to paste."""
