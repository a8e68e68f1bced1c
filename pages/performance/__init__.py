"""Performance: the confusion matrix, threshold, probabilities, errors, subgroups."""
