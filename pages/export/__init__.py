"""Export: settings, number formats, boards, ranges, files and the lines to paste."""
