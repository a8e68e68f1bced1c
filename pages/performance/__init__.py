"""Performance: confusion, threshold, probabilities, errors, subgroups, sites."""
