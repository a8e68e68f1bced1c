"""Our own comparison: the five methods and scikit-learn's models on many data sets."""
