"""Performance: the confusion matrix, the threshold, errors and subgroups."""
